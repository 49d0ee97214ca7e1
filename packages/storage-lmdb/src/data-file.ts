// Checks an LMDB data file before LMDB opens it. lmdb-js 3.5 frees memory twice when an open fails (found by a crash in
// env.cpp closeEnv), and pages beyond the end of a cut file kill the process. Used by environment.ts.
import { accessSync, closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';

/** Layout of a meta page in lmdb 0.9.90, as in lmdb-js: a header of 24 bytes, then MDB_meta. */
const magic = 0xbeefc0de;
const dataVersion = 2;
const at = { magic: 24, version: 28, pageSize: 48, freeRoot: 88, mainRoot: 136, txnId: 152 } as const;
const metaBytes = 160;
const noPage = 0xffff_ffff_ffff_ffffn;

/**
 * Returns the reason why the file cannot be opened as a store with this access. Undefined when it can, or when it does
 * not exist yet.
 */
export function findFault(path: string, access: number): string | undefined {
  if (!existsSync(path)) return undefined;
  try {
    accessSync(path, access);
  } catch (error) {
    return `${path}: ${(error as Error).message}`;
  }
  const descriptor = openSync(path, 'r');
  try {
    const size = fstatSync(descriptor).size;
    return size === 0 ? undefined : findFaultIn(descriptor, size);
  } finally {
    closeSync(descriptor);
  }
}

function findFaultIn(descriptor: number, size: number): string | undefined {
  const first = readMeta(descriptor, 0);
  const pageSize = first?.readUInt32LE(at.pageSize) ?? 0;
  const second = first && readMeta(descriptor, pageSize);
  if (first === undefined || second === undefined) return 'it is not an LMDB data file of a known version';
  const newest = first.readBigUInt64LE(at.txnId) > second.readBigUInt64LE(at.txnId) ? first : second;
  for (const offset of [at.freeRoot, at.mainRoot]) {
    const root = newest.readBigUInt64LE(offset);
    if (root !== noPage && (root + 1n) * BigInt(pageSize) > BigInt(size)) return 'the data file is cut short';
  }
  return undefined;
}

function readMeta(descriptor: number, position: number): Buffer | undefined {
  const bytes = Buffer.alloc(metaBytes);
  if (readSync(descriptor, bytes, 0, metaBytes, position) < metaBytes) return undefined;
  const isMeta = bytes.readUInt32LE(at.magic) === magic && bytes.readUInt32LE(at.version) === dataVersion;
  return isMeta ? bytes : undefined;
}
