// Converts keys, ranges and key-values between the Engine port and the wire. Used by range-reader.ts, txn.ts,
// etcd-watch.ts and etcd-engine.ts.
import type { Revision } from '@kapstan/api';
import { type KeyRange, type KeyValue, keyAfter, StorageError } from '@kapstan/storage';
import type { WireKeyValue } from './wire.ts';

export interface WireRange {
  readonly key: Uint8Array;
  /** Absent: the range is the one key. */
  readonly rangeEnd?: Uint8Array;
}

const leastKey = Uint8Array.of(0);

/** Throws `InvalidKey` for a key that is empty or would not be read back unchanged. */
export function checkKey(key: string): void {
  if (key === '') throw new StorageError({ code: 'InvalidKey', key, message: 'key is empty' });
  // A lone surrogate would be stored as U+FFFD.
  if (/\p{Surrogate}/u.test(key)) {
    throw new StorageError({ code: 'InvalidKey', key, message: 'key is not valid Unicode' });
  }
}

export function keyBytes(key: string): Uint8Array {
  return Buffer.from(key);
}

/** Returns the range as etcd expects it; undefined when it can contain no key. */
export function toWireRange({ start, end }: KeyRange): WireRange | undefined {
  const key = start === '' ? leastKey : keyBytes(start);
  const rangeEnd = keyBytes(end);
  // For etcd, an end of "" means one key and "\0" means no end. The port has neither, because no key sorts below them.
  if (Buffer.compare(key, rangeEnd) >= 0) return undefined;
  return end === keyAfter(start) ? { key } : { key, rangeEnd };
}

/** Returns the lowest key above this one. */
export function bytesAfter(key: Uint8Array): Uint8Array {
  return Buffer.concat([key, leastKey]);
}

export function toKeyValue({ key, value, createRevision, modRevision, lease }: WireKeyValue): KeyValue {
  return {
    key: key.toString(),
    // The bytes are copied, because the decoder's view would keep the whole message in memory.
    value: Buffer.from(value),
    createRevision: createRevision as Revision,
    modRevision: modRevision as Revision,
    lease,
  };
}
