// Decides which keys and ranges the store accepts: keys that LMDB can hold and that are read back unchanged. Used by
// lmdb-engine.ts before anything else is done.
import { type KeyRange, StorageError } from '@kapstan/storage';
import { encodeIndexPrefix, maxKeyBytes } from './row-codec.ts';

/** Longest bound of a range, which may start just after the longest key. */
const maxBoundBytes = maxKeyBytes + 16;

/** Throws `InvalidKey` for a key that is empty, longer than 1900 bytes as stored, or not Unicode text. */
export function checkKey(key: string): void {
  checkText(key);
  if (storedBytes(key) > maxKeyBytes) throw refusal(key, `key is longer than ${maxKeyBytes} bytes`);
}

/**
 * Returns the key to look for. A key that cannot exist, because it is too long or not Unicode text, is replaced by one
 * that does not exist. Throws `InvalidKey` for an empty key.
 */
export function findableKey(key: string): string {
  if (key === '') throw refusal(key, 'key is empty');
  return isText(key) ? findableBound(key) : absentKey;
}

/** A key that is longer than every stored key. */
const absentKey = '\xff'.repeat(Math.ceil((maxKeyBytes + 2) / 2));

/**
 * Returns a range with the same keys that LMDB can search: a client may continue a list behind a name of any length.
 */
export function findableRange(range: KeyRange): KeyRange {
  const [start, end] = [findableBound(range.start), findableBound(range.end)];
  return start === range.start && end === range.end ? range : { start, end };
}

/**
 * Cuts a bound that is too long for LMDB at the point where it exceeds the longest key. No key begins with the rest, so
 * every key lies on the same side of both bounds.
 */
function findableBound(bound: string): string {
  if (storedBytes(bound) <= maxBoundBytes) return bound;
  let bytes = 0;
  let units = 0;
  for (const char of bound) {
    units += char.length;
    bytes += char === '\0' ? 2 : Buffer.byteLength(char);
    if (bytes > maxKeyBytes) break;
  }
  return bound.slice(0, units);
}

function checkText(key: string): void {
  if (key === '') throw refusal(key, 'key is empty');
  if (!isText(key)) throw refusal(key, 'key is not valid Unicode');
}

/** Returns false for a lone surrogate, which would be stored as U+FFFD. */
function isText(key: string): boolean {
  return !/\p{Surrogate}/u.test(key);
}

function storedBytes(key: string): number {
  // A code unit takes three bytes at most, so the bytes of an ordinary key need no counting.
  return key.length * 3 <= maxKeyBytes ? key.length : encodeIndexPrefix(key).length;
}

function refusal(key: string, message: string): StorageError {
  return new StorageError({ code: 'InvalidKey', key, message });
}
