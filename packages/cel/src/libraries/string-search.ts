// `indexOf` and `lastIndexOf` of texts, by code points.
import { codePointCount, unitOffsetOf } from '../values/code-points.ts';
import { CelFailure } from '../values/failure.ts';
import type { Int } from '../values/integers.ts';

/**
 * Returns the position of the first occurrence at or after an offset, -1 when there is none. The empty text is found at
 * the offset itself.
 */
export function indexOfPart(text: string, part: string, offset: Int): unknown {
  if (part === '') return offset;
  if (offset < 0) return new CelFailure(`index out of range: ${offset}`);
  const start = unitOffset(text, offset);
  return start === undefined ? -1 : pointOffset(text, text.indexOf(part, start));
}

/** Returns the position of the last occurrence at or before an offset; -1 when there is none. */
export function lastIndexOfPart(text: string, part: string, offset?: Int): unknown {
  if (part === '') return offset ?? codePointCount(text);
  if (offset === undefined) return pointOffset(text, text.lastIndexOf(part));
  if (offset < 0) return new CelFailure(`index out of range: ${offset}`);
  const start = unitOffset(text, offset);
  return start === undefined ? -1 : pointOffset(text, text.lastIndexOf(part, start));
}

/** Returns the UTF-16 offset of a code point, or undefined when the text ends before it. */
function unitOffset(text: string, offset: Int): number | undefined {
  return offset < codePointCount(text) ? unitOffsetOf(text, Number(offset)) : undefined;
}

function pointOffset(text: string, unit: number): number {
  return unit < 0 ? -1 : codePointCount(text.slice(0, unit));
}
