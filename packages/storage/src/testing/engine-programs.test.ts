// The random programs must find faults: each engine here has one, and some program reveals it.
import type { Revision } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import type {
  Commit,
  CommitResult,
  EngineEvent,
  EngineRead,
  EngineWatch,
  EngineWatchOptions,
  EngineWatchSink,
  KeyRange,
  KeyValue,
  RangeOptions,
  RangeResult,
} from '../engine.ts';
import { compareKeys, isInRange } from '../key-range.ts';
import { MemoryEngine } from '../memory-engine.ts';
import { runEnginePrograms, shortestFailingProgram } from './engine-programs.ts';
import { shortestFailing } from './shortest-failing.ts';

const everything: KeyRange = { start: '/', end: '0' };
const isPast = ({ revision = 0 as Revision }: RangeOptions): boolean => revision !== 0;

class DeletesWithoutCompare extends MemoryEngine {
  override async commit(commit: Commit): Promise<CommitResult> {
    const { kv } = await super.get(commit.key);
    const isDelete = commit.change.type === 'delete' && kv !== undefined;
    return super.commit(isDelete ? { ...commit, expectedRevision: kv.modRevision } : commit);
  }
}

class ForgetsCreateRevision extends MemoryEngine {
  override async get(key: string, options?: RangeOptions): Promise<EngineRead> {
    const read = await super.get(key, options);
    return read.kv === undefined ? read : { ...read, kv: { ...read.kv, createRevision: read.kv.modRevision } };
  }
}

/** Its watches do not know the previous state for the first revision after their start. */
class LosesFirstPrevious extends MemoryEngine {
  override watch(range: KeyRange, options: EngineWatchOptions, sink: EngineWatchSink): EngineWatch {
    const strip = ({ previous: _lost, ...event }: EngineEvent): EngineEvent => event;
    return super.watch(range, options, {
      onEvents: (events, revision) =>
        sink.onEvents(revision === options.after + 1 ? events.map(strip) : events, revision),
      onProgress: (revision) => sink.onProgress(revision),
      onError: (error) => sink.onError(error),
    });
  }
}

class ReadsPastOneTooNew extends MemoryEngine {
  override async range(range: KeyRange, options: RangeOptions = {}): Promise<RangeResult> {
    const newest = await this.currentRevision();
    const { revision = 0 as Revision } = options;
    const isShifted = isPast(options) && revision < newest && revision >= this.compactRevision();
    return super.range(range, isShifted ? { ...options, revision: (revision + 1) as Revision } : options);
  }
}

/** Its lists keep the keys of expired leases until they are written again. */
class ListsExpired extends MemoryEngine {
  readonly #ghosts = new Map<string, KeyValue>();
  readonly #deleting = new Set<string>();

  constructor(options: { readonly clock: VirtualClock }) {
    super(options);
    const note = ({ type, key, previous }: EngineEvent): void => {
      const hasExpired = type === 'delete' && previous !== undefined && !this.#deleting.delete(key);
      if (hasExpired) this.#ghosts.set(key, previous);
      else this.#ghosts.delete(key);
    };
    const sink = { onEvents: (events: readonly EngineEvent[]) => events.forEach(note) };
    super.watch(
      everything,
      { after: 0 as Revision },
      { ...sink, onProgress: () => undefined, onError: () => undefined },
    );
  }

  override async commit(commit: Commit): Promise<CommitResult> {
    if (commit.change.type === 'delete') this.#deleting.add(commit.key);
    const result = await super.commit(commit);
    if (!result.succeeded) this.#deleting.delete(commit.key);
    return result;
  }

  override async range(range: KeyRange, options: RangeOptions = {}): Promise<RangeResult> {
    const result = await super.range(range, options);
    const ghosts = [...this.#ghosts.values()].filter((kv) => isInRange(range, kv.key));
    if (isPast(options) && options.revision !== result.revision) return result;
    const kvs = [...result.kvs, ...ghosts].sort((a, b) => compareKeys(a.key, b.key));
    return { ...result, kvs, count: result.count + ghosts.length };
  }
}

/** Its compaction also drops the version that reads at the compacted revision still need, if a later one exists. */
class CompactsTooMuch extends MemoryEngine {
  override async get(key: string, options: RangeOptions = {}): Promise<EngineRead> {
    const read = await super.get(key, options);
    const newest = (await super.get(key)).kv?.modRevision;
    const isGone = isPast(options) && (read.kv?.modRevision ?? 0) <= this.compactRevision();
    return isGone && read.kv?.modRevision !== newest ? { revision: read.revision } : read;
  }
}

class SaysMoreAtTheLimit extends MemoryEngine {
  override async range(range: KeyRange, options: RangeOptions = {}): Promise<RangeResult> {
    const result = await super.range(range, options);
    return { ...result, more: result.kvs.length > 0 && result.kvs.length === options.limit };
  }
}

class CountsOnlyWhatItReturns extends MemoryEngine {
  override async range(range: KeyRange, options?: RangeOptions): Promise<RangeResult> {
    const result = await super.range(range, options);
    return { ...result, count: result.kvs.length };
  }
}

class ReadsCompacted extends MemoryEngine {
  override async range(range: KeyRange, options: RangeOptions = {}): Promise<RangeResult> {
    const { revision = 0 as Revision } = options;
    const isTooOld = isPast(options) && revision < this.compactRevision();
    return super.range(range, isTooOld ? { ...options, revision: this.compactRevision() } : options);
  }
}

describe('the random programs', () => {
  it.each([
    ['deletes without a compare', DeletesWithoutCompare],
    ['does not keep the create revision over an update', ForgetsCreateRevision],
    ['misses the previous state at the first revision of a watch', LosesFirstPrevious],
    ['shows a newer value in a range of the past', ReadsPastOneTooNew],
    ['leaves keys of an expired lease in its lists', ListsExpired],
    ['drops the last version that a read at the compact revision needs', CompactsTooMuch],
    ['says that there is more when the limit is just reached', SaysMoreAtTheLimit],
    ['counts what it returns and not what there is', CountsOnlyWhatItReturns],
    ['answers a range that is compacted', ReadsCompacted],
  ])('find an engine that %s, within 1,000', async (_, Faulty) => {
    const open = async () => {
      const clock = new VirtualClock();
      const engine = new Faulty({ clock });
      return { engine, elapse: (ms: number) => clock.advance(ms), dispose: () => engine.close() };
    };
    const run = await runEnginePrograms(open, { programs: 1_000 });
    expect(run.failed, `seed ${run.seed}`).toBe(true);
    const [program = []] = run.counterexample ?? [];
    expect((await shortestFailingProgram(open, program)).length).toBeLessThan(program.length);
  });

  it('are cut down to the steps that fail together, in bounded time', async () => {
    const numbers = Array.from({ length: 50 }, (_, i) => i);
    const failing = async (steps: readonly number[]): Promise<boolean> => steps.includes(7) && steps.includes(33);
    expect(await shortestFailing(numbers, failing)).toEqual([7, 33]);
    let tries = 0;
    const never = async (): Promise<boolean> => {
      tries += 1;
      return false;
    };
    const long = Array.from({ length: 5_000 }, (_, i) => i);
    expect(await shortestFailing(long, never)).toEqual(long);
    expect(tries).toBe(300);
  });
});
