import { collectFieldErrors } from '@kapstan/apiserver/internal';
import type { JSONSchemaProps } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { describe, expect, it } from 'vitest';
import { noneKnown } from '../rules/rule-compilation.ts';
import { type SchemaContext, validateRootSchema } from './schema-validation.ts';

const plain: SchemaContext = { hasStatus: false, known: noneKnown, isUnchanged: false };

function errorsOf(property: JSONSchemaProps, required: string[] = []): string[] {
  const root: JSONSchemaProps = {
    type: 'object',
    properties: { spec: { type: 'object', properties: { p: property } } },
  };
  const spec = root.properties?.spec;
  if (spec !== undefined && required.length > 0) spec.required = required;
  return collectFieldErrors((at) => validateRootSchema(at.child('s'), root, plain)).map(
    ({ field, detail }) => `${field.replace('s.properties[spec].properties[p]', '…')}: ${detail}`,
  );
}

describe('the schema of a scalar', () => {
  it('with a wrong pattern has one fault, whatever its default', () => {
    expect(errorsOf({ type: 'string', pattern: '[', default: 'x' })).toEqual([
      "….pattern: must be a valid regular expression, but isn't: error parsing regexp: missing closing ]: `[`",
    ]);
  });

  it.each<[string, JSONSchemaProps]>([
    ['only a type', { type: 'string' }],
    ['a text', { type: 'integer', format: 'int32', description: 'd', title: 't', example: 1 }],
    ['bounds', { type: 'number', minimum: 1, maximum: 2, exclusiveMinimum: true, multipleOf: 1 }],
    ['choices', { type: 'string', enum: ['a', 'b'], nullable: true, minLength: 1, maxLength: 2 }],
  ])('has no fault with %s', (_what, property) => {
    expect(errorsOf(property)).toEqual([]);
  });

  it.each<[string, JSONSchemaProps, string]>([
    ['no type', { description: 'd' }, '….type: must not be empty for specified object fields'],
    ['a wrong type', { type: 'text' }, '….type: '],
    ['a word that is not supported', { type: 'string', id: 'x' }, '….id: id is not supported'],
    ['a wrong pattern', { type: 'string', pattern: '(' }, '….pattern: must be a valid regular expression'],
    ['a wrong default', { type: 'string', default: 1 }, '….default:  in body must be of type string'],
    ['a list type', { type: 'string', 'x-kubernetes-list-type': 'set' }, '….type: must be array'],
    ['a map type', { type: 'string', 'x-kubernetes-map-type': 'atomic' }, '….type: must be object'],
    ['unique items', { type: 'string', uniqueItems: true }, '….uniqueItems: uniqueItems cannot be set'],
    ['a restriction with a type', { type: 'string', not: { type: 'string' } }, '….not.type: must be empty'],
    [
      'a rule without text',
      { type: 'string', 'x-kubernetes-validations': [{ rule: ' ' }] },
      '….x-kubernetes-validations[0].rule: rule is not specified',
    ],
    [
      'a rule that does not compile',
      { type: 'string', 'x-kubernetes-validations': [{ rule: 'self > 1' }] },
      '….x-kubernetes-validations[0].rule: compilation failed: ERROR: <input>:1:6: found no matching overload',
    ],
  ])('is refused for %s', (_what, property, error) => {
    const found = errorsOf(property);
    expect(
      found.some((text) => text.startsWith(error)),
      found.join('\n'),
    ).toBe(true);
  });

  it('costs little: its words are read a few times, not once for every rule', () => {
    let reads = 0;
    const counted = <T extends object>(target: T): T =>
      new Proxy(target, {
        get: (object, key, receiver) => {
          reads++;
          return Reflect.get(object, key, receiver) as unknown;
        },
      });
    const leaves = 100;
    const properties = Object.fromEntries(
      Array.from({ length: leaves }, (_, i) => [
        `p${i}`,
        counted({ type: 'string', description: 'd', format: 'date' }),
      ]),
    );
    const root: JSONSchemaProps = { type: 'object', properties: { spec: { type: 'object', properties } } };
    expect(collectFieldErrors((at) => validateRootSchema(at, root, plain))).toEqual([]);
    expect(reads / leaves).toBeLessThan(10);
  });
});
