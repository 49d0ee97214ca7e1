import { deepCopy, isStatusError, type UnstructuredObject } from '@kapstan/api';
import { formatApiVersion, runWhole } from '@kapstan/api/internal';
import type { ResourceDefinition } from '@kapstan/apiserver';
import { FieldManager } from '@kapstan/apiserver';
import { testContext } from '@kapstan/apiserver/testing';
import { builtinResources } from '@kapstan/kubernetes';
import { describe, expect, it } from 'vitest';
import { customResource } from './custom-resource.ts';

type Fields = Record<string, unknown>;

/** One object in all the versions of its kind, as the store and the field manager see it. */
class VersionedObject {
  readonly #definitions: readonly ResourceDefinition[];
  readonly #manager: FieldManager;
  #stored: UnstructuredObject | undefined;

  constructor(definitions: readonly ResourceDefinition[]) {
    this.#definitions = definitions;
    const findVersion = (_: unknown, apiVersion: string) =>
      definitions.find((definition) => formatApiVersion(definition) === apiVersion);
    this.#manager = new FieldManager({ findVersion });
  }

  in(version: string): UnstructuredObject {
    const { convert } = this.#definition(version);
    const stored = deepCopy(this.#stored) as UnstructuredObject;
    return convert?.fromStored(stored) ?? stored;
  }

  /** Returns the message of the refusal, if any. */
  apply(version: string, fieldManager: string, spec: Fields): string | undefined {
    const definition = this.#definition(version);
    const { kind } = definition;
    const applied = { apiVersion: formatApiVersion(definition), kind, metadata: { name: 'o' }, spec };
    const call = { definition, context: testContext({ fieldManager }), subresource: '', force: false };
    try {
      this.#store(version, runWhole(this.#manager.apply(this.#stored && this.in(version), applied, call)));
    } catch (error) {
      if (!isStatusError(error)) throw error;
      return error.message;
    }
    return undefined;
  }

  update(version: string, fieldManager: string, change: (object: UnstructuredObject) => void): void {
    const next = this.in(version);
    change(next);
    const call = { definition: this.#definition(version), context: testContext({ fieldManager }), subresource: '' };
    void this.#manager.onUpdate(next, this.in(version), call);
    this.#store(version, next);
  }

  owners(): Record<string, unknown> {
    const entries = this.#stored?.metadata?.managedFields ?? [];
    return Object.fromEntries(entries.map((entry) => [`${entry.manager} ${entry.apiVersion}`, entry.fieldsV1]));
  }

  #definition(version: string): ResourceDefinition {
    return this.#definitions.find((definition) => definition.version === version) as ResourceDefinition;
  }

  #store(version: string, object: UnstructuredObject): void {
    this.#stored = this.#definition(version).convert?.toStored(object) ?? object;
  }
}

const specOf = (object: UnstructuredObject): Fields => object.spec as Fields;

describe('managers of a HorizontalPodAutoscaler in both of its versions', () => {
  const autoscalers = builtinResources().filter(({ resource }) => resource === 'horizontalpodautoscalers');
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' };
  const metrics = [
    { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } } },
  ];
  const start = (): VersionedObject => {
    const object = new VersionedObject(autoscalers);
    object.apply('v2', 'm1', { scaleTargetRef, maxReplicas: 6, metrics });
    object.apply('v2', 'm2', { minReplicas: 2 });
    return object;
  };

  // Recorded.
  it('are in conflict over what is called otherwise in the other one', () => {
    expect(start().apply('v1', 'm3', { targetCPUUtilizationPercentage: 70, minReplicas: 3 })).toBe(
      'Apply failed with 2 conflicts: conflicts with "m1":\n- .spec.metrics\nconflicts with "m2":\n- .spec.minReplicas',
    );
  });

  it('lose what is changed by its other name, and take out nothing that has gone to someone else', () => {
    const object = start();
    object.update('v1', 'u', (next) => {
      specOf(next).targetCPUUtilizationPercentage = 71;
    });
    const reference = { 'f:apiVersion': {}, 'f:kind': {}, 'f:name': {} };
    expect(object.owners()).toEqual({
      'm1 autoscaling/v2': { 'f:spec': { 'f:maxReplicas': {}, 'f:scaleTargetRef': reference } },
      'm2 autoscaling/v2': { 'f:spec': { 'f:minReplicas': {} } },
      'u autoscaling/v1': { 'f:spec': { 'f:targetCPUUtilizationPercentage': {} } },
    });
    expect(object.apply('v1', 'm1', { scaleTargetRef, maxReplicas: 6 })).toBeUndefined();
    expect(specOf(object.in('v1'))).toMatchObject({ minReplicas: 2, targetCPUUtilizationPercentage: 71 });
    expect(object.owners()).toMatchObject({
      'm1 autoscaling/v1': { 'f:spec': { 'f:maxReplicas': {}, 'f:scaleTargetRef': {} } },
    });
  });

  it('take out by the other version what they applied in this one', () => {
    const object = start();
    expect(object.apply('v1', 'm1', { scaleTargetRef, maxReplicas: 6 })).toBeUndefined();
    expect(specOf(object.in('v2'))).not.toHaveProperty('metrics');
  });

  it('are forgotten when their version is not one of the kind', () => {
    const object = start();
    object.update('v2', 'u', (next) => {
      const [first] = next.metadata?.managedFields ?? [];
      next.metadata = { ...next.metadata, managedFields: [{ ...first, manager: 'x', apiVersion: 'autoscaling/v9' }] };
      specOf(next).maxReplicas = 9;
    });
    expect(object.owners()).toEqual({ 'u autoscaling/v2': { 'f:spec': { 'f:maxReplicas': {} } } });
  });
});

describe('managers of a custom resource in versions that know different fields', () => {
  const properties = (name: string) => ({
    type: 'object',
    properties: { spec: { type: 'object', properties: { [name]: { type: 'string' } } } },
  });
  const versions = [
    { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: properties('a') } },
    { name: 'v2', served: true, storage: false, schema: { openAPIV3Schema: properties('b') } },
  ];
  const names = { plural: 'os', singular: 'o', kind: 'O', listKind: 'OList' };
  const spec = { group: 'x.io', scope: 'Namespaced', names, versions } as const;
  const definition = { metadata: { name: 'os.x.io' }, spec };
  const start = (): VersionedObject => {
    const kinds = versions.map((version) =>
      customResource({ definition, version, names, isTerminating: () => false } as never),
    );
    const object = new VersionedObject(kinds);
    object.apply('v1', 'm1', { a: '1' });
    return object;
  };

  // Recorded.
  it('refuse to apply what the version of another manager does not know', () => {
    expect(start().apply('v2', 'm2', { b: '1' })).toBe(
      'failed to convert new object: .spec.b: field not declared in schema',
    );
  });

  it('lose track of an update that the version of another manager does not know', () => {
    const object = start();
    object.update('v2', 'u', (next) => {
      next.spec = { b: '1' };
    });
    expect(object.owners()).toEqual({});
  });
});
