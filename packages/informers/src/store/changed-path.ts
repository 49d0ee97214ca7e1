// Finds where two states of an object differ: returns a path but no values, which may be secret. Used by mutation-detector.ts.
import { ExactNumber } from '@kapstan/api';

const plainKey = /^[A-Za-z_$][\w$-]*$/;

/**
 * Returns the path of the first difference in JSON data, such as ".spec.ports[0].name", or "" for the whole; undefined when there is none.
 */
export function changedPath(before: unknown, after: unknown): string | undefined {
  if (!isContainer(before) || !isContainer(after)) return isSameLeaf(before, after) ? undefined : '';
  if (Array.isArray(before) !== Array.isArray(after)) return '';
  for (const key of new Set([...keysOf(before), ...keysOf(after)])) {
    const path = changedPath(own(before, key), own(after, key));
    if (path !== undefined) return `${step(before, key)}${path}`;
  }
  return undefined;
}

type Container = Readonly<Record<string, unknown>>;

const isContainer = (value: unknown): value is Container =>
  typeof value === 'object' && value !== null && !(value instanceof ExactNumber);

/** Follows JSON: a member that is undefined counts as absent. */
const keysOf = (value: Container): string[] => Object.keys(value).filter((key) => own(value, key) !== undefined);

const own = (value: Container, key: string): unknown => (Object.hasOwn(value, key) ? value[key] : undefined);

function isSameLeaf(before: unknown, after: unknown): boolean {
  if (before instanceof ExactNumber && after instanceof ExactNumber) return before.text === after.text;
  return Object.is(before, after);
}

function step(parent: Container, key: string): string {
  if (Array.isArray(parent)) return `[${key}]`;
  return plainKey.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}
