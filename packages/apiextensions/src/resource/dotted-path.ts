// DottedPath: a path in a custom resource as its definition writes it: ".spec.replicas". Used by the scale subresource,
// validation and selectable fields. Source: unstructured.NestedInt64 and similar functions.

import { ExactNumber } from '@kapstan/api';
import { getOwn, isJsonObject, setOwn } from '@kapstan/api/internal';

/** Splits ".spec.replicas" into ["spec", "replicas"]. */
export function splitDottedPath(path: string): readonly string[] {
  return path.replace(/^\./, '').split('.');
}

/** Returns undefined when a step is missing. Throws TypeError with Go's text when a step is not an object. */
export function readPath(object: unknown, path: string): unknown {
  let value = object;
  const steps = splitDottedPath(path);
  for (const [index, step] of steps.entries()) {
    if (!isJsonObject(value)) {
      const at = steps.slice(0, index + 1).join('.');
      throw new TypeError(
        `.${at} accessor error: ${goText(value)} is of the type ${goType(value)}, expected map[string]interface{}`,
      );
    }
    if (!Object.hasOwn(value, step)) return undefined;
    value = getOwn(value, step);
  }
  return value;
}

/** Returns undefined when there is no value. Throws TypeError with Go's text for another type. */
export function readInteger(object: unknown, path: string): number | undefined {
  const value = readPath(object, path);
  if (value === undefined) return undefined;
  const number = value instanceof ExactNumber ? Number(value.text) : value;
  if (typeof number === 'number' && Number.isInteger(number)) return number;
  throw accessError(path, value, 'int64');
}

export function readText(object: unknown, path: string): string | undefined {
  const value = readPath(object, path);
  if (value === undefined || typeof value === 'string') return value;
  throw accessError(path, value, 'string');
}

/** Writes the value and makes missing objects on the path. Throws TypeError when a step is not an object. */
export function writePath(object: Record<string, unknown>, path: string, value: unknown): void {
  const steps = [...splitDottedPath(path)];
  const last = steps.pop() ?? '';
  let target = object;
  for (const step of steps) {
    let next = getOwn(target, step);
    if (next === undefined) {
      next = {};
      setOwn(target, step, next);
    }
    if (!isJsonObject(next)) throw new TypeError(`value cannot be set because ${path} is not a map[string]interface{}`);
    target = next;
  }
  setOwn(target, last, value);
}

function accessError(path: string, value: unknown, expected: string): TypeError {
  const at = `.${splitDottedPath(path).join('.')}`;
  return new TypeError(`${at} accessor error: ${goText(value)} is of the type ${goType(value)}, expected ${expected}`);
}

/** Formats like Go's %v, for the values that occur here. */
function goText(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`;
  if (!isJsonObject(value)) return String(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${key}:${goText(value[key])}`);
  return `map[${members.join(' ')}]`;
}

function goType(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return 'map[string]interface {}';
}
