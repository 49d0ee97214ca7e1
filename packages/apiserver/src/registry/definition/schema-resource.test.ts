import type { KubernetesObject, UnstructuredObject } from '@kapstan/api';
import { invalidField } from '@kapstan/api/errors';
import { describe, expect, it } from 'vitest';
import { testContext } from '../../testing/store-fixture.ts';
import { type SchemaKind, schemaResource } from './schema-resource.ts';

type Gadget = KubernetesObject & { readonly spec: { readonly size: number } };
const spec = { type: 'object', required: ['size'], properties: { size: { type: 'integer' } } };
const kind: SchemaKind<Gadget> = {
  ...{ group: 'gadgets.example.com', version: 'v1', kind: 'Gadget', plural: 'gadgets' },
  schema: { type: 'object', required: ['spec'], properties: { spec } },
  validate: ({ spec }) => (spec.size > 9 ? [invalidField('spec.size', spec.size, 'too large')] : []),
};

describe("the program's rules", () => {
  const { strategy } = schemaResource(kind);
  const errorsOf = (object: object) =>
    strategy.validateCreate(object as UnstructuredObject, testContext()).map(({ field }) => field);

  it('are asked only for objects of the right types', () => {
    expect(errorsOf({})).toEqual(['spec']);
    expect(errorsOf({ spec: { size: 'large' } })).toEqual(['spec.size']);
    expect(errorsOf({ spec: { size: 10 } })).toEqual(['spec.size']);
    expect(errorsOf({ spec: { size: 9 } })).toEqual([]);
    expect(
      strategy.validateUpdate({ spec: { size: 10 } } as unknown as UnstructuredObject, {}, testContext()),
    ).toHaveLength(1);
  });
});

describe('a schema with rules that nothing would check', () => {
  const rules = { 'x-kubernetes-validations': [{ rule: 'self.size < 5' }] };

  it.each<[string, object]>([
    ['schema', rules],
    ['schema.properties.a', { properties: { a: rules } }],
    ['schema.properties.a.items', { properties: { a: { items: rules } } }],
    ['schema.properties.a.additionalProperties', { properties: { a: { additionalProperties: rules } } }],
    ['schema.anyOf[1]', { anyOf: [{}, rules] }],
    ['schema.not.oneOf[0].allOf[0]', { not: { oneOf: [{ allOf: [rules] }] } }],
  ])('is refused at %s', (path, schema) => {
    const make = () => schemaResource({ ...kind, schema: { type: 'object', ...schema } });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(`${path}.x-kubernetes-validations: a kind of the program has its rules in "validate"`);
  });

  it('is accepted where the word is the name of a field or part of a value', () => {
    const schema = { type: 'object', default: rules, properties: { 'x-kubernetes-validations': { type: 'string' } } };
    expect(schemaResource({ ...kind, schema }).resource).toBe('gadgets');
  });
});
