// Ranges of keys and their order: that of UTF-8 bytes, which is the order of code points and not of JavaScript's `<`.
// The one place that knows it: every engine, the object store and the cache take it from here.
import type { KeyRange } from './engine.ts';

/** Negative, 0 or positive, as the UTF-8 bytes of `a` sort before, with or after those of `b`. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above U+FFFF, so they sort after U+E000 to U+FFFF. */
function rank(unit: number): number {
  return unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit;
}

/** All keys below a prefix that ends with a slash, from `start` on. "0" is the character after "/". */
export function rangeOf(prefix: string, start: string = prefix): KeyRange {
  return { start, end: `${prefix.slice(0, -1)}0` };
}

/** The least key above this one: where a range goes on behind it. */
export function keyAfter(key: string): string {
  return `${key}\u0000`;
}

/** This key and no other. */
export function rangeOfOne(key: string): KeyRange {
  return { start: key, end: keyAfter(key) };
}

export function isInRange(range: KeyRange, key: string): boolean {
  return compareKeys(key, range.start) >= 0 && compareKeys(key, range.end) < 0;
}

/** What every key of the range begins with: whatever its two ends have in common. */
export function commonPrefix({ start, end }: KeyRange): string {
  let length = 0;
  while (length < start.length && start[length] === end[length]) length += 1;
  return start.slice(0, length);
}
