// Which keys and ranges the store takes: what LMDB can hold, and nothing that would come back changed.
// Used by lmdb-engine.ts before anything else is done.
import { type KeyRange, StorageError } from '@kapstan/storage';
import { encodeIndexPrefix, maxKeyBytes } from './row-codec.ts';

/** A range may start just after the longest key. */
const maxBoundBytes = maxKeyBytes + 16;

/** Throws `InvalidKey` for a key that is empty, longer than 1900 bytes as stored, or no Unicode text. */
export function checkKey(key: string): void {
  checkText(key);
  if (storedBytes(key) > maxKeyBytes) throw refusal(key, `key is longer than ${maxKeyBytes} bytes`);
}

/**
 * The key to look for: of one that cannot be there, too long or no Unicode text, another that is not there either. Throws
 * `InvalidKey` for an empty key.
 */
export function findableKey(key: string): string {
  if (key === '') throw refusal(key, 'key is empty');
  return isText(key) ? findableBound(key) : absentKey;
}

/** Longer than every key. */
const absentKey = '\xff'.repeat(Math.ceil((maxKeyBytes + 2) / 2));

/** A range that LMDB can look for and that holds the same keys: a client may go on behind a name of any length. */
export function findableRange(range: KeyRange): KeyRange {
  const [start, end] = [findableBound(range.start), findableBound(range.end)];
  return start === range.start && end === range.end ? range : { start, end };
}

/**
 * A bound that is too long for LMDB is cut where it becomes longer than the longest key. So no key begins with what is left, and
 * every key lies on the same side of both.
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

/** A lone surrogate would be stored as U+FFFD. */
function isText(key: string): boolean {
  return !/\p{Surrogate}/u.test(key);
}

function storedBytes(key: string): number {
  // Three bytes a code unit at most: no need to count those of an ordinary key.
  return key.length * 3 <= maxKeyBytes ? key.length : encodeIndexPrefix(key).length;
}

function refusal(key: string, message: string): StorageError {
  return new StorageError({ code: 'InvalidKey', key, message });
}
