import { stringifyJson } from '@kapstan/api';
import { runWhole } from '@kapstan/api/internal';
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { describe, expect, it } from 'vitest';
import { rulesOfVersion } from './version-rules.ts';

function version(name: string, rule: string | undefined): CustomResourceDefinitionVersion {
  const spec = { type: 'object', properties: { size: { type: 'integer' } } };
  const ruled = rule === undefined ? spec : { ...spec, 'x-kubernetes-validations': [{ rule }] };
  return {
    ...{ name, served: true, storage: name === 'v1' },
    schema: { openAPIV3Schema: { type: 'object', properties: { spec: ruled } } },
  };
}

/** Returns the definition as it is read from storage: no two versions share a part. */
function definitionOf(...versions: CustomResourceDefinitionVersion[]): CustomResourceDefinition {
  const names = { plural: 'widgets', kind: 'Widget' };
  const definition = {
    metadata: { name: 'widgets.x.io' },
    spec: { group: 'x.io', scope: 'Namespaced', names, versions },
  };
  return JSON.parse(stringifyJson(definition)) as CustomResourceDefinition;
}

const rulesIn = (definition: CustomResourceDefinition) =>
  definition.spec.versions.map((each) => rulesOfVersion(definition, each)());

describe('rulesOfVersion', () => {
  it('shares the rules of versions with equal schemas, so that each compiles once', () => {
    const [first, second, third] = rulesIn(
      definitionOf(version('v1', 'self.size > 0'), version('v2', 'self.size > 0'), version('v3', 'self.size > 1')),
    );
    expect(second).toBe(first);
    expect(third).not.toBe(first);
    const spec = first?.properties.get('spec');
    const compiled = spec && runWhole(spec.compiled());
    expect(compiled?.rules).toHaveLength(1);
    const again = second?.properties.get('spec');
    expect(again && runWhole(again.compiled())).toBe(compiled);
  });

  it('shares nothing between definitions, or between two states of one', () => {
    const [one] = rulesIn(definitionOf(version('v1', 'self.size > 0')));
    const [other] = rulesIn(definitionOf(version('v1', 'self.size > 0')));
    expect(one).toBeDefined();
    expect(other).not.toBe(one);
  });

  it('finds none where the schema has none', () => {
    expect(rulesIn(definitionOf(version('v1', undefined), version('v2', 'self.size > 0')))[0]).toBeUndefined();
  });
});
