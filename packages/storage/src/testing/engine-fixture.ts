// EngineFixture contains the functions besides the port that the engine suites need from an engine; EngineBench has the
// short calls of their tests. Fixtures are implemented next to each engine; engine-conformance.ts and engine-model.ts
// use them.
import type { Revision } from '@kapstan/api';
import { afterEach, beforeEach, expect } from 'vitest';
import type { Commit, CommitResult, Engine, EngineWatchOptions, KeyRange, KeyValue } from '../engine.ts';
import { WatchRecorder } from './engine-recorder.ts';

/** One engine under test that is not shared. */
export interface EngineFixture {
  readonly engine: Engine;
  /** Lets this much time pass for leases, by a virtual clock or by waiting. Absent = tests of expiry are skipped. */
  elapse?(ms: number): Promise<void>;
  /** Lifetime of the leases that programs grant. Default 100; a few seconds where leases run in real time. */
  readonly leaseSeconds?: number;
  /** Closes the engine, opens another one on the same data and assigns it to `engine`. Absent where nothing is kept. */
  reopen?(): Promise<void>;
  /**
   * Opens an engine on the data that are on disk in the turn of the call, as after a kill, and assigns it to `engine`.
   * Absent = nothing is kept.
   */
  crash?(): Promise<void>;
  /** Throws when the store contradicts itself. Called after every test. */
  check?(): Promise<void>;
  /** Closes the engine and removes its data. */
  dispose(): Promise<void>;
}

export type OpenEngine = () => Promise<EngineFixture>;

export const everything: KeyRange = { start: '/', end: '0' };
export const revisionOf = (value: number): Revision => value as Revision;
export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const textOf = (kv: KeyValue | undefined): string | undefined => kv && new TextDecoder().decode(kv.value);

/** The fixture of the running test: opened before it, checked and disposed after it. */
export class EngineBench {
  #fixture: EngineFixture | undefined;
  readonly #recorders: WatchRecorder[] = [];

  constructor(open: OpenEngine) {
    beforeEach(async () => {
      this.#fixture = await open();
    });
    afterEach(async () => {
      for (const recorder of this.#recorders.splice(0)) {
        recorder.verify();
        recorder.close();
      }
      const fixture = this.#fixture;
      this.#fixture = undefined;
      try {
        await fixture?.check?.();
      } finally {
        await fixture?.dispose();
      }
    });
  }

  get fixture(): EngineFixture {
    if (this.#fixture === undefined) throw new Error('no test is running');
    return this.#fixture;
  }

  get engine(): Engine {
    return this.fixture.engine;
  }

  commit(commit: Commit): Promise<CommitResult> {
    return this.engine.commit(commit);
  }

  /** Makes a commit that must succeed and resolves to its revision. */
  async apply(key: string, expectedRevision: number, change: Commit['change']): Promise<Revision> {
    const result = await this.engine.commit({ key, expectedRevision: revisionOf(expectedRevision), change });
    expect(result.succeeded, `commit of ${key} at ${expectedRevision}`).toBe(true);
    return result.revision;
  }

  create(key: string, value = 'v', lease = 0): Promise<Revision> {
    return this.apply(key, 0, { type: 'put', value: bytes(value), lease });
  }

  update(key: string, expectedRevision: number, value = 'v'): Promise<Revision> {
    return this.apply(key, expectedRevision, { type: 'put', value: bytes(value) });
  }

  remove(key: string, expectedRevision: number): Promise<Revision> {
    return this.apply(key, expectedRevision, { type: 'delete' });
  }

  /** Creates the keys from /k00000 upwards, all at the same time. */
  createMany(count: number, value = 'v'): Promise<Revision[]> {
    return Promise.all(Array.from({ length: count }, (_, index) => this.create(numbered(index), value)));
  }

  async keys(range: KeyRange = everything, revision = 0): Promise<string[]> {
    const { kvs } = await this.engine.range(range, { revision: revisionOf(revision) });
    return kvs.map((kv) => kv.key);
  }

  watch(after: number, options: Partial<EngineWatchOptions> & { readonly range?: KeyRange } = {}): WatchRecorder {
    const { range = everything, ...rest } = options;
    const recorder = WatchRecorder.start(this.engine, range, { ...rest, after: revisionOf(after) });
    this.#recorders.push(recorder);
    return recorder;
  }
}

export const numbered = (index: number): string => `/k${String(index).padStart(5, '0')}`;
