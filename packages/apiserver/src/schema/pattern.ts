// Compiles users' regular expressions with RE2, whose time is linear in the length of the text for every pattern.
import { RE2JS } from 're2js';

/**
 * Compiled patterns. Definitions repeat a few patterns thousands of times, above all the pattern of quantities. Emptied
 * when full.
 */
const known = new Map<string, (text: string) => boolean>();
const maxKnown = 1000;

/**
 * Returns a test for a pattern, which may match any part of the text. Throws SyntaxError when it is not an RE2 pattern.
 */
export function compilePattern(pattern: string): (text: string) => boolean {
  const test = known.get(pattern);
  if (test !== undefined) return test;
  const compiled = compile(pattern);
  if (known.size >= maxKnown) known.clear();
  const next = (text: string): boolean => compiled.test(text);
  known.set(pattern, next);
  return next;
}

/** True when {@link compilePattern} returns at once. */
export const isCompiledPattern = (pattern: string): boolean => known.has(pattern);

function compile(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    // The library's texts are Go's: "error parsing regexp: missing closing ): `(`".
    throw new SyntaxError((error as Error).message, { cause: error });
  }
}
