import { type DeepReadonly, systemClock, type UnstructuredObject } from '@kapstan/api';
import { testContext } from '@kapstan/apiserver/testing';
import { builtinFacts } from '@kapstan/kubernetes';
import { describe, expect, it } from 'vitest';
import { definitionResource, definitionsId } from './definition-resource.ts';

const { strategy } = definitionResource({ clock: systemClock, facts: builtinFacts(definitionsId) });
const definition = (...schemas: readonly object[]): DeepReadonly<UnstructuredObject> => ({
  spec: {
    versions: schemas.map((openAPIV3Schema, index) => ({ name: `v${index + 1}`, schema: { openAPIV3Schema } })),
  },
});
const created = (...schemas: readonly object[]) =>
  strategy.warningsOnCreate?.(definition(...schemas), testContext({ namespace: '' }));
const zzz = { type: 'string', format: 'zzz' };
const warning = 'unrecognized format "zzz"';

describe('formats of a definition', () => {
  it.each([
    ...['email', 'date-time', 'datetime', 'uuid4', 'k8s-short-name', 'k8s-long-name'].map((format) => ({
      type: 'string',
      format,
    })),
    { type: 'integer', format: 'int64' },
    { type: 'number', format: 'double' },
    { type: 'string', format: '' },
    { type: 'object', default: { format: 'zzz' }, enum: [zzz], example: zzz },
  ])('are known: %j', (schema) => {
    expect(created({ properties: { p: schema } })).toEqual([]);
  });

  it.each([
    [{ type: 'integer', format: 'int16' }, 'int16'],
    [{ type: 'number', format: 'int32' }, 'int32'],
    [{ type: 'string', format: 'int32' }, 'int32'],
    [{ type: 'object', format: 'email' }, 'email'],
    [{ type: 'string', format: 'a\u0000' }, 'a\\x00'],
  ])('are unknown for their type: %j', (schema, format) => {
    expect(created({ properties: { p: schema } })).toEqual([`unrecognized format "${format}"`]);
  });

  it.each([
    { items: zzz },
    { additionalProperties: zzz },
    { not: zzz },
    { allOf: [{ anyOf: [{ oneOf: [zzz] }] }] },
    { properties: { a: { properties: { b: zzz } } } },
  ])('are found wherever a schema stands, and told once: %j', (schema) => {
    expect(created(schema, { properties: { twice: zzz } })).toEqual([warning]);
  });

  it('cause warnings in an update when they are new', () => {
    const context = testContext({ namespace: '' });
    const [plain, warned] = [definition({ type: 'object' }), definition({ properties: { a: zzz } })];
    expect(strategy.warningsOnUpdate?.(warned, plain, context)).toEqual([warning]);
    expect(strategy.warningsOnUpdate?.(warned, warned, context)).toEqual([]);
  });
});
