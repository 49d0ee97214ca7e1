// Evaluates JSONPath on objects, for printer columns. Compiled once per column. Source: client-go util/jsonpath.

import { ExactNumber } from '@kapstan/api';
import { getOwn, isJsonObject } from '@kapstan/api/internal';
import { type PathOperand, type PathOperator, type PathStep, parseJsonPath } from './json-path-parser.ts';

/** Returns the values at a path; empty when a field is missing. Throws TypeError for an impossible access. */
export type JsonPath = (root: unknown) => readonly unknown[];

/** Compiles a path. Throws SyntaxError for malformed text. */
export function compileJsonPath(text: string): JsonPath {
  const steps = parseJsonPath(text);
  return (root) => walk(steps, [root]);
}

function walk(steps: readonly PathStep[], start: readonly unknown[]): readonly unknown[] {
  let values = start;
  for (const step of steps) values = values.flatMap((value) => [...take(step, value)]);
  return values;
}

function take(step: PathStep, value: unknown): readonly unknown[] {
  switch (step.type) {
    case 'field':
      return isJsonObject(value) && Object.hasOwn(value, step.name) ? [getOwn(value, step.name)] : [];
    case 'wildcard':
      return membersOf(value);
    case 'recursive':
      return descendants(value);
    case 'index':
      return [at(listOf(value), step.index)];
    case 'slice':
      return slice(listOf(value), step);
    case 'union':
      return step.branches.flatMap((branch) => [...take(branch, value)]);
    case 'exists':
      return listOf(value).filter((item) => operandValues(step.operand, item).length > 0);
    case 'compare':
      return listOf(value).filter((item) => compares(step, item));
  }
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (value === undefined || value === null) return [];
  throw new TypeError('is not array or slice');
}

function membersOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return isJsonObject(value) ? Object.values(value) : [];
}

function descendants(value: unknown): readonly unknown[] {
  const members = membersOf(value);
  return [value, ...members.flatMap((member) => [...descendants(member)])];
}

function at(list: readonly unknown[], index: number): unknown {
  const place = index < 0 ? list.length + index : index;
  if (place < 0 || place >= list.length) {
    throw new TypeError(`array index out of bounds: index ${index}, length ${list.length}`);
  }
  return list[place];
}

function slice(
  list: readonly unknown[],
  { from = 0, to = list.length, step }: { readonly from?: number; readonly to?: number; readonly step: number },
): readonly unknown[] {
  if (step < 1) throw new TypeError('step must be > 0');
  const start = from < 0 ? list.length + from : from;
  const end = Math.min(to < 0 ? list.length + to : to, list.length);
  return list.slice(Math.max(0, start), end).filter((_, index) => index % step === 0);
}

function operandValues(operand: PathOperand, item: unknown): readonly unknown[] {
  return operand.type === 'value' ? [operand.value] : walk(operand.steps, [item]);
}

function compares(step: Extract<PathStep, { type: 'compare' }>, item: unknown): boolean {
  const [left, ...moreLeft] = operandValues(step.left, item);
  const [right, ...moreRight] = operandValues(step.right, item);
  if (moreLeft.length > 0 || moreRight.length > 0) throw new TypeError('can only compare one element at a time');
  if (left === undefined || right === undefined) return false;
  return holds(scalar(left), step.operator, scalar(right));
}

function scalar(value: unknown): string | number | boolean {
  if (value instanceof ExactNumber) return Number(value.text);
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  throw new TypeError('invalid type for comparison');
}

type Scalar = string | number | boolean;

function holds(left: Scalar, operator: PathOperator, right: Scalar): boolean {
  if (typeof left !== typeof right) throw new TypeError('incompatible types for comparison');
  switch (operator) {
    case '==':
      return left === right;
    case '!=':
      return left !== right;
    case '<':
      return left < right;
    case '<=':
      return left <= right;
    case '>':
      return left > right;
    case '>=':
      return left >= right;
  }
}
