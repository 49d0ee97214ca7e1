// Reads the whole store and reports where its tables disagree. Run by tests after each test and by `kapstan store
// check`. Nobody may write meanwhile: lmdb-engine.ts holds commits back.

import type { Revision } from '@kapstan/api';
import { messageOf } from '@kapstan/api/internal';
import type { Environment, Table } from './environment.ts';
import {
  type CurrentRow,
  decodeBinding,
  decodeCurrent,
  decodeIndexPrefix,
  decodeNumber,
  encodeBinding,
  encodeKey,
  indexPrefixOf,
  indexRevisionOf,
  isLiveIndexValue,
  type VersionRow,
} from './row-codec.ts';
import type { TurnQueue } from './turn-queue.ts';
import { readVersion } from './version-reader.ts';

/** The result of a check of the embedded store. */
export interface CheckReport {
  readonly revision: Revision;
  readonly compactRevision: Revision;
  /** Number of keys that exist now. */
  readonly keys: number;
  /** Number of versions in the event log, deletes included. */
  readonly versions: number;
  readonly leases: number;
  /** One sentence per problem, at most `maxProblems`; empty when there is none. */
  readonly problems: readonly string[];
}

/** Throws when the program that writes such values could not read this one. */
export type ReadValue = (key: string, value: Uint8Array) => void;

const maxProblems = 100;
const rowsAtOnce = 1_000;

/** Checks all tables. `readValue` is called with the present value of each key. */
export async function checkStore(env: Environment, turns: TurnQueue, readValue?: ReadValue): Promise<CheckReport> {
  const check = new Check(env, readValue);
  await scan(env.index, turns, (key, value) => check.indexEntry(key, value));
  check.endKey();
  await scan(env.log, turns, (key) => check.logEntry(key));
  await scan(env.current, turns, (key, value) => check.currentEntry(key, value));
  await scan(env.leases, turns, (key) => check.leaseEntry(key));
  return check.report();
}

/** Visits all entries of a table in order, some per turn. */
async function scan(table: Table, turns: TurnQueue, visit: (key: Buffer, value: Buffer) => void): Promise<void> {
  let start: Buffer = Buffer.alloc(0);
  await turns.run(() => {
    let rows = 0;
    for (const { key, value } of table.getRange({ start })) {
      if (rows === rowsAtOnce) {
        start = key;
        return false;
      }
      rows += 1;
      visit(key, value);
    }
    return true;
  });
}

class Check {
  readonly #env: Environment;
  readonly #readValue: ReadValue;
  readonly #revision: Revision;
  readonly #compactRevision: Revision;
  readonly #isSwept: boolean;
  readonly #problems: string[] = [];
  readonly #seen = { versions: 0, logRows: 0, liveKeys: 0, keys: 0, boundKeys: 0, bindings: 0, leases: 0 };
  #prefix: Buffer | undefined;
  #last: VersionRow | undefined;
  #lastLease = 0;

  constructor(env: Environment, readValue: ReadValue = () => undefined) {
    this.#env = env;
    this.#readValue = readValue;
    this.#revision = env.snapshotRevision();
    this.#compactRevision = env.meta('compactRevision') as Revision;
    this.#isSwept = env.meta('compactedThrough') === this.#compactRevision;
    this.#expect(this.#compactRevision <= this.#revision, 'the compact revision is above the last revision');
  }

  indexEntry(key: Buffer, value: Buffer): void {
    const prefix = indexPrefixOf(key);
    if (this.#prefix === undefined || !this.#prefix.equals(prefix)) {
      this.endKey();
      this.#prefix = prefix;
    }
    this.#seen.versions += 1;
    const revision = indexRevisionOf(key);
    const row = readVersion(this.#env, revision);
    const where = `${decodeIndexPrefix(prefix)} at ${revision}`;
    if (row === undefined) return this.#problem(`${where} is in the index but not in the log`);
    this.#expect(row.key === decodeIndexPrefix(prefix), `${where}: the log has another key, ${row.key}`);
    this.#expect((row.type === 'put') === isLiveIndexValue(value), `${where}: index and log disagree on put or delete`);
    this.#expect(revision <= this.#revision, `${where} is above the last revision ${this.#revision}`);
    this.#checkSuccession(row, where);
    this.#last = row;
  }

  /** Compares the last version of a key with the table of current keys. */
  endKey(): void {
    const row = this.#last;
    this.#last = undefined;
    if (row === undefined) return;
    const bytes = this.#env.current.get(encodeKey(row.key));
    if (row.type === 'delete') return this.#expect(bytes === undefined, `${row.key} is deleted but still current`);
    this.#seen.liveKeys += 1;
    this.#checkValue(row);
    if (bytes === undefined) return this.#problem(`${row.key} lives at ${row.revision} but is not current`);
    this.#expect(
      isSame(decodeCurrent(bytes), row),
      `${row.key}: the current entry is not its version at ${row.revision}`,
    );
  }

  #checkValue({ key, revision, value }: VersionRow): void {
    try {
      this.#readValue(key, value);
    } catch (error) {
      this.#problem(`${key} at ${revision}: its value cannot be read: ${reasonOf(error)}`);
    }
  }

  logEntry(key: Buffer): void {
    this.#seen.logRows += 1;
    const revision = decodeNumber(key);
    this.#expect(revision <= this.#revision, `the log has revision ${revision}, above the last one ${this.#revision}`);
  }

  currentEntry(key: Buffer, value: Buffer): void {
    this.#seen.keys += 1;
    const { lease } = decodeCurrent(value);
    if (lease === 0) return;
    this.#seen.boundKeys += 1;
    const text = key.toString('utf8');
    this.#expect(
      this.#env.leases.doesExist(encodeBinding(lease, text)),
      `${text} has lease ${lease} but is not bound to it`,
    );
  }

  leaseEntry(key: Buffer): void {
    const lease = decodeNumber(key);
    const bound = decodeBinding(key);
    if (bound === undefined) {
      this.#lastLease = lease;
      this.#seen.leases += 1;
      return;
    }
    this.#seen.bindings += 1;
    this.#expect(lease === this.#lastLease, `${bound} is bound to lease ${lease}, which does not exist`);
    const current = this.#env.current.get(encodeKey(bound));
    const holds = current !== undefined && decodeCurrent(current).lease === lease;
    this.#expect(holds, `${bound} is bound to lease ${lease} but does not have it`);
  }

  report(): CheckReport {
    const { versions, logRows, liveKeys, keys, boundKeys, bindings, leases } = this.#seen;
    this.#expect(versions === logRows, `the index has ${versions} versions, the log ${logRows}`);
    this.#expect(liveKeys === keys, `the index has ${liveKeys} live keys, the table of current keys ${keys}`);
    this.#expect(boundKeys === bindings, `${boundKeys} keys have a lease, ${bindings} are bound to one`);
    return {
      revision: this.#revision,
      compactRevision: this.#compactRevision,
      keys,
      versions,
      leases,
      problems: this.#problems,
    };
  }

  #checkSuccession(row: VersionRow, where: string): void {
    const before = this.#last;
    const isCompacted = row.revision <= this.#compactRevision;
    if (this.#isSwept && isCompacted) {
      this.#expect(row.type === 'put', `${where} is a delete that compaction should have dropped`);
      this.#expect(before === undefined, `${where} has an older version that compaction should have dropped`);
    }
    if (before?.type === 'put') {
      this.#expect(row.previousRevision === before.revision, `${where} does not follow on ${before.revision}`);
      this.#expect(row.createRevision === before.createRevision, `${where} has another create revision than before`);
    } else if (row.previousRevision === 0) {
      this.#expect(
        row.createRevision === row.revision,
        `${where} begins a life but was created at ${row.createRevision}`,
      );
    } else {
      const isGone = row.previousRevision < this.#compactRevision && before === undefined;
      this.#expect(isGone, `${where} follows on ${row.previousRevision}, which is missing`);
    }
  }

  #expect(holds: boolean, problem: string): void {
    if (!holds) this.#problem(problem);
  }

  #problem(text: string): void {
    if (this.#problems.length < maxProblems) this.#problems.push(text);
  }
}

/** Returns only the first line, because parsers quote text that they could not read. */
function reasonOf(error: unknown): string {
  return messageOf(error).split('\n', 1).join('');
}

function isSame(current: CurrentRow, row: VersionRow): boolean {
  return (
    current.modRevision === row.revision && current.createRevision === row.createRevision && current.lease === row.lease
  );
}
