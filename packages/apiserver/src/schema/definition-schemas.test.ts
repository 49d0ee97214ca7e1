import { discoveryFacts } from '@kapstan/kinds/facts';
import { describe, expect, it } from 'vitest';
import { factTypes } from '../testing/fact-types.ts';

describe('schemas of the built-in kinds', () => {
  it('every resource has one', () => {
    for (const [id, { kind }] of Object.entries(discoveryFacts().resources)) {
      expect(factTypes.schemaOfKind(id.slice(0, id.lastIndexOf('/')), kind)?.type, id).toBe('object');
    }
  });

  it('an unknown kind has none', () => {
    expect(factTypes.schemaOfKind('v1', 'Nope')).toBeUndefined();
    expect(factTypes.schemaOfKind('v1', 'constructor')).toBeUndefined();
  });

  it('kinds of every group version are found in each of them', () => {
    expect(factTypes.schemaOfKind('apps/v1', 'DeleteOptions')).toBe(factTypes.schemaOfKind('v1', 'DeleteOptions'));
    expect(factTypes.schemaOfKind('example.com/v1', 'DeleteOptions')).toBeUndefined();
  });

  it('references are followed lazily, once, also where they go in circles', () => {
    const schema = factTypes.schemaOfKind('apiextensions.k8s.io/v1', 'CustomResourceDefinition');
    const props = factTypes.schema('crd/apiextensions.v1.JSONSchemaProps');
    expect(props.properties?.get('not')).toBe(props);
    expect(schema?.properties).toBe(schema?.properties);
  });

  it('names Go types and carries list and patch words', () => {
    const spec = factTypes.schemaOfKind('v1', 'Pod')?.properties?.get('spec');
    const containers = spec?.properties?.get('containers');
    expect(spec?.goType).toBe('v1.PodSpec');
    expect(containers?.items?.goType).toBe('v1.Container');
    expect(containers?.listType).toBe('map');
    expect(containers?.listMapKeys).toEqual(['name']);
    expect(containers?.patchStrategy).toEqual(['merge']);
    expect(spec?.properties?.get('volumes')?.patchStrategy).toEqual(['merge', 'retainKeys']);
  });

  it('words beside a reference win over the definition', () => {
    const strategy = factTypes
      .schemaOfKind('apps/v1', 'Deployment')
      ?.properties?.get('spec')
      ?.properties?.get('strategy');
    expect(strategy?.patchStrategy).toEqual(['retainKeys']);
    expect(strategy?.properties?.has('rollingUpdate')).toBe(true);
  });

  it('free-form places keep what they hold', () => {
    expect(
      factTypes.schemaOfKind('apps/v1', 'ControllerRevision')?.properties?.get('data')?.preserveUnknownFields,
    ).toBe(true);
    expect(factTypes.schemaOfKind('v1', 'Pod')?.preserveUnknownFields).toBe(false);
  });
});
