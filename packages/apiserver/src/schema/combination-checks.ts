// Compiles allOf, anyOf, oneOf and not of a schema. Their errors name no field, as in kube-apiserver.

import { type FieldError, invalidField } from '@kapstan/api/errors';
import { isJsonObject } from '@kapstan/api/internal';
import { joinedErrors } from './error-collector.ts';
import { type Branch, matchCount } from './match-count.ts';
import type { JsonSchema } from './structural-schema.ts';
import type { ValueValidator } from './value-validator.ts';

/** Compiles a branch. It is `compileValidator`, passed in because the two call each other. */
type Compile = (schema: JsonSchema) => ValueValidator;

export function combinationChecks(schema: JsonSchema, compile: Compile): readonly ValueValidator[] {
  const branches = (word: string): Branch[] => {
    const list = schema[word];
    if (!Array.isArray(list)) return [];
    return list.filter(isJsonObject).map((branch) => ({ schema: branch, validate: compile(branch) }));
  };
  const checks: ValueValidator[] = [];
  const [all, any, one] = [branches('allOf'), branches('anyOf'), branches('oneOf')];
  if (any.length > 0) checks.push((value, path) => checkAny(any, value, path));
  if (one.length > 0) checks.push((value, path) => checkOne(one, value, path));
  if (all.length > 0) checks.push((value, path) => checkAll(all, value, path));
  if (isJsonObject(schema.not)) {
    const not = compile(schema.not);
    checks.push((value, path) =>
      not(value, path).length > 0 ? [] : [combined(path, 'must not validate the schema (not)')],
    );
  }
  return checks;
}

function checkAny(branches: readonly Branch[], value: unknown, path: string): readonly FieldError[] {
  const results: (readonly FieldError[])[] = [];
  for (const { validate } of branches) {
    const errors = validate(value, path);
    if (errors.length === 0) return [];
    results.push(errors);
  }
  return [combined(path, 'must validate at least one schema (anyOf)'), ...bestErrors(branches, results, value)];
}

function checkOne(branches: readonly Branch[], value: unknown, path: string): readonly FieldError[] {
  const results = branches.map(({ validate }) => validate(value, path));
  const valid = results.filter((errors) => errors.length === 0).length;
  if (valid === 1) return [];
  const text = 'must validate one and only one schema (oneOf)';
  if (valid > 1) return [combined(path, `${text}. Found ${valid} valid alternatives`)];
  return [combined(path, `${text}. Found none valid`), ...bestErrors(branches, results, value)];
}

function checkAll(branches: readonly Branch[], value: unknown, path: string): readonly FieldError[] {
  const results = branches.map(({ validate }) => validate(value, path));
  const errors = results.reduce(joinedErrors, []);
  if (errors.length === 0) return [];
  const hasNone = results.every((result) => result.length > 0);
  const all = `must validate all the schemas (allOf)${hasNone ? '. None validated' : ''}`;
  return joinedErrors([combined(path, all)], errors);
}

/** Returns the errors of the branch that looked at most of the value, which is most likely the one that was meant. */
function bestErrors(
  branches: readonly Branch[],
  results: readonly (readonly FieldError[])[],
  value: unknown,
): readonly FieldError[] {
  const counts = branches.map(({ schema }) => matchCount(schema, value));
  return results[counts.indexOf(Math.max(...counts))] ?? [];
}

function combined(path: string, text: string): FieldError {
  return invalidField('<nil>', '', `"${path}" ${text}`);
}
