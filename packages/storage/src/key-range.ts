// Ranges of keys and their order. Keys sort by their UTF-8 bytes, which is the order of code points and not the order
// of `<`. Every engine, the object store and the cache use the order defined here.
import type { KeyRange } from './engine.ts';

/**
 * Returns a negative number, 0 or a positive number when the UTF-8 bytes of `a` sort before, equal to or after the
 * bytes of `b`.
 */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Ranks surrogates above U+E000 to U+FFFF, because they represent code points above U+FFFF. */
function rank(unit: number): number {
  return unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit;
}

/**
 * Returns the range of all keys below a prefix that ends with a slash, from `start` on. "0" is the character after "/".
 */
export function rangeOf(prefix: string, start: string = prefix): KeyRange {
  return { start, end: `${prefix.slice(0, -1)}0` };
}

/** Returns the lowest key above this one, at which a range continues. */
export function keyAfter(key: string): string {
  return `${key}\u0000`;
}

/** Returns the range that holds this key alone. */
export function rangeOfOne(key: string): KeyRange {
  return { start: key, end: keyAfter(key) };
}

/** True when the key is in the range. */
export function isInRange(range: KeyRange, key: string): boolean {
  return compareKeys(key, range.start) >= 0 && compareKeys(key, range.end) < 0;
}

/** Returns the beginning that all keys of the range share: for that of {@link rangeOf}, the prefix with its slash. */
export function commonPrefix({ start, end }: KeyRange): string {
  let length = 0;
  while (length < start.length && start[length] === end[length]) length += 1;
  const isBelowSlash = start[length] === '/' && end.slice(length) === '0';
  return start.slice(0, isBelowSlash ? length + 1 : length);
}
