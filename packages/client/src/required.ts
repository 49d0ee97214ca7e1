// Checks of what JavaScript lets through and what would fail late, when a request has been answered, or not at all.
import { inspect } from 'node:util';

/** Throws TypeError for what is no number, or a negative one. */
export function requireNotNegative(name: string, value: unknown): void {
  if (typeof value === 'number' && value >= 0) return;
  throw new TypeError(`${name} must not be negative, got ${inspect(value)}`);
}

/** Throws TypeError for what is neither a function nor absent. */
export function requireFunction(name: string, value: unknown): void {
  if (value === undefined || typeof value === 'function') return;
  throw new TypeError(`${name} must be a function, got ${inspect(value)}`);
}

/** Throws TypeError for what lacks one of the functions. */
export function requireFunctions(name: string, value: unknown, functions: readonly string[]): void {
  const members = (value ?? {}) as Readonly<Record<string, unknown>>;
  const missing = functions.find((member) => typeof members[member] !== 'function');
  if (missing !== undefined) throw new TypeError(`${name} needs the function ${missing}, got ${inspect(value)}`);
}
