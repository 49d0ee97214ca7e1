import { runWhole } from '@kapstan/api/internal';
import { describe, expect, it } from 'vitest';
import { SharedParameters } from './shared-parameters.ts';
import { swaggerPathItem, swaggerSchema } from './swagger-schema.ts';

const object = { type: 'object' };

describe('swaggerSchema', () => {
  it.each([
    ['a reference', { $ref: '#/components/schemas/a.B' }, { $ref: '#/definitions/a.B' }],
    [
      'a reference with words of its own',
      { allOf: [{ $ref: '#/components/schemas/a.B' }], default: {}, description: 'x' },
      { $ref: '#/definitions/a.B', description: 'x' },
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
    ['a default', { type: 'string', default: 'a' }, { type: 'string' }],
    [
      'choices',
      { ...object, oneOf: [{ required: ['a'] }, { required: ['b'] }], anyOf: [object], not: { required: ['c'] } },
      object,
    ],
    ['rules', { ...object, 'x-kubernetes-validations': [{ rule: 'true' }], maxProperties: 3 }, undefined],
  ])('converts %s', (_, schema, expected) => {
    expect(runWhole(swaggerSchema(schema))).toEqual(expected ?? schema);
  });

  it('keeps a property with any name', () => {
    const properties = JSON.parse('{"__proto__": {"type": "string"}, "constructor": {"type": "string"}}');
    expect(JSON.stringify(runWhole(swaggerSchema({ type: 'object', properties })))).toBe(
      JSON.stringify({ type: 'object', properties }),
    );
  });
});

describe('swaggerPathItem', () => {
  it('makes the body a parameter and puts types beside names', () => {
    const schema = { $ref: '#/components/schemas/a.B' };
    const shared = new SharedParameters();
    const all = {
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
      parameters: [
        { name: 'name', in: 'path', required: true, schema: { type: 'string' } },
        { name: 'pretty', in: 'query', schema: { type: 'string', uniqueItems: true } },
      ],
    };
    expect(swaggerPathItem(all, { isCustom: false, shared })).toEqual({
      put: {
        tags: ['core_v1'],
        consumes: ['*/*'],
        produces: ['application/json'],
        schemes: ['https'],
        parameters: [
          { name: 'body', in: 'body', required: true, schema: { $ref: '#/definitions/a.B' } },
          { name: 'dryRun', in: 'query', type: 'string', uniqueItems: true },
        ],
        responses: { 200: { description: 'OK', schema: { $ref: '#/definitions/a.B' } }, 401: { description: 'No' } },
        'x-kubernetes-action': 'put',
      },
      parameters: [
        { name: 'name', in: 'path', required: true, type: 'string' },
        { $ref: expect.stringMatching(/^#\/parameters\/pretty-.{8}$/) },
      ],
    });
    expect(shared.all()).toEqual([
      [expect.stringMatching(/^pretty-/), { name: 'pretty', in: 'query', type: 'string', uniqueItems: true }],
    ]);
  });

  it('names a shared parameter as Kubernetes does', () => {
    const shared = new SharedParameters();
    const body = {
      name: 'body',
      in: 'body',
      schema: { $ref: '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions' },
    };
    expect(shared.refTo(body)).toEqual({ $ref: '#/parameters/body-2Y1dVQaQ' });
    expect(shared.refTo({ ...body, schema: { $ref: '#/definitions/a.B' } })).toHaveProperty('schema');
    expect(shared.all()).toHaveLength(1);
  });
});
