import { ExactNumber } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { factTypes } from '../testing/fact-types.ts';
import { decodeObject } from '../testing/whole-work.ts';

const gvk = { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' };

/** `schema` is a value, or its JSON. */
function decodeSchema(schema: unknown): unknown {
  const body = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    spec: { versions: [{ name: 'v1', schema: { openAPIV3Schema: schema } }] },
  };
  const json = typeof schema === 'string' ? schema : JSON.stringify(schema);
  const warnings: string[] = [];
  const object = decodeObject(Buffer.from(JSON.stringify(body).replace(JSON.stringify(schema), json)), {
    mediaType: 'application/json',
    gvk,
    schema: factTypes.schema('crd/apiextensions.v1.CustomResourceDefinition'),
    fieldValidation: 'Warn',
    warn: (text) => warnings.push(text),
  }) as unknown as typeof body;
  expect(warnings).toEqual([]);
  return object.spec.versions[0]?.schema.openAPIV3Schema;
}

describe('what is one of two things in a JSON schema', () => {
  it.each<[string, unknown]>([
    ['items as a schema', { items: { type: 'string', default: { any: [1] } } }],
    ['items as a list', { items: [{ type: 'string' }] }],
    ['additionalProperties as a schema', { additionalProperties: { type: 'integer', items: { type: 'string' } } }],
    ['additionalProperties as a boolean', { additionalProperties: false }],
    ['dependencies as names and as schemas', { dependencies: { a: ['b'], c: { type: 'string' } } }],
  ])('is read as it is: %s', (_which, schema) => {
    expect(decodeSchema(schema)).toEqual(schema);
  });

  it('has plain numbers in defaults and lists of values, however they are written', () => {
    const written = '{"default":{"a":[1.0,1e2]},"enum":[1.0,1.50,9007199254740993],"maximum":9007199254740993}';
    expect(decodeSchema(written)).toEqual({
      default: { a: [1, 100] },
      enum: [1, 1.5, new ExactNumber('9007199254740993')],
      maximum: 9007199254740992,
    });
  });

  it.each(['{"default":1e999}', '{"enum":[1,-1e999]}', '{"example":{"a":[1e999]}}', '{"items":{"default":1e999}}'])(
    'has no number that a double cannot hold: %s',
    (schema) => {
      const number = schema.includes('-') ? '-1e999' : '1e999';
      expect(() => decodeSchema(schema)).toThrow(
        `: json: cannot unmarshal number ${number} into Go value of type float64`,
      );
    },
  );

  it('loses unknown members without a word', () => {
    expect(decodeSchema({ items: { type: 'string', unknown: 1 } })).toEqual({ items: { type: 'string' } });
  });

  it.each<[unknown, string]>([
    [{ additionalProperties: 'yes' }, 'boolean or JSON schema expected'],
    [{ items: { type: 5 } }, 'cannot unmarshal number into Go'],
    [{ items: { properties: { a: { maxLength: 'x' } } } }, 'cannot unmarshal string into Go'],
    [{ items: [{ type: [] }] }, 'cannot unmarshal array into Go'],
  ])('is refused when it is neither: %j', (schema, message) => {
    expect(() => decodeSchema(schema)).toThrow(message);
  });
});
