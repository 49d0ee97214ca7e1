// CommitLoad runs writers, readers and watchers on engines over one store, and records their answers. See
// commit-history.ts.
import type { Revision } from '@kapstan/api';
import { type Engine, type EngineEvent, type EngineWatch, isStorageError } from '@kapstan/storage';
import type { CommitHistory, CommitRecord, ReadRecord, SeenChange, WatchRecord } from './commit-history.ts';

export interface CommitLoadOptions {
  /** Distributed among the writers. Watches use the first one unless they name another. */
  readonly engines: readonly [Engine, ...Engine[]];
  readonly random: () => number;
  /** Number of concurrent writers. From time to time, each reads the key that it writes. */
  readonly writers: number;
  readonly keys: number;
  /** Prefix of the keys. Ends in "/". */
  readonly prefix: string;
  /** Minimum size of a value. Default: just enough to make it unique. */
  readonly valueBytes?: number;
}

export interface LoadWatchOptions {
  /** Default: from now on. */
  readonly after?: number;
  /** Default: the first engine. */
  readonly engine?: Engine;
}

interface Ask {
  readonly engine: Engine;
  readonly id: string;
  readonly expectedRevision: number;
  readonly isDelete?: boolean;
}

interface OpenWatch {
  readonly name: string;
  readonly after: number;
  readonly seen: SeenChange[];
  readonly watch: EngineWatch;
  reached: number;
  error?: Error;
  onChange: () => void;
}

export class CommitLoad {
  readonly #options: CommitLoadOptions;
  readonly #range: { readonly start: string; readonly end: string };
  readonly #commits: CommitRecord[] = [];
  readonly #reads: ReadRecord[] = [];
  readonly #watches: OpenWatch[] = [];
  readonly #states = new Map<string, number>();
  #writing: Promise<void>[] = [];
  #isStopped = false;
  #acknowledged = 0;
  #lastId = 0;
  #onRecord: () => void = () => undefined;

  constructor(options: CommitLoadOptions) {
    this.#options = options;
    const { prefix } = options;
    this.#range = { start: prefix, end: `${prefix.slice(0, -1)}0` };
  }

  get counts(): Readonly<Record<CommitRecord['outcome']['type'], number>> {
    const counts = { acknowledged: 0, refused: 0, unknown: 0 };
    for (const { outcome } of this.#commits) counts[outcome.type] += 1;
    return counts;
  }

  get newestAcknowledged(): number {
    return this.#acknowledged;
  }

  start(): void {
    const { writers, engines } = this.#options;
    this.#writing = Array.from({ length: writers }, (_, index) =>
      this.#write(engines[index % engines.length] ?? engines[0]),
    );
  }

  /** Starts a watch that becomes part of the history. */
  watch(name: string, options: LoadWatchOptions = {}): void {
    const { after = this.#acknowledged, engine = this.#options.engines[0] } = options;
    const seen: SeenChange[] = [];
    const sink = {
      onEvents: (events: readonly EngineEvent[], revision: Revision) => {
        for (const event of events) seen.push(toSeen(event));
        open.reached = revision;
        open.onChange();
      },
      onProgress: () => undefined,
      onError: (error: Error) => {
        open.error = error;
        open.onChange();
      },
    };
    const watch = engine.watch(this.#range, { after: after as Revision }, sink);
    const open: OpenWatch = { name, after, seen, watch, reached: after, onChange: () => undefined };
    this.#watches.push(open);
  }

  /** Resolves when this many more commits were acknowledged. */
  acknowledges(count: number): Promise<void> {
    const goal = this.counts.acknowledged + count;
    return this.#until(() => this.counts.acknowledged >= goal);
  }

  /** Resolves when the watch has received everything acknowledged so far, or to its error when it ended. */
  async delivered(name: string): Promise<Error | undefined> {
    const open = this.#watches.find((each) => each.name === name);
    if (open === undefined) throw new Error(`no watch is called ${name}`);
    await reaches(open, this.#acknowledged);
    return open.error;
  }

  /** Resolves when this many more commits had any outcome. */
  answers(count: number): Promise<void> {
    const goal = this.#commits.length + count;
    return this.#until(() => this.#commits.length >= goal);
  }

  /**
   * Ends the writers, waits until every watch has everything, and returns the whole history. The log contains the
   * events of a new watch from the beginning; if that is compacted, it contains those of the named watch.
   */
  async stop({ log: nameOfLog }: { readonly log?: string } = {}): Promise<CommitHistory> {
    this.#isStopped = true;
    await Promise.all(this.#writing);
    // The last write is an end that every watch must reach, whatever became of the lost commits.
    const key = `${this.#options.prefix}end`;
    const [engine] = this.#options.engines;
    const end = await this.#commit(key, { engine, id: this.#nextId(), expectedRevision: 0 });
    if (end.outcome.type !== 'acknowledged') throw new Error(`the last commit was ${end.outcome.type}`);
    const { revision } = end.outcome;
    const watches = [...this.#watches];
    if (nameOfLog === undefined) this.watch('the log', { after: 0 });
    await Promise.all(this.#watches.map((open) => reaches(open, revision)));
    for (const { watch } of this.#watches) watch.close();
    const log = nameOfLog === undefined ? this.#watches.at(-1) : watches.find(({ name }) => name === nameOfLog);
    if (log === undefined || log.error !== undefined) throw new Error('there is no log', { cause: log?.error });
    return { commits: this.#commits, reads: this.#reads, watches: watches.map(toRecord), log: log.seen };
  }

  #until(isReached: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#onRecord = () => {
        if (isReached()) resolve();
      };
    });
  }

  async #write(engine: Engine): Promise<void> {
    const { random, keys, prefix } = this.#options;
    while (!this.#isStopped) {
      const key = `${prefix}${Math.floor(random() * keys)}`;
      const expectedRevision = this.#states.get(key) ?? 0;
      const isDelete = expectedRevision > 0 && random() < 0.2;
      await this.#commit(key, { engine, id: this.#nextId(), expectedRevision, isDelete });
      if (random() < 0.1) await this.#read(engine, key);
    }
  }

  async #commit(key: string, { engine, id, expectedRevision, isDelete = false }: Ask): Promise<CommitRecord> {
    const type = isDelete ? 'delete' : 'put';
    const value = Buffer.from(id.padEnd(this.#options.valueBytes ?? 0));
    const change = isDelete ? ({ type: 'delete' } as const) : ({ type: 'put', value } as const);
    const note = (outcome: CommitRecord['outcome']): CommitRecord => {
      const record = { id, key, type, expectedRevision, outcome } as const;
      this.#commits.push(record);
      this.#onRecord();
      return record;
    };
    try {
      const result = await engine.commit({ key, expectedRevision: expectedRevision as Revision, change });
      if (!result.succeeded) {
        this.#states.set(key, result.current?.modRevision ?? 0);
        return note({ type: 'refused' });
      }
      this.#acknowledged = Math.max(this.#acknowledged, result.revision);
      this.#states.set(key, isDelete ? 0 : result.revision);
      return note({ type: 'acknowledged', revision: result.revision });
    } catch (error) {
      if (!isStorageError(error, 'Unreachable')) throw error;
      // The next refusal reveals its outcome.
      return note({ type: error.maybeApplied ? 'unknown' : 'refused' });
    }
  }

  async #read(engine: Engine, key: string): Promise<void> {
    const acknowledgedBefore = this.#acknowledged;
    try {
      const { revision, kv } = await engine.get(key);
      this.#reads.push({ key, revision, modRevision: kv?.modRevision ?? 0, acknowledgedBefore });
    } catch (error) {
      if (!isStorageError(error, 'Unreachable')) throw error;
    }
  }

  #nextId(): string {
    this.#lastId += 1;
    return `c${this.#lastId}`;
  }
}

function toRecord({ name, after, seen, error }: OpenWatch): WatchRecord {
  return { name, after, seen, ...(error === undefined ? {} : { error }) };
}

function toSeen({ type, key, revision, kv, previous }: EngineEvent): SeenChange {
  const previousRevision = previous?.modRevision ?? (kv?.createRevision === revision ? 0 : undefined);
  return {
    revision,
    key,
    type,
    ...(previousRevision === undefined ? {} : { previousRevision }),
    ...(kv === undefined ? {} : { id: Buffer.from(kv.value).toString().trimEnd() }),
  };
}

function reaches(open: OpenWatch, revision: number): Promise<void> {
  return new Promise((resolve) => {
    open.onChange = () => {
      if (open.reached >= revision || open.error !== undefined) resolve();
    };
    open.onChange();
  });
}
