// Runs random programs on an engine and on engine-model.ts: every answer and every watch must agree. Registered from a
// test file of each engine, like engine-conformance.ts.
import { systemClock } from '@kapstan/api';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EngineEvent, KeyRange, KeyValue } from '../engine.ts';
import { isStorageError } from '../errors/storage-error.ts';
import { type CrashStep, CrashTally, crashStepOf, crashWhileWriting } from './engine-crash.ts';
import { bytes, type EngineFixture, everything, type OpenEngine, revisionOf, textOf } from './engine-fixture.ts';
import { EngineModel, type ModelChange, type ModelKey } from './engine-model.ts';
import { WatchRecorder } from './engine-recorder.ts';
import { shortestFailing } from './shortest-failing.ts';

export interface EngineProgramsOptions {
  /** Number of programs to run, at least 1. Default 1 000. */
  readonly programs?: number;
  /** Minimum and maximum number of steps in a program. Default 40 to 60. */
  readonly minSteps?: number;
  readonly maxSteps?: number;
  /** Seed that repeats the programs of a former run. Default: a new one each time, shown in the test's name. */
  readonly seed?: number;
  /** Time for all programs, in milliseconds. Default 300 000. */
  readonly timeoutMs?: number;
}

const defaults = {
  programs: 1_000,
  minSteps: 40,
  maxSteps: 60,
  timeoutMs: 300_000,
} as const satisfies EngineProgramsOptions;

/** Revision in a program, relative to the newest one: a number of revisions before or after it. */
type Age = number;

type Step =
  | {
      readonly type: 'put';
      readonly key: string;
      readonly expect: Expectation;
      readonly value: number;
      readonly isLeased: boolean;
    }
  | { readonly type: 'delete'; readonly key: string; readonly expect: Expectation }
  | { readonly type: 'get'; readonly key: string; readonly age: Age }
  | { readonly type: 'range'; readonly range: KeyRange; readonly age: Age; readonly limit: number }
  | { readonly type: 'watch'; readonly range: KeyRange; readonly age: Age }
  | { readonly type: 'compact'; readonly age: Age }
  | { readonly type: 'expire' }
  | { readonly type: 'reopen' }
  | CrashStep;

/** The revision that a commit expects: the right one, none, or a wrong one. */
type Expectation = 'right' | 'absent' | 'wrong';

const keys = ['/a', '/a/b', '/b', '/c', '/é', '/\uffee'];
const defaultLeaseSeconds = 100;

const key = fc.constantFrom(...keys);
const value = fc.integer({ min: 0, max: 999 });
const expectation = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Expectation>('right') },
  { weight: 1, arbitrary: fc.constantFrom<Expectation>('absent', 'wrong') },
);
const age = fc.integer({ min: -2, max: 30 });
const range = fc.tuple(key, key).map(([start, end]) => ({ start, end }));
const anyRange = fc.oneof(fc.constant(everything), range);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      type: fc.constant('put' as const),
      key,
      expect: expectation,
      value,
      isLeased: fc.boolean(),
    }),
  },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('delete' as const), key, expect: expectation }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('get' as const), key, age }) },
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('range' as const),
      range: anyRange,
      age,
      limit: fc.integer({ min: 0, max: 4 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('watch' as const), range: anyRange, age }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('compact' as const), age }) },
  { weight: 1, arbitrary: fc.constant<Step>({ type: 'expire' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ type: 'reopen' }) },
  { weight: 1, arbitrary: crashStepOf(key) },
);

/**
 * Number of crashes from which the kills must have hit varied moments; otherwise they were made at the wrong moments.
 */
const tellingCrashes = 100;

/**
 * Registers the test. Steps that the fixture cannot do (`elapse`, `reopen`, `crash`) are left out. If there were many
 * crashes, some must have come before a commit was on disk and some after, or they show nothing.
 */
export function enginePrograms(name: string, open: OpenEngine, options: EngineProgramsOptions = {}): void {
  const { programs, timeoutMs } = { ...defaults, ...options };
  const seed = options.seed ?? Math.floor(Math.random() * 2 ** 31);
  describe(`${name} beside the model`, () => {
    it(`answers like the model in ${programs} random programs (seed ${seed})`, { timeout: timeoutMs }, async () => {
      const tally = new CrashTally();
      const run = await runEnginePrograms(open, { ...options, seed }, tally);
      if (run.failed) throw new Error(await reportOf(open, run), { cause: run.errorInstance });
      if (tally.crashes === 0) return;
      process.stdout.write(`${name}: ${tally}\n`);
      if (tally.crashes < tellingCrashes) return;
      expect(Math.min(tally.told, tally.kept, tally.lost, tally.cut), String(tally)).toBeGreaterThan(0);
    });
  });
}

/**
 * Runs programs until one fails. Resolves to the failed one and how many ran. Counts the outcome of crashes in the
 * tally.
 */
export async function runEnginePrograms(
  open: OpenEngine,
  options: EngineProgramsOptions = {},
  tally: CrashTally = new CrashTally(),
): Promise<fc.RunDetails<[Step[]]>> {
  const { programs, minSteps, maxSteps } = { ...defaults, ...options };
  const steps = fc.array(step, { minLength: minSteps, maxLength: maxSteps, size: 'max' });
  const property = fc.asyncProperty(steps, (program) => runProgram(open, program, tally));
  const seed = options.seed === undefined ? {} : { seed: options.seed };
  return fc.check(property, { ...seed, numRuns: programs, endOnFailure: true });
}

/** Describes the failure with the fewest steps that still fail. */
async function reportOf(open: OpenEngine, run: fc.RunDetails<[Step[]]>): Promise<string> {
  const [program] = run.counterexample ?? [];
  const report = fc.defaultReportMessage(run) ?? '';
  if (program === undefined) return report;
  const steps = await shortestFailingProgram(open, program);
  return `${report}\n\n${steps.length} of its steps fail too:\n${steps.map((each) => fc.stringify(each)).join('\n')}`;
}

/** Removes steps from a failing program. Tries and time are bounded, so a shorter one may exist. */
export function shortestFailingProgram(open: OpenEngine, program: readonly Step[]): Promise<readonly Step[]> {
  const fails = (candidate: readonly Step[]): Promise<boolean> =>
    runProgram(open, candidate, new CrashTally()).then(
      () => false,
      () => true,
    );
  return shortestFailing(program, fails);
}

async function runProgram(open: OpenEngine, program: readonly Step[], tally: CrashTally): Promise<void> {
  const fixture = await open();
  try {
    const { engine } = fixture;
    const model = new EngineModel(await engine.currentRevision(), engine.compactRevision());
    const run = new Program(fixture, model, tally);
    for (const each of program) await run.step(each);
    await run.settleWatches();
    await fixture.check?.();
  } finally {
    await fixture.dispose();
  }
}

interface RunningWatch {
  readonly range: KeyRange;
  readonly after: number;
  readonly recorder: WatchRecorder;
}

class Program {
  readonly #fixture: EngineFixture;
  readonly #model: EngineModel;
  readonly #tally: CrashTally;
  #watches: RunningWatch[] = [];
  #lease = 0;
  #leasedAtMs = 0;
  readonly #leaseSeconds: number;

  constructor(fixture: EngineFixture, model: EngineModel, tally: CrashTally) {
    this.#fixture = fixture;
    this.#leaseSeconds = fixture.leaseSeconds ?? defaultLeaseSeconds;
    this.#model = model;
    this.#tally = tally;
  }

  async step(each: Step): Promise<void> {
    // A lease that runs in real time must not expire in the middle of a step.
    const leasedForMs = this.#lease === 0 ? 0 : systemClock.monotonicNow() - this.#leasedAtMs;
    if (leasedForMs > this.#leaseSeconds * 500) await this.#expire();
    switch (each.type) {
      case 'put':
      case 'delete':
        return this.#commit(each);
      case 'get':
        return this.#get(each.key, this.#revisionOf(each.age));
      case 'range':
        return this.#range(each.range, this.#revisionOf(each.age), each.limit);
      case 'watch':
        return this.#watch(each.range, this.#revisionOf(each.age));
      case 'compact':
        return this.#compact(this.#revisionOf(each.age));
      case 'expire':
        return this.#expire();
      case 'reopen':
        return this.#reopen();
      case 'crash':
        return this.#crash(each);
    }
  }

  /** Waits for the events that each watch must still receive, then compares everything. */
  async settleWatches(): Promise<void> {
    for (const { range: within, after, recorder } of this.#watches) {
      const expected = this.#model.changesAfter(after).filter((change) => isWithin(within, change.key));
      await recorder.received(expected.length);
      recorder.verify();
      expect(recorder.events.map(told)).toEqual(expected.map(toldByModel));
      recorder.close();
    }
    this.#watches = [];
  }

  #revisionOf(ago: Age): number {
    return Math.max(1, this.#model.firstRevision, this.#model.revision - ago);
  }

  async #commit(each: Extract<Step, { type: 'put' | 'delete' }>): Promise<void> {
    const before = this.#model.keyAt(each.key, this.#model.revision);
    // The port leaves open what happens when an absent key is deleted and expected to be absent.
    if (each.type === 'delete' && before === undefined) return;
    const right = before?.modRevision ?? 0;
    const expected = { right, absent: 0, wrong: right + 1 }[each.expect];
    const change = this.#model.commit(each.key, expected, each);
    const lease = each.type === 'put' && each.isLeased && change ? await this.#grant() : 0;
    const result = await this.#fixture.engine.commit({
      key: each.key,
      expectedRevision: revisionOf(expected),
      change: each.type === 'put' ? { type: 'put', value: bytes(String(each.value)), lease } : { type: 'delete' },
    });
    expect([result.succeeded, result.revision]).toEqual([change !== undefined, this.#model.revision]);
    expect(toModel(result.succeeded ? result.previous : result.current)).toEqual(before);
  }

  async #grant(): Promise<number> {
    if (this.#lease === 0) {
      this.#leasedAtMs = systemClock.monotonicNow();
      this.#lease = await this.#fixture.engine.grantLease(this.#leaseSeconds);
    }
    return this.#lease;
  }

  async #get(asked: string, revision: number): Promise<void> {
    const read = this.#fixture.engine.get(asked, { revision: revisionOf(revision) });
    const refusal = this.#model.refusalAt(revision);
    if (refusal) return expectRefusal(read, refusal);
    expect(toModel((await read).kv)).toEqual(this.#model.keyAt(asked, revision));
    expect((await read).revision).toBe(this.#model.revision);
  }

  async #range(within: KeyRange, revision: number, limit: number): Promise<void> {
    const read = this.#fixture.engine.range(within, { revision: revisionOf(revision), limit });
    const refusal = this.#model.refusalAt(revision);
    if (refusal) return expectRefusal(read, refusal);
    const all = this.#model.stateAt(revision).filter((entry) => isWithin(within, entry.key));
    const { kvs, count, more } = await read;
    expect(kvs.map(toModel)).toEqual(limit === 0 ? all : all.slice(0, limit));
    expect([count, more]).toEqual([all.length, limit !== 0 && all.length > limit]);
  }

  async #watch(within: KeyRange, after: number): Promise<void> {
    // Engines may or may not still have the events of the compacted revision itself.
    if (after === this.#model.compactRevision - 1) return;
    const recorder = WatchRecorder.start(this.#fixture.engine, within, { after: revisionOf(after) });
    if (after >= this.#model.compactRevision) {
      this.#watches.push({ range: within, after, recorder });
      return;
    }
    await recorder.ended();
    expect(isStorageError(recorder.error, 'Compacted')).toBe(true);
    expect(recorder.events).toEqual([]);
    recorder.verify();
  }

  async #compact(revision: number): Promise<void> {
    const { engine } = this.#fixture;
    // A watch that has not read this far would end here or not, which a model cannot predict.
    if (this.#watches.some((watch) => watch.after < revision)) await this.settleWatches();
    const compacting = engine.compact(revisionOf(revision));
    if (revision > this.#model.revision) return expectRefusal(compacting, 'FutureRevision');
    if (revision <= this.#model.compactRevision) return expectRefusal(compacting, 'Compacted');
    await compacting;
    this.#model.compactRevision = revision;
    expect(engine.compactRevision()).toBe(revision);
  }

  /**
   * Lets leases expire. The port leaves open in which order the keys of a lease are deleted, and in how many
   * transactions; the model adopts the engine's behaviour if it is allowed.
   */
  async #expire(): Promise<void> {
    const { engine, elapse } = this.#fixture;
    if (elapse === undefined) return;
    const bound = this.#model.stateAt(this.#model.revision).filter((entry) => entry.isLeased);
    const witness = WatchRecorder.start(engine, everything, { after: revisionOf(this.#model.revision) });
    await elapse.call(this.#fixture, this.#leaseSeconds * 2_000);
    await witness.received(bound.length);
    const next = this.#model.revision + 1;
    const together = witness.revisions.every((revision) => revision === next) ? { revision: next } : {};
    for (const event of witness.events) {
      const found = bound.find((entry) => entry.key === event.key);
      expect([event.type, found?.modRevision]).toEqual(['delete', event.previous?.modRevision]);
      const change = this.#model.commit(event.key, found?.modRevision ?? -1, { type: 'delete', ...together });
      expect(change?.revision).toBe(event.revision);
    }
    witness.close();
    this.#lease = 0;
  }

  async #reopen(): Promise<void> {
    if (this.#fixture.reopen === undefined) return;
    await this.settleWatches();
    await this.#fixture.reopen();
    await this.#agrees();
  }

  async #crash(each: CrashStep): Promise<void> {
    await this.settleWatches();
    await crashWhileWriting({ fixture: this.#fixture, model: this.#model, step: each, tally: this.#tally });
    await this.#agrees();
  }

  /** Compares all data that can be read from an engine that was just opened. */
  async #agrees(): Promise<void> {
    const { engine } = this.#fixture;
    expect(await engine.currentRevision()).toBe(this.#model.revision);
    expect(engine.compactRevision()).toBe(this.#model.compactRevision);
    await this.#range(everything, this.#model.revision, 0);
  }
}

async function expectRefusal(work: Promise<unknown>, code: 'Compacted' | 'FutureRevision'): Promise<void> {
  await expect(work).rejects.toSatisfy((error) => isStorageError(error, code));
}

// The keys of the programs sort alike by UTF-16 and by UTF-8.
function isWithin(within: KeyRange, candidate: string): boolean {
  return candidate >= within.start && candidate < within.end;
}

function toModel(kv: KeyValue | undefined): ModelKey | undefined {
  if (kv === undefined) return undefined;
  const { createRevision, modRevision, lease } = kv;
  return { key: kv.key, value: Number(textOf(kv)), createRevision, modRevision, isLeased: lease !== 0 };
}

function told({ revision, key: changed, kv, previous }: EngineEvent): unknown {
  return { revision, key: changed, after: toModel(kv), before: toModel(previous) };
}

function toldByModel({ revision, key: changed, after, before }: ModelChange): unknown {
  return { revision, key: changed, after, before };
}
