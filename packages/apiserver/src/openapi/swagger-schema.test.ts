import { describe, expect, it } from 'vitest';
import { swaggerPathItem, swaggerSchema } from './swagger-schema.ts';

const object = { type: 'object' };

describe('swaggerSchema', () => {
  it.each([
    ['a reference', { $ref: '#/components/schemas/a.B' }, { $ref: '#/definitions/a.B' }],
    [
      'a reference with words of its own',
      { allOf: [{ $ref: '#/components/schemas/a.B' }], default: {}, description: 'x' },
      { $ref: '#/definitions/a.B', default: {}, description: 'x' },
    ],
    [
      'references within',
      { type: 'array', items: { $ref: '#/components/schemas/a.B' } },
      { type: 'array', items: { $ref: '#/definitions/a.B' } },
    ],
    ['values of a map', { ...object, additionalProperties: { type: 'string' } }, undefined],
    ['any values', { ...object, additionalProperties: true }, undefined],
    [
      'a number or text of a built-in kind',
      { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] },
      { type: 'string', format: 'int-or-string' },
    ],
    [
      'a number or text of a custom kind',
      { type: 'string', 'x-kubernetes-int-or-string': true },
      { 'x-kubernetes-int-or-string': true },
    ],
    [
      'choices',
      { ...object, oneOf: [{ required: ['a'] }, { required: ['b'] }], anyOf: [object], not: { required: ['c'] } },
      object,
    ],
    [
      'unknown fields that stay',
      { ...object, 'x-kubernetes-preserve-unknown-fields': true, properties: { a: object } },
      { 'x-kubernetes-preserve-unknown-fields': true },
    ],
    [
      'a whole object whose unknown fields stay',
      {
        ...object,
        'x-kubernetes-preserve-unknown-fields': true,
        'x-kubernetes-group-version-kind': [{ group: 'a', version: 'v1', kind: 'B' }],
        description: 'x',
        properties: { spec: object },
      },
      { ...object, 'x-kubernetes-group-version-kind': [{ group: 'a', version: 'v1', kind: 'B' }] },
    ],
    ['a list of anything', { type: 'array', description: 'x' }, { description: 'x' }],
    [
      'a member that may be null',
      { ...object, required: ['a', 'b'], properties: { a: { type: 'string', nullable: true }, b: object } },
      { ...object, required: ['b'], properties: { a: {}, b: object } },
    ],
    [
      'rules',
      { ...object, 'x-kubernetes-validations': [{ rule: 'true' }], maxProperties: 3 },
      { ...object, maxProperties: 3 },
    ],
  ])('converts %s', (_, schema, expected) => {
    expect(swaggerSchema(schema)).toEqual(expected ?? schema);
  });

  it('keeps a property with any name', () => {
    const properties = JSON.parse('{"__proto__": {"type": "string"}, "constructor": {"type": "string"}}');
    expect(JSON.stringify(swaggerSchema({ type: 'object', properties }))).toBe(
      JSON.stringify({ type: 'object', properties }),
    );
  });
});

describe('swaggerPathItem', () => {
  it('makes the body a parameter and puts types beside names', () => {
    const schema = { $ref: '#/components/schemas/a.B' };
    const item = swaggerPathItem({
      put: {
        tags: ['core_v1'],
        parameters: [{ name: 'dryRun', in: 'query', schema: { type: 'string', uniqueItems: true } }],
        requestBody: { required: true, content: { '*/*': { schema } } },
        responses: {
          200: { description: 'OK', content: { 'application/json': { schema } } },
          401: { description: 'No' },
        },
        'x-kubernetes-action': 'put',
      },
      parameters: [{ name: 'name', in: 'path', required: true, schema: { type: 'string' } }],
    });
    expect(item).toEqual({
      put: {
        tags: ['core_v1'],
        consumes: ['*/*'],
        parameters: [
          { name: 'body', in: 'body', required: true, schema: { $ref: '#/definitions/a.B' } },
          { name: 'dryRun', in: 'query', type: 'string', uniqueItems: true },
        ],
        responses: { 200: { description: 'OK', schema: { $ref: '#/definitions/a.B' } }, 401: { description: 'No' } },
        'x-kubernetes-action': 'put',
      },
      parameters: [{ name: 'name', in: 'path', required: true, type: 'string' }],
    });
  });
});
