import { namesInSlices, runWhole, type SlicedWork } from '@kapstan/api/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import { createdFields } from './created-fields.ts';
import { FieldSet } from './field-set.ts';
import { readFieldsV1, writeFieldsV1 } from './fields-v1.ts';
import { encodeManagedFields, type Managers } from './managed-fields.ts';
import { ownUpdate, unownedFields } from './updater.ts';

const text: SchemaNode = { type: 'string' };
const struct = (properties: Readonly<Record<string, SchemaNode>>, more: SchemaNode = {}): SchemaNode => ({
  ...{ type: 'object', goType: 'v1.Thing', ...more },
  properties: new Map(Object.entries(properties)),
});
const byKey: SchemaNode = {
  ...{ type: 'array', listType: 'map', listMapKeys: ['a', 'b'] },
  items: {
    type: 'object',
    properties: new Map([
      ['a', text],
      ['b', { type: 'integer', default: 1 }],
      ['c', text],
    ]),
  },
};
const schema = struct({
  ...{ kind: text, a: text, b: { type: 'object', additionalProperties: text }, c: byKey },
  d: { type: 'array', listType: 'set', items: text },
  e: { type: 'array', items: text },
  f: { type: 'object', mapType: 'atomic', additionalProperties: text },
  g: { preserveUnknownFields: true },
  spec: struct({ a: text, c: byKey, d: { type: 'array', items: byKey }, g: { preserveUnknownFields: true } }),
  metadata: struct({ a: text, name: text, b: { type: 'object', additionalProperties: text } }),
});
const zero = { kind: 'Thing', metadata: {}, spec: { a: '', c: null }, c: null, b: null };
const path = (...names: string[]): string[] => names.map((name) => `f:${name}`);
const ignored = FieldSet.of(path('b', 'x'), path('spec', 'g', 'a'), path('status'));

/** Returns the result of the general comparison. */
function fieldsByComparison(object: object): unknown {
  const managers: Managers = new Map();
  const manager = { manager: 'm', operation: 'Update', apiVersion: 'v1', subresource: '' } as const;
  const call = { live: zero, schema, manager, ignored, time: '', versions: { view: () => undefined } };
  runWhole(ownUpdate(managers, object, call));
  return runWhole(encodeManagedFields(managers))[0]?.fieldsV1;
}

const names = fc.constantFrom(
  'a',
  'b',
  'c',
  'd',
  'e',
  'f',
  'g',
  'kind',
  'metadata',
  'spec',
  'status',
  'x',
  '__proto__',
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom('', 'x', 'y', 1, 2, true, null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(names, tie('value'), { maxKeys: 5 }),
  ),
}));

describe('the fields of a new object', () => {
  it('are those that a comparison with its zero value gives', () => {
    const objects = fc.dictionary(names, value, { maxKeys: 8 });
    fc.assert(
      fc.property(objects, (object) => {
        const fields = runWhole(createdFields(object, { schema, zero, ignored, unowned: unownedFields }));
        // The order of the members counts, too.
        expect(JSON.stringify(fields)).toBe(JSON.stringify(fieldsByComparison(object)));
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['a scalar', { a: 'x' }, { 'f:a': {} }],
    ['a map and its keys in order', { b: { z: '', y: '' } }, { 'f:b': { '.': {}, 'f:y': {}, 'f:z': {} } }],
  ])('%s', (_what, object, expected) => {
    const nothing = new FieldSet();
    const fields = runWhole(createdFields(object, { schema, zero: {}, ignored: nothing, unowned: nothing }));
    expect(JSON.stringify(fields)).toBe(JSON.stringify(expected));
  });
});

/** Returns the names that a walk finds, and in how many steps. Three are a listing in one call. */
function listed(map: object): { readonly names: readonly string[]; readonly steps: number } {
  const work: SlicedWork<string[]> = namesInSlices(map);
  let steps = 1;
  let step = work.next();
  for (; step.done !== true; step = work.next()) steps++;
  return { names: step.value, steps };
}

describe('FieldsV1 of many fields', () => {
  const nothing = new FieldSet();
  const ofMap = { b: Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, 'x'])) };

  it('of a new object is walked without listing its names', () => {
    const fields = runWhole(createdFields(ofMap, { schema, zero: {}, ignored: nothing, unowned: nothing }));
    const { 'f:b': below } = fields as Record<string, object>;
    expect(listed(below as object)).toEqual({ names: Object.keys(below as object), steps: 5 });
  });

  it('of a set is walked without listing its names', () => {
    const fields = runWhole(createdFields(ofMap, { schema, zero: {}, ignored: nothing, unowned: nothing }));
    const written = runWhole(writeFieldsV1(runWhole(readFieldsV1(fields))));
    const { 'f:b': below } = written as Record<string, object>;
    expect(listed(below as object)).toEqual({ names: Object.keys(below as object), steps: 5 });
    expect(JSON.stringify(written)).toBe(JSON.stringify(fields));
  });
});
