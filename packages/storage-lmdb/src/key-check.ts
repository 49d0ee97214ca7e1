// Which keys and ranges the store takes: what LMDB can hold, and nothing that would come back changed.
// Used by lmdb-engine.ts before anything else is done.
import { type KeyRange, StorageError } from '@kapstan/storage';
import { encodeIndexPrefix, maxKeyBytes } from './row-codec.ts';

/** A range may start just after the longest key. */
const maxBoundBytes = maxKeyBytes + 16;

/** Throws `InvalidKey` for a key that is empty, longer than 1900 bytes as stored, or no Unicode text. */
export function checkKey(key: string): void {
  checkText(key);
  if (isTooLong(key)) throw refusal(key, `key is longer than ${maxKeyBytes} bytes`);
}

/** Throws `InvalidKey` for a key that is empty or no Unicode text. */
export function checkText(key: string): void {
  if (key === '') throw refusal(key, 'key is empty');
  // A lone surrogate would be stored as U+FFFD.
  if (/\p{Surrogate}/u.test(key)) throw refusal(key, 'key is not valid Unicode');
}

/** Whether a key is longer than any that is stored, so that nothing is there. */
export function isTooLong(key: string): boolean {
  return key.length > maxKeyBytes || storedBytes(key) > maxKeyBytes;
}

/** Throws `InvalidKey` for bounds that LMDB cannot look for. An empty bound is one. */
export function checkRange({ start, end }: KeyRange): void {
  for (const bound of [start, end]) {
    if (storedBytes(bound) > maxBoundBytes) throw refusal(bound, `range bound is longer than ${maxBoundBytes} bytes`);
  }
}

function storedBytes(key: string): number {
  // Three bytes a code unit at most: no need to count those of an ordinary key.
  return key.length * 3 <= maxKeyBytes ? key.length : encodeIndexPrefix(key).length;
}

function refusal(key: string, message: string): StorageError {
  return new StorageError({ code: 'InvalidKey', key, message });
}
