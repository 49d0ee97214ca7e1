// Encodes keys and rows of the tables. Only this file knows the on-disk format; everything in this package that reads
// or writes a table uses it. Format: docs/decisions/0002-lmdb-layout.md.
import type { Revision } from '@kapstan/api';
import type { KeyValue } from '@kapstan/storage';

/** Raise it when the layout below changes so that older programs cannot read it. */
export const formatVersion = 1;

/** Longest key in bytes as stored. LMDB allows 1978 with 4 KiB pages; the index needs nine more than the key. */
export const maxKeyBytes = 1900;

/** One version of one key: a row of the event log. */
export interface VersionRow {
  readonly type: 'put' | 'delete';
  readonly key: string;
  readonly revision: Revision;
  /** Revision of the put that created the key; for a delete, the key that it deletes. */
  readonly createRevision: Revision;
  /** Revision of the key's version before this one; 0 for a put that creates the key. */
  readonly previousRevision: Revision;
  /** 0 = no lease. Always 0 for a delete. */
  readonly lease: number;
  /** Empty for a delete. */
  readonly value: Uint8Array;
}

/** An entry of the table of current keys. */
export interface CurrentRow {
  readonly modRevision: Revision;
  readonly createRevision: Revision;
  readonly lease: number;
}

export interface LeaseRow {
  readonly ttlSeconds: number;
  /** Wall clock, milliseconds since 1970. */
  readonly expiresAtMs: number;
}

const numberBytes = 8;
const headerBytes = 1 + 3 * numberBytes + 2;
const indexTailBytes = 1 + numberBytes;
const two32 = 2 ** 32;

function writeNumber(target: Buffer, value: number, at: number): void {
  target.writeUInt32BE(Math.floor(value / two32), at);
  target.writeUInt32BE(value % two32, at + 4);
}

function readNumber(source: Buffer, at: number): number {
  return source.readUInt32BE(at) * two32 + source.readUInt32BE(at + 4);
}

/** Returns eight bytes, big-endian, so that byte order is number order. Keys the event log and leases. */
export function encodeNumber(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(numberBytes);
  writeNumber(bytes, value, 0);
  return bytes;
}

export function decodeNumber(bytes: Buffer): number {
  return readNumber(bytes, 0);
}

/** Returns the key for the table of current keys: plain UTF-8, so that LMDB's order equals the port's. */
export function encodeKey(key: string): Buffer {
  return Buffer.from(key, 'utf8');
}

function decodeKey(bytes: Buffer): string {
  return bytes.toString('utf8');
}

/**
 * Returns the prefix of a key's index entries, which is also a bound of index ranges. NUL is written as 00 FF because
 * 00 ends the key: "a" must come before "a\0" whatever their revisions are.
 */
export function encodeIndexPrefix(key: string): Buffer {
  return Buffer.from(key.includes('\0') ? escapeNul(key) : encodeKey(key));
}

function escapeNul(key: string): Buffer {
  const parts = key.split('\0').map((part) => encodeKey(part));
  const bytes: number[] = [];
  parts.forEach((part, index) => {
    if (index > 0) bytes.push(0x00, 0xff);
    for (const byte of part) bytes.push(byte);
  });
  return Buffer.from(bytes);
}

/** Returns an index key: escaped key, 00, revision. */
export function encodeIndexKey(key: string, revision: number): Buffer {
  const prefix = encodeIndexPrefix(key);
  const bytes = Buffer.allocUnsafe(prefix.length + indexTailBytes);
  prefix.copy(bytes);
  bytes[prefix.length] = 0;
  writeNumber(bytes, revision, prefix.length + 1);
  return bytes;
}

/** Returns the escaped key of an index entry. All versions of one key share it. */
export function indexPrefixOf(indexKey: Buffer): Buffer {
  return indexKey.subarray(0, indexKey.length - indexTailBytes);
}

export function indexRevisionOf(indexKey: Buffer): Revision {
  return readNumber(indexKey, indexKey.length - numberBytes) as Revision;
}

export function decodeIndexPrefix(prefix: Buffer): string {
  if (!prefix.includes(0)) return decodeKey(prefix);
  const bytes = [...prefix].filter((byte, index) => !(byte === 0xff && prefix[index - 1] === 0));
  return decodeKey(Buffer.from(bytes));
}

const putKind = 1;
const deleteKind = 0;
const indexPut: Buffer = Buffer.from([putKind]);
const indexDelete: Buffer = Buffer.from([deleteKind]);

export function encodeIndexValue(type: VersionRow['type']): Buffer {
  return type === 'put' ? indexPut : indexDelete;
}

export function isLiveIndexValue(value: Buffer): boolean {
  return value[0] === putKind;
}

/** Encodes a row of the event log: kind, create revision, previous revision, lease, length of the key, key, value. */
export function encodeVersion(row: VersionRow): Buffer {
  const keyBytes = Buffer.byteLength(row.key, 'utf8');
  const bytes = Buffer.allocUnsafe(headerBytes + keyBytes + row.value.length);
  bytes[0] = row.type === 'put' ? putKind : deleteKind;
  writeNumber(bytes, row.createRevision, 1);
  writeNumber(bytes, row.previousRevision, 1 + numberBytes);
  writeNumber(bytes, row.lease, 1 + 2 * numberBytes);
  bytes.writeUInt16BE(keyBytes, headerBytes - 2);
  bytes.write(row.key, headerBytes, 'utf8');
  bytes.set(row.value, headerBytes + keyBytes);
  return bytes;
}

/** Reads a row of the event log. The value is a view of `bytes`, which must not be reused. */
export function decodeVersion(bytes: Buffer, revision: Revision): VersionRow {
  const valueAt = headerBytes + bytes.readUInt16BE(headerBytes - 2);
  return {
    type: bytes[0] === putKind ? 'put' : 'delete',
    key: bytes.toString('utf8', headerBytes, valueAt),
    revision,
    createRevision: readNumber(bytes, 1) as Revision,
    previousRevision: readNumber(bytes, 1 + numberBytes) as Revision,
    lease: readNumber(bytes, 1 + 2 * numberBytes),
    value: bytes.subarray(valueAt),
  };
}

export function toKeyValue(row: VersionRow): KeyValue {
  return {
    key: row.key,
    value: row.value,
    createRevision: row.createRevision,
    modRevision: row.revision,
    lease: row.lease,
  };
}

export function encodeCurrent(row: CurrentRow): Buffer {
  const bytes = Buffer.allocUnsafe(3 * numberBytes);
  writeNumber(bytes, row.modRevision, 0);
  writeNumber(bytes, row.createRevision, numberBytes);
  writeNumber(bytes, row.lease, 2 * numberBytes);
  return bytes;
}

export function decodeCurrent(bytes: Buffer): CurrentRow {
  return {
    modRevision: readNumber(bytes, 0) as Revision,
    createRevision: readNumber(bytes, numberBytes) as Revision,
    lease: readNumber(bytes, 2 * numberBytes),
  };
}

export function encodeLease(row: LeaseRow): Buffer {
  return Buffer.concat([encodeNumber(row.ttlSeconds), encodeNumber(row.expiresAtMs)]);
}

export function decodeLease(bytes: Buffer): LeaseRow {
  return { ttlSeconds: readNumber(bytes, 0), expiresAtMs: readNumber(bytes, numberBytes) };
}

/** Returns the key of the entry that binds a key to a lease. It sorts after that lease and before the next one. */
export function encodeBinding(lease: number, key: string): Buffer {
  return Buffer.concat([encodeNumber(lease), encodeKey(key)]);
}

/** Returns the bound key, or undefined when the entry is the lease itself. */
export function decodeBinding(bytes: Buffer): string | undefined {
  return bytes.length === numberBytes ? undefined : decodeKey(bytes.subarray(numberBytes));
}

/** The value of a binding entry. It means nothing, but LMDB requires one. */
export const bindingValue: Buffer = Buffer.from([1]);
