// Batch collects the changes of one transaction: compares, revisions, rows and events. Made by committer.ts; reads
// through version-reader.ts.
import type { Revision } from '@kapstan/api';
import { type Commit, type CommitResult, type EngineEvent, type KeyValue, StorageError } from '@kapstan/storage';
import { type Environment, WriteSet } from './environment.ts';
import {
  bindingValue,
  encodeBinding,
  encodeCurrent,
  encodeIndexKey,
  encodeIndexValue,
  encodeKey,
  encodeNumber,
  encodeVersion,
  toKeyValue,
  type VersionRow,
} from './row-codec.ts';
import { readCurrent } from './version-reader.ts';

export interface BatchContext {
  /** Returns true when the lease was granted and has not expired. */
  readonly hasLease: (lease: number) => boolean;
}

/** One change for a transaction. Its caller hears of it through `done`, when it is durable, or through `reject`. */
export interface BatchJob {
  /** Runs synchronously. When it throws, nothing of it is in the batch. */
  apply(batch: Batch): void;
  done(): void;
  reject(error: unknown): void;
}

const none = 0 as Revision;
const noValue = new Uint8Array(0);

export class Batch {
  readonly writes: WriteSet = new WriteSet();
  readonly events: EngineEvent[] = [];
  readonly env: Environment;
  readonly #context: BatchContext;
  readonly #first: Revision;
  /** Keys that this batch has changed. No snapshot has them yet. */
  readonly #changed: Map<string, KeyValue | undefined> = new Map();
  #revision: Revision;

  constructor(env: Environment, context: BatchContext, revision: Revision) {
    this.env = env;
    this.#context = context;
    this.#first = revision;
    this.#revision = revision;
  }

  /** The last revision issued. */
  get revision(): Revision {
    return this.#revision;
  }

  read(key: string): KeyValue | undefined {
    return this.#changed.has(key) ? this.#changed.get(key) : readCurrent(this.env, key);
  }

  commit(commit: Commit): CommitResult {
    const { key, change } = commit;
    const before = this.read(key);
    const isExpected = (before?.modRevision ?? none) === commit.expectedRevision;
    if (!isExpected || (change.type === 'delete' && before === undefined)) {
      return { succeeded: false, revision: this.#revision, current: before };
    }
    const lease = change.type === 'put' ? (change.lease ?? 0) : 0;
    if (lease !== 0 && !this.#context.hasLease(lease)) {
      throw new StorageError({ code: 'InvalidObject', key, message: `lease ${lease} not found` });
    }
    const revision = this.#nextRevision();
    this.#apply(before, {
      type: change.type,
      key,
      revision,
      createRevision: before?.createRevision ?? revision,
      previousRevision: before?.modRevision ?? none,
      lease,
      value: change.type === 'put' ? change.value : noValue,
    });
    return { succeeded: true, revision, previous: before };
  }

  /** Adds all changes of a job to the batch, or none if it throws. The transaction's other changes are unaffected. */
  attempt(job: BatchJob): void {
    const [operations, bytes, events] = [this.writes.operations.length, this.writes.bytes, this.events.length];
    const revision = this.#revision;
    try {
      job.apply(this);
    } catch (error) {
      this.writes.truncate(operations, bytes);
      this.events.length = events;
      this.#revision = revision;
      // Rebuild the changed keys from the events: each change of a key has one.
      this.#changed.clear();
      for (const event of this.events) this.#changed.set(event.key, event.kv);
      throw error;
    }
  }

  finish(): void {
    if (this.#revision !== this.#first) this.env.putMeta(this.writes, 'revision', this.#revision);
  }

  // Invariant: revisions rise by one, and only here. The last one is stored with the rows, so none is issued twice
  // (I11).
  #nextRevision(): Revision {
    this.#revision = (this.#revision + 1) as Revision;
    return this.#revision;
  }

  #apply(before: KeyValue | undefined, row: VersionRow): void {
    const { env, writes } = this;
    const bytes = encodeVersion(row);
    writes.put(env.log, encodeNumber(row.revision), bytes);
    writes.put(env.index, encodeIndexKey(row.key, row.revision), encodeIndexValue(row.type));
    if (row.type === 'put')
      writes.put(env.current, encodeKey(row.key), encodeCurrent({ ...row, modRevision: row.revision }));
    else writes.remove(env.current, encodeKey(row.key));
    this.#bind(row.key, before?.lease ?? 0, row.lease);
    // The event's value is our own copy, because the caller may reuse its buffer.
    const copy = bytes.subarray(bytes.length - row.value.length);
    const after = row.type === 'put' ? toKeyValue({ ...row, value: copy }) : undefined;
    this.#changed.set(row.key, after);
    const { type, key, revision } = row;
    this.events.push({ type, key, revision, kv: after, previous: before });
  }

  #bind(key: string, from: number, to: number): void {
    if (from === to) return;
    if (from !== 0) this.writes.remove(this.env.leases, encodeBinding(from, key));
    if (to !== 0) this.writes.put(this.env.leases, encodeBinding(to, key), bindingValue);
  }
}
