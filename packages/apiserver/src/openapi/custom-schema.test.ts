import { runWhole } from '@kapstan/api/internal';
import { describe, expect, it } from 'vitest';
import { customSchema } from './custom-schema.ts';

const object = { type: 'object' };
const embedded = { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { $ref: 'ObjectMeta' } };
const preserve = { 'x-kubernetes-preserve-unknown-fields': true };
const published = (schema: object, version: 'v2' | 'v3'): unknown =>
  runWhole(customSchema(schema as Record<string, unknown>, { version, embedded }));

describe('a published schema', () => {
  it.each<[string, object, object, object]>([
    ['what Go leaves out', { ...object, description: '', required: [], nullable: false, enum: [] }, object, object],
    [
      'zero bounds',
      { type: 'integer', minimum: 0, maxLength: 0 },
      { type: 'integer', minimum: 0, maxLength: 0 },
      { type: 'integer', minimum: 0, maxLength: 0 },
    ],
    ['a default', { type: 'string', default: '' }, { type: 'string', default: '' }, { type: 'string' }],
    ['a default of null', { type: 'string', nullable: true, default: null }, { type: 'string', nullable: true }, {}],
    [
      'a number or text',
      { 'x-kubernetes-int-or-string': true },
      { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
      { 'x-kubernetes-int-or-string': true },
    ],
    [
      'a number or text with choices of its own',
      { 'x-kubernetes-int-or-string': true, anyOf: [{ pattern: 'a' }] },
      {
        'x-kubernetes-int-or-string': true,
        anyOf: [{ pattern: 'a' }],
        allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }],
      },
      { 'x-kubernetes-int-or-string': true },
    ],
    [
      'a number or text that says so',
      {
        'x-kubernetes-int-or-string': true,
        allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, { maxLength: 2 }],
      },
      {
        'x-kubernetes-int-or-string': true,
        allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, { maxLength: 2 }],
      },
      { 'x-kubernetes-int-or-string': true },
    ],
    [
      'unknown fields that stay',
      { ...object, ...preserve, properties: { a: object } },
      { ...object, ...preserve, properties: { a: object } },
      preserve,
    ],
    ['a list of anything', { type: 'array', ...preserve }, { type: 'array', ...preserve }, preserve],
    [
      'a member that may be null',
      { ...object, required: ['a', 'b'], properties: { a: { type: 'string', nullable: true }, b: object } },
      { ...object, required: ['a', 'b'], properties: { a: { type: 'string', nullable: true }, b: object } },
      { ...object, required: ['b'], properties: { a: {}, b: object } },
    ],
    [
      'rules',
      { ...object, 'x-kubernetes-validations': [{ rule: 'true' }] },
      { ...object, 'x-kubernetes-validations': [{ rule: 'true' }] },
      { ...object, 'x-kubernetes-validations': [{ rule: 'true' }] },
    ],
    [
      'choices',
      { ...object, oneOf: [{ required: ['a'] }], not: { properties: { a: { minimum: 1 } } } },
      { ...object, oneOf: [{ required: ['a'] }], not: { properties: { a: { minimum: 1 } } } },
      object,
    ],
    [
      'an embedded object',
      { ...object, 'x-kubernetes-embedded-resource': true, required: ['kind'], properties: { spec: object } },
      {
        ...object,
        'x-kubernetes-embedded-resource': true,
        required: ['kind', 'apiVersion'],
        properties: { spec: object, ...embedded },
      },
      {
        ...object,
        'x-kubernetes-embedded-resource': true,
        required: ['kind', 'apiVersion'],
        properties: { spec: object, ...embedded },
      },
    ],
    [
      'an embedded object that is open',
      { ...object, 'x-kubernetes-embedded-resource': true, ...preserve },
      {
        ...object,
        'x-kubernetes-embedded-resource': true,
        ...preserve,
        required: ['kind', 'apiVersion'],
        properties: embedded,
      },
      { 'x-kubernetes-embedded-resource': true, ...preserve },
    ],
  ])('tells of %s', (_, schema, v3, v2) => {
    expect(published(schema, 'v3')).toEqual(v3);
    expect(published(schema, 'v2')).toEqual(v2);
  });

  it('keeps a property with any name', () => {
    const properties = JSON.parse('{"__proto__": {"type": "string"}, "constructor": {"type": "string"}}');
    expect(JSON.stringify(published({ properties }, 'v3'))).toBe(JSON.stringify({ properties }));
  });
});
