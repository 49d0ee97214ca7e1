// Regular expressions of users, in RE2: linear in the length of the text, whatever the pattern (DESIGN §7).
import { RE2JS } from 're2js';

/** A test for a pattern, which need not match the whole text. Throws SyntaxError when it is no RE2 pattern. */
export function compilePattern(pattern: string): (text: string) => boolean {
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(pattern);
  } catch (error) {
    // The library speaks in Go's words: "error parsing regexp: missing closing ): `(`".
    throw new SyntaxError((error as Error).message, { cause: error });
  }
  return (text) => compiled.matcher(text).find();
}
