// Counts how much of a value a branch of anyOf or oneOf has looked at. When no branch is valid, the errors of the branch
// with the highest count are reported. Source: kube-openapi validate.Result.MatchCount.
import { ExactNumber } from '@kapstan/api';
import { getOwn, isJsonObject } from '@kapstan/api/internal';
import { isKnownFormat } from './formats/string-formats.ts';
import type { JsonSchema } from './structural-schema.ts';
import type { ValueValidator } from './value-validator.ts';

/** A schema of anyOf, oneOf or allOf with its compiled form. */
export interface Branch {
  readonly schema: JsonSchema;
  readonly validate: ValueValidator;
}

/**
 * Counts one for the value, and one for each validator that applies to it, whether or not it finds an error, here and
 * below.
 */
export function matchCount(schema: JsonSchema, value: unknown): number {
  if (value === null) return 0;
  const { type, format } = schema;
  const isTyped = Boolean(type) || Boolean(format) || schema['x-kubernetes-int-or-string'] === true;
  // The value itself, the check of combinations (which counts itself as well) and the check of the enum.
  const always = 4;
  return always + (isTyped ? 1 : 0) + combinationCount(schema, value) + countOfKind(schema, value);
}

function countOfKind(schema: JsonSchema, value: unknown): number {
  if (typeof value === 'string') return typeof schema.format === 'string' && isKnownFormat(schema.format) ? 2 : 1;
  // The validators of numbers and lists count themselves as well.
  if (typeof value === 'number' || value instanceof ExactNumber) return 2;
  if (Array.isArray(value)) return 2 + itemsCount(schema, value);
  return isJsonObject(value) ? 1 + membersCount(schema, value) : 0;
}

function itemsCount({ items }: JsonSchema, list: readonly unknown[]): number {
  if (!isJsonObject(items)) return 0;
  return list.reduce<number>((sum, item) => sum + matchCount(items, item), 0);
}

function membersCount(schema: JsonSchema, object: Readonly<Record<string, unknown>>): number {
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  let sum = 0;
  for (const key of Object.keys(object)) {
    const member = Object.hasOwn(properties, key) ? getOwn(properties, key) : schema.additionalProperties;
    if (isJsonObject(member)) sum += matchCount(member, object[key]);
  }
  return sum;
}

/** The combinations of a schema count through the branches whose results they take over. */
function combinationCount(schema: JsonSchema, value: unknown): number {
  const all = schemasOf(schema.allOf).reduce((sum, branch) => sum + matchCount(branch, value), 0);
  const best = [schema.anyOf, schema.oneOf].map((list) =>
    Math.max(0, ...schemasOf(list).map((branch) => matchCount(branch, value))),
  );
  return best.reduce((sum, count) => sum + count, all);
}

function schemasOf(list: unknown): readonly JsonSchema[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}
