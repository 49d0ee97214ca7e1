// Reads single versions from the tables: a key's newest, the one written at a revision, the newest at or below a
// revision. Synchronous, so each call sees one snapshot. Used by range-reader.ts, commit-batch.ts, lease-book.ts,
// watch-feed.ts and check.ts.
import type { Revision } from '@kapstan/api';
import type { KeyValue } from '@kapstan/storage';
import { StorageError } from '@kapstan/storage';
import type { Environment } from './environment.ts';
import {
  decodeCurrent,
  decodeVersion,
  encodeIndexKey,
  encodeKey,
  encodeNumber,
  indexRevisionOf,
  isLiveIndexValue,
  toKeyValue,
  type VersionRow,
} from './row-codec.ts';

/** Returns the version written at exactly this revision; undefined when it is compacted. */
export function readVersion(env: Environment, revision: Revision): VersionRow | undefined {
  const bytes = env.log.get(encodeNumber(revision));
  return bytes === undefined ? undefined : decodeVersion(bytes, revision);
}

/**
 * Does what {@link readVersion} does for a version that the index or the table of current keys refers to. Throws
 * `Corrupt` when it is missing.
 */
export function readReferenced(env: Environment, revision: Revision): KeyValue {
  const row = readVersion(env, revision);
  if (row !== undefined) return toKeyValue(row);
  throw new StorageError({ code: 'Corrupt', revision, message: `the event log has no entry for revision ${revision}` });
}

/** Returns the key in the present snapshot. */
export function readCurrent(env: Environment, key: string): KeyValue | undefined {
  const bytes = env.current.get(encodeKey(key));
  return bytes === undefined ? undefined : readReferenced(env, decodeCurrent(bytes).modRevision);
}

/** Returns the key as it was at the revision, which must not be compacted. */
export function readAt(env: Environment, key: string, revision: Revision): KeyValue | undefined {
  const found = newestIndexEntry(env, key, revision);
  return found?.isLive ? readReferenced(env, found.revision) : undefined;
}

export interface IndexEntry {
  readonly revision: Revision;
  readonly isLive: boolean;
}

/** Returns the key's newest entry at or below the revision. */
export function newestIndexEntry(env: Environment, key: string, revision: number): IndexEntry | undefined {
  const bounds = { start: encodeIndexKey(key, revision), end: encodeIndexKey(key, 0), reverse: true, limit: 1 };
  for (const entry of env.index.getRange(bounds)) {
    return { revision: indexRevisionOf(entry.key), isLive: isLiveIndexValue(entry.value) };
  }
  return undefined;
}
