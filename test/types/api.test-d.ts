// Tests the types of @kapstan/api: resources, objects, schemas, selectors, errors, conditions.
import {
  type AnyCondition,
  apiVersionOf,
  type DeepReadonly,
  type DefinedResource,
  deepCopy,
  defineResource,
  getCondition,
  isNotFound,
  type KubernetesObject,
  type NamespacedResource,
  type ObjectKey,
  type ObjectOf,
  objectKey,
  parseLabelSelector,
  parseQuantity,
  type Quantity,
  type Resource,
  type ResourceClient,
  resource,
  type SchemaType,
  type StatusError,
  setCondition,
  type UnstructuredObject,
  type WatchEvent,
} from '@kapstan/api';
import { statusErrorFrom } from '@kapstan/api/errors';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { ConfigMap, Namespace, type Pod } from '@kapstan/kinds/core/v1';
import type { Condition } from '@kapstan/kinds/meta/v1';
import { describe, expectTypeOf, it } from 'vitest';

describe('resources', () => {
  it('carry the type of their objects', () => {
    expectTypeOf<ObjectOf<typeof ConfigMap>>().toEqualTypeOf<ConfigMap>();
    expectTypeOf(ConfigMap).toExtend<NamespacedResource<ConfigMap>>();
    expectTypeOf(Namespace).toExtend<Resource<Namespace>>();
    expectTypeOf(Namespace).not.toExtend<NamespacedResource>();
    expectTypeOf(apiVersionOf(Deployment)).toEqualTypeOf<string>();
  });

  it('of unknown fields give unstructured objects, of a given type that one', () => {
    expectTypeOf(resource({ group: 'x.dev', version: 'v1', kind: 'X' })).toEqualTypeOf<
      NamespacedResource<UnstructuredObject>
    >();
    expectTypeOf(resource<Pod>({ group: '', version: 'v1', kind: 'Pod' })).toEqualTypeOf<NamespacedResource<Pod>>();
    // @ts-expect-error: a resource has a group, if only ""
    resource({ version: 'v1', kind: 'X' });
  });
});

describe('defineResource', () => {
  const Echo = defineResource({
    group: 'demo.dev',
    version: 'v1',
    kind: 'Echo',
    spec: {
      type: 'object',
      properties: {
        text: { type: 'string' },
        mode: { type: 'string', enum: ['loud', 'low'] },
        ports: { type: 'array', items: { type: 'integer' } },
        limit: { 'x-kubernetes-int-or-string': true },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
      },
      required: ['text'],
    },
    status: { type: 'object', properties: { ready: { type: 'boolean', nullable: true } } },
  });
  type Echo = ObjectOf<typeof Echo>;

  it('makes the type of the objects out of their schema', () => {
    expectTypeOf(Echo).toExtend<DefinedResource>();
    expectTypeOf<Echo['spec']['text']>().toEqualTypeOf<string>();
    expectTypeOf<Echo['spec']['mode']>().toEqualTypeOf<'loud' | 'low' | undefined>();
    expectTypeOf<Echo['spec']['ports']>().toEqualTypeOf<number[] | undefined>();
    expectTypeOf<Echo['spec']['limit']>().toEqualTypeOf<number | string | undefined>();
    expectTypeOf<Echo['spec']['labels']>().toEqualTypeOf<Record<string, string> | undefined>();
    expectTypeOf<NonNullable<Echo['status']>['ready']>().toEqualTypeOf<boolean | null | undefined>();
    expectTypeOf<SchemaType<{ readonly type: 'object' }>>().toEqualTypeOf<Record<string, unknown>>();
  });

  it('gives a resource that stands for no other', () => {
    const take = (_resource: Resource<Echo>) => undefined;
    take(Echo);
    // @ts-expect-error: its objects have no such spec
    take(ConfigMap);
  });

  it('keeps the scope', () => {
    expectTypeOf(Echo.scope).toEqualTypeOf<'Namespaced'>();
    const Zone = defineResource({ group: 'demo.dev', version: 'v1', kind: 'Zone', scope: 'Cluster', spec: {} });
    expectTypeOf(Zone.scope).toEqualTypeOf<'Cluster'>();
  });

  it('refuses a type that no schema has', () => {
    // @ts-expect-error: "text" is no type
    defineResource({ group: 'demo.dev', version: 'v1', kind: 'Echo', spec: { type: 'text' } });
  });
});

describe('objects', () => {
  it('of caches are read-only, and a copy is not', () => {
    const cached = {} as DeepReadonly<ConfigMap>;
    // @ts-expect-error: it is shared
    cached.data = {};
    // @ts-expect-error: all the way down
    if (cached.metadata?.labels) cached.metadata.labels.a = 'b';
    expectTypeOf(deepCopy(cached)).toExtend<ConfigMap>();
  });

  it('have keys that are not any text', () => {
    expectTypeOf(objectKey('a', 'b')).toEqualTypeOf<ObjectKey>();
    expectTypeOf<ObjectKey>().toExtend<string>();
    expectTypeOf<string>().not.toExtend<ObjectKey>();
  });

  it('come in watch events of two shapes', () => {
    const name = (event: WatchEvent<Pod>) =>
      event.type === 'BOOKMARK' ? event.initialEventsEnd : event.object.spec?.nodeName;
    expectTypeOf(name).returns.toEqualTypeOf<string | boolean | undefined>();
  });
});

describe('conditions', () => {
  it('keep the type of the list that they are in', () => {
    const conditions: readonly DeepReadonly<Condition>[] = [];
    const set = setCondition(conditions, { type: 'Ready', status: 'True', reason: 'A', message: 'b' });
    expectTypeOf(set).toEqualTypeOf<DeepReadonly<Condition>[]>();
    expectTypeOf(getCondition(set, 'Ready')).toEqualTypeOf<DeepReadonly<Condition> | undefined>();
    // @ts-expect-error: this kind of condition has a reason and a message
    setCondition(conditions, { type: 'Ready', status: 'True' });
  });

  it('may begin a list that is not there', () => {
    expectTypeOf(setCondition(undefined, { type: 'Ready', status: 'True' })).toEqualTypeOf<AnyCondition[]>();
  });
});

describe('the rest', () => {
  it('has the types that its users build on', () => {
    expectTypeOf(parseLabelSelector).parameter(0).toEqualTypeOf<string>();
    expectTypeOf(parseLabelSelector('a=b').matches).returns.toEqualTypeOf<boolean>();
    expectTypeOf(parseQuantity('1Gi')).toEqualTypeOf<Quantity>();
    expectTypeOf(isNotFound).parameter(0).toEqualTypeOf<unknown>();
    expectTypeOf(statusErrorFrom).returns.toExtend<StatusError>();
    expectTypeOf<ResourceClient['get']>().toBeFunction();
    expectTypeOf<UnstructuredObject>().toExtend<KubernetesObject>();
  });
});
