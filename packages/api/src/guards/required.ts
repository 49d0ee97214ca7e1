// Checks required arguments for callers without the compiler (JavaScript, `any`): a TypeError that names the argument
// at once, instead of a later failure that does not name it. Used by every package of the SDK; see also
// object-target.ts.
import { shown } from '../objects/object-target.ts';

/**
 * Throws TypeError unless given a number of at least 0. Infinity is allowed; timers limit it to their longest delay.
 */
export function requireNotNegative(value: unknown, what: string): void {
  if (typeof value === 'number' && value >= 0) return;
  throw new TypeError(`${what} must be a number of at least 0, not ${shown(value)}`);
}

/** Throws TypeError unless given a function or undefined. */
export function requireFunction(value: unknown, what: string): void {
  if (value === undefined || typeof value === 'function') return;
  requireGivenFunction(value, what);
}

/** Throws TypeError unless given a function. */
export function requireGivenFunction(value: unknown, what: string): void {
  if (typeof value !== 'function') throw new TypeError(`${what} must be a function, not ${shown(value)}`);
}

/** Does what {@link requireFunction} does for each of these members. */
export function requireCallbacks(options: object, names: readonly string[]): void {
  for (const name of names) requireFunction((options as Readonly<Record<string, unknown>>)[name], name);
}

/** Throws TypeError when one of these functions is missing, own or inherited: of a logger, a client, a rate limiter. */
export function requireFunctions(value: unknown, what: string, names: readonly string[]): void {
  const members = (value ?? {}) as Readonly<Record<string, unknown>>;
  const missing = names.find((name) => typeof members[name] !== 'function');
  if (missing !== undefined) throw new TypeError(`${what} needs the function ${missing}, it is ${shown(value)}`);
}

/** Throws TypeError unless given a logger or undefined. */
export function requireLogger(value: unknown): void {
  if (value !== undefined) requireFunctions(value, 'logger', ['debug', 'info', 'warn', 'error']);
}

/** Throws TypeError unless given a clock or undefined. */
export function requireClock(value: unknown): void {
  const functions = ['now', 'monotonicNow', 'setTimer', 'setBackgroundTimer'];
  if (value !== undefined) requireFunctions(value, 'clock', functions);
}

/** Throws TypeError unless given a signal or undefined; an AbortController is not one. */
export function requireSignal(value: unknown): void {
  if (value !== undefined) requireGivenSignal(value);
}

/** Throws TypeError unless given a signal. */
export function requireGivenSignal(value: unknown): void {
  const isSignal = typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value;
  if (!isSignal)
    throw new TypeError(`signal takes an AbortSignal, such as that of an AbortController, not ${shown(value)}`);
}

/** Throws TypeError unless given a resource. `who` names the taker: "controller()", "an informer". */
export function requireResource(value: unknown, who: string): void {
  const given = (value ?? {}) as Readonly<Record<string, unknown>>;
  const isResource = ['group', 'version', 'kind', 'plural'].every((name) => typeof given[name] === 'string');
  if (isResource && typeof value === 'object') return;
  const examples = "such as Pod of '@kapstan/kinds/core/v1' or a result of defineResource()";
  throw new TypeError(`${who} takes a resource, ${examples}, not ${shown(value)}`);
}
