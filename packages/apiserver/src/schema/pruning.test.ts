import { deepCopy } from '@kapstan/api';
import { runWhole } from '@kapstan/api/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applySchemaDefaults } from './defaulting.ts';
import type { SchemaNode } from './node/schema-node.ts';
import { dropNullsInSlices } from './null-pruning.ts';
import { pruneUnknownFields } from './pruning.ts';
import { type JsonSchema, structuralSchema } from './structural-schema.ts';

const prune = (schema: JsonSchema, value: Record<string, unknown>): { unknown: readonly string[]; left: unknown } => {
  const left = deepCopy(value);
  return { unknown: pruneUnknownFields(left, structuralSchema(schema)).unknown, left };
};
const text = { type: 'string' };
const object = (properties: object, words: object = {}): JsonSchema => ({ type: 'object', properties, ...words });

describe('unknown fields', () => {
  it('go, and are named in order', () => {
    const schema = object({ spec: object({ a: text, list: { type: 'array', items: object({ n: text }) } }) });
    const value = { spec: { z: 1, a: 'x', list: [{ n: 'y', m: 1 }] }, other: 3 };
    expect(prune(schema, value)).toEqual({
      unknown: ['other', 'spec.list[0].m', 'spec.z'],
      left: { spec: { a: 'x', list: [{ n: 'y' }] } },
    });
  });

  it('stay where they are preserved, but not in what is specified below', () => {
    const schema = object({ known: object({ a: text }) }, { 'x-kubernetes-preserve-unknown-fields': true });
    expect(prune(schema, { free: { x: 1 }, known: { a: '1', b: '2' } })).toEqual({
      unknown: ['known.b'],
      left: { free: { x: 1 }, known: { a: '1' } },
    });
  });

  it('leave what every object has alone, embedded ones too', () => {
    const embedded = object({ data: text }, { 'x-kubernetes-embedded-resource': true });
    const typed = { apiVersion: 'v1', kind: 'X', metadata: { free: 1 } };
    const value = { ...typed, spec: { template: { ...typed, more: 1 }, metadata: {} } };
    const found = prune(object({ spec: object({ template: embedded }) }), value);
    expect(found.unknown).toEqual(['spec.metadata', 'spec.template.more']);
    expect(found.left).toEqual({ ...typed, spec: { template: typed } });
  });

  it('of maps are their keys, whatever they are called', () => {
    const schema = object({ map: { type: 'object', additionalProperties: text } });
    const value = JSON.parse('{"map":{"__proto__":"a","constructor":"b"}}') as Record<string, unknown>;
    expect(prune(schema, value).unknown).toEqual([]);
    // Values of any type stay, but nothing is known about their contents. Recorded.
    const free = object({ map: { type: 'object', additionalProperties: true } });
    expect(prune(free, { map: { n: 1, a: { b: [] }, l: [1] } })).toMatchObject({
      unknown: ['map.a.b'],
      left: { map: { n: 1, a: {}, l: [1] } },
    });
    expect(prune(object({}), JSON.parse('{"__proto__":{"a":1}}') as Record<string, unknown>).unknown).toEqual([
      '__proto__',
    ]);
  });
});

const dropNulls = (node: SchemaNode, value: unknown): boolean => runWhole(dropNullsInSlices(node, value));

describe('nulls', () => {
  const drop = (schema: JsonSchema, value: unknown): [unknown, boolean] => {
    const left = deepCopy(value);
    const isChanged = dropNulls(structuralSchema(schema), left);
    return [left, isChanged];
  };

  it('go where they are not allowed', () => {
    const schema = object({
      a: text,
      b: { type: 'string', nullable: true },
      m: { type: 'object', additionalProperties: text },
    });
    expect(drop(schema, { a: null, b: null, c: null, m: { x: null, y: 'z' } })).toEqual([
      { b: null, c: null, m: { y: 'z' } },
      true,
    ]);
    expect(drop(schema, { a: 'x', b: null })).toEqual([{ a: 'x', b: null }, false]);
  });

  it('stay where a default replaces them', () => {
    expect(drop(object({ a: { type: 'string', default: 'd' } }), { a: null })).toEqual([{ a: null }, false]);
  });

  it('in lists are left to validation, those in their items are not', () => {
    const schema = object({ list: { type: 'array', items: object({ a: text }) } });
    expect(drop(schema, { list: [null, { a: null }] })).toEqual([{ list: [null, {}] }, true]);
  });
});

/** Schemas and values use few names, so that they match often. */
const name = fc.constantFrom('a', 'b', '__proto__');
const schemas = fc.letrec<{ schema: JsonSchema }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<JsonSchema>(
      text,
      { type: 'integer', default: 1 },
      { type: 'string', nullable: true, default: 'd' },
    ),
    fc.record({
      type: fc.constant('object'),
      properties: fc.dictionary(name, tie('schema'), { noNullPrototype: true }),
      default: fc.constantFrom(undefined, {}),
      'x-kubernetes-preserve-unknown-fields': fc.constantFrom(undefined, true),
      'x-kubernetes-embedded-resource': fc.constantFrom(undefined, true),
    }),
    fc.record({ type: fc.constant('object'), additionalProperties: tie('schema') }),
    fc.record({ type: fc.constant('array'), items: tie('schema') }),
  ),
})).schema;
const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<unknown>(null, 1, 'x', true),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { noNullPrototype: true }),
  ),
})).value;
const objects = fc.dictionary(name, values, { noNullPrototype: true });

describe('whatever schema and object', () => {
  it('pruning twice prunes as once', () => {
    fc.assert(
      fc.property(schemas, objects, (schema, value) => {
        const once = prune(schema, value);
        expect(prune(schema, once.left as Record<string, unknown>)).toEqual({ unknown: [], left: once.left });
      }),
    );
  });

  it('defaulting twice fills in as once, and says when it did nothing', () => {
    fc.assert(
      fc.property(schemas, objects, (schema, value) => {
        const node = structuralSchema(schema);
        const once = deepCopy(value);
        applySchemaDefaults(node, once);
        const twice = deepCopy(once);
        expect(applySchemaDefaults(node, twice)).toBe(false);
        expect(twice).toEqual(once);
      }),
    );
  });

  it('defaults, then dropped nulls, leave nothing to default', () => {
    fc.assert(
      fc.property(schemas, objects, (schema, value) => {
        const node = structuralSchema(schema);
        const left = deepCopy(value);
        applySchemaDefaults(node, left);
        dropNulls(node, left);
        expect(applySchemaDefaults(node, left)).toBe(false);
        expect(dropNulls(node, left)).toBe(false);
      }),
    );
  });
});
