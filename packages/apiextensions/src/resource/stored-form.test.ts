import { deepCopy, type UnstructuredObject } from '@kapstan/api';
import type { ResourceDefinition } from '@kapstan/apiserver';
import { describe, expect, it } from 'vitest';
import { customResource } from './custom-resource.ts';

const port = { type: 'integer', default: 1 };
const entry = { type: 'object', properties: { name: { type: 'string' }, port } };
const spec = { type: 'object', properties: { entries: { type: 'array', items: entry } } };
const versions = ['v1', 'v2'].map((name) => ({
  ...{ name, served: true, storage: name === 'v1' },
  schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
}));
const names = { plural: 'widgets', kind: 'Widget' };
const definition = {
  metadata: { name: 'widgets.x.io' },
  spec: { group: 'x.io', scope: 'Namespaced', names, versions },
};

function convertOf(version: string, options: object = {}): NonNullable<ResourceDefinition['convert']> {
  const of = versions.find(({ name }) => name === version);
  const { convert } = customResource({
    definition,
    version: of,
    names,
    isTerminating: () => false,
    ...options,
  } as never);
  return convert as NonNullable<ResourceDefinition['convert']>;
}

/** An object from before the default, with fields that the schema does not have. */
function widget(items: number): UnstructuredObject {
  const entries = Array.from({ length: items }, (_, index) => ({ name: `n${index}`, old: index }));
  return { apiVersion: 'x.io/v1', kind: 'Widget', metadata: { name: 'a' }, spec: { entries } };
}

describe('a custom resource in the store', () => {
  const forms = [
    ['of its own version', convertOf('v1')],
    ['of another version', convertOf('v2')],
    ['that a conversion converts later', convertOf('v1', { conversion: { convert: () => Promise.resolve([]) } })],
  ] as const;

  it.each(forms)('%s is pruned and filled in slices when it is large, as at once', (_, convert) => {
    const work = convert.fromStoredInSlices?.(widget(10_000));
    let pauses = 0;
    let step = work?.next();
    for (; step?.done === false; step = work?.next()) pauses++;
    expect(pauses).toBeGreaterThan(20);
    const whole = convert.fromStored(widget(10_000));
    expect(step?.value).toEqual(whole);
    expect((whole.spec as typeof spec & { entries: object[] }).entries[0]).toEqual({ name: 'n0', port: 1 });
  });

  it('is written in another version in slices, and stays as it is itself', () => {
    const object = { ...widget(10_000), apiVersion: 'x.io/v2' };
    const before = deepCopy(object);
    const work = convertOf('v2').toStoredInSlices?.(object);
    let pauses = 0;
    let step = work?.next();
    for (; step?.done === false; step = work?.next()) pauses++;
    expect(pauses).toBeGreaterThan(20);
    expect(object).toEqual(before);
    expect(step?.value).toEqual(convertOf('v2').toStored(object));
  });
});
