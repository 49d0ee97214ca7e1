// Regular expressions of users, in RE2: linear in the length of the text, whatever the pattern.
import { RE2JS } from 're2js';

/** Definitions repeat few patterns thousands of times (that of quantities above all). Full = emptied. */
const known = new Map<string, (text: string) => boolean>();
const maxKnown = 1000;

/** A test for a pattern, which need not match the whole text. Throws SyntaxError when it is no RE2 pattern. */
export function compilePattern(pattern: string): (text: string) => boolean {
  const test = known.get(pattern);
  if (test !== undefined) return test;
  const compiled = compile(pattern);
  if (known.size >= maxKnown) known.clear();
  const next = (text: string): boolean => compiled.matcher(text).find();
  known.set(pattern, next);
  return next;
}

function compile(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    // The library speaks in Go's words: "error parsing regexp: missing closing ): `(`".
    throw new SyntaxError((error as Error).message, { cause: error });
  }
}
