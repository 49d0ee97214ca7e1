import { describe, expect, it } from 'vitest';
import { applySchemaDefaults } from './defaulting.ts';
import type { SchemaNode } from './node/schema-node.ts';

const text: SchemaNode = { type: 'string', default: 'd' };
const object = (properties: Record<string, SchemaNode>): SchemaNode => ({
  type: 'object',
  properties: new Map(Object.entries(properties)),
});

describe('schema defaults', () => {
  it.each<[string, SchemaNode, unknown, unknown]>([
    ['fill an absent member', object({ a: text }), {}, { a: 'd' }],
    ['keep what is there', object({ a: text }), { a: '' }, { a: '' }],
    ['replace a null that is not nullable', object({ a: text }), { a: null }, { a: 'd' }],
    ['keep a nullable null', object({ a: { ...text, nullable: true } }), { a: null }, { a: null }],
    [
      'look into a default that was just written',
      object({ a: { ...object({ b: text }), default: {} } }),
      {},
      { a: { b: 'd' } },
    ],
    ['do not invent parents', object({ a: object({ b: text }) }), {}, {}],
    ['go through lists', { type: 'array', items: object({ a: text }) }, [{}, { a: 'x' }], [{ a: 'd' }, { a: 'x' }]],
    ['go through maps', { type: 'object', additionalProperties: object({ a: text }) }, { k: {} }, { k: { a: 'd' } }],
  ])('%s', (_name, node, value, expected) => {
    applySchemaDefaults(node, value);
    expect(value).toEqual(expected);
  });

  it('are copied for each object', () => {
    const node = object({ a: { type: 'array', default: [1] } });
    const [one, two] = [{}, {}] as { a?: number[] }[];
    applySchemaDefaults(node, one);
    applySchemaDefaults(node, two);
    one?.a?.push(2);
    expect(two?.a).toEqual([1]);
  });

  it('look at own keys only', () => {
    const value = {};
    applySchemaDefaults(object({ constructor: text, __proto__: text }), value);
    expect(Object.hasOwn(value, 'constructor')).toBe(true);
  });
});
