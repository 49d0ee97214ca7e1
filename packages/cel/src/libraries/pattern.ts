// Matches users' patterns with RE2, whose time is linear in the length of the text for every pattern.
import { RE2JS } from 're2js';
import { CelFailure } from '../values/failure.ts';

/** Compiled patterns. Definitions repeat a few patterns thousands of times. Emptied when full. */
const known = new Map<string, RE2JS | CelFailure>();
const maxKnown = 500;

/** Returns the compiled pattern, or an error with the text of Go's regexp package. */
export function compilePattern(pattern: string): RE2JS | CelFailure {
  const before = known.get(pattern);
  if (before !== undefined) return before;
  const compiled = compile(pattern);
  if (known.size >= maxKnown) known.clear();
  known.set(pattern, compiled);
  return compiled;
}

function compile(pattern: string): RE2JS | CelFailure {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    return new CelFailure((error as Error).message);
  }
}

export function matchesPattern(pattern: RE2JS, text: string): boolean {
  return pattern.test(text);
}

/** Returns the first match, or the empty text. */
export function findPattern(pattern: RE2JS, text: string): string {
  const matcher = pattern.matcher(text);
  return matcher.find() ? (matcher.group() ?? '') : '';
}

/**
 * Returns at most `limit` matches; all when it is negative. An empty match right after another one is left out, as in
 * Go.
 */
export function findAllPattern(pattern: RE2JS, text: string, limit: number): string[] {
  const found: string[] = [];
  const matcher = pattern.matcher(text);
  let lastEnd = -1;
  while ((limit < 0 || found.length < limit) && matcher.find()) {
    const isEmptyAfterMatch = matcher.start() === matcher.end() && matcher.start() === lastEnd;
    lastEnd = matcher.end();
    if (!isEmptyAfterMatch) found.push(matcher.group() ?? '');
  }
  return found;
}
