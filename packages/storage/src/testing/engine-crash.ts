// Kills an engine while commits are on their way. Every acknowledged commit must exist afterwards; the others may
// exist up to any point. It is a step of engine-programs.ts. It tests the state after the death of a process; crash images
// test the state after the death of a machine.
import { nextTurn } from '@kapstan/api/internal';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { Commit, CommitResult } from '../engine.ts';
import { bytes, type EngineFixture, everything, revisionOf } from './engine-fixture.ts';
import type { EngineModel, ModelWrite } from './engine-model.ts';
import { WatchRecorder } from './engine-recorder.ts';

export interface CrashStep {
  readonly type: 'crash';
  /** Commits sent one after the other, without waiting for answers. */
  readonly writes: readonly CrashWrite[];
  /** Turns of the event loop between the last commit and the kill. */
  readonly turns: number;
  /** Time that the thread is then blocked, in milliseconds. Answers from other threads can no longer arrive. */
  readonly blockedMs: number;
}

interface CrashWrite {
  readonly key: string;
  readonly value: number;
  /** Delete the key, if it exists. */
  readonly isDelete: boolean;
  readonly turnsBefore: number;
}

export function crashStepOf(key: fc.Arbitrary<string>): fc.Arbitrary<CrashStep> {
  const write = fc.record({
    key,
    value: fc.integer({ min: 0, max: 999 }),
    isDelete: fc.boolean(),
    turnsBefore: fc.constantFrom(0, 0, 1, 2, 5, 20),
  });
  return fc.record({
    type: fc.constant('crash' as const),
    writes: fc.array(write, { minLength: 2, maxLength: 3 }),
    turns: fc.constantFrom(0, 1, 2, 3, 5, 10, 30),
    blockedMs: fc.constantFrom(0, 0, 0, 1),
  });
}

/** Counts the outcomes of commits that were under way, to show whether the kills hit critical moments. */
export class CrashTally {
  crashes = 0;
  /** Commits acknowledged before the kill. */
  told = 0;
  /** Commits that were not acknowledged and are there. */
  kept = 0;
  /** Commits that were not acknowledged and are not there. */
  lost = 0;
  /** Kills after which some, not all, unacknowledged commits were there. */
  cut = 0;

  add(counts: { readonly all: number; readonly told: number; readonly there: number }): void {
    const { all, told, there } = counts;
    this.crashes += 1;
    this.told += told;
    this.kept += there - told;
    this.lost += all - there;
    if (there > told && there < all) this.cut += 1;
  }

  toString(): string {
    const { crashes, told, kept, lost, cut } = this;
    return `${crashes} kills: ${told} commits told; of those untold ${kept} kept, ${lost} lost; ${cut} kills between two`;
  }
}

export interface Crash {
  readonly fixture: EngineFixture;
  readonly model: EngineModel;
  readonly step: CrashStep;
  readonly tally: CrashTally;
}

/**
 * Kills the engine, if its fixture can, and opens another on the remaining data. The model then has the same state. No
 * watch may be open.
 */
export async function crashWhileWriting({ fixture, model, step, tally }: Crash): Promise<void> {
  if (fixture.crash === undefined) return;
  const before = model.revision;
  const witness = WatchRecorder.start(fixture.engine, everything, { after: revisionOf(before) });
  const told: CommitResult[] = [];
  for (const write of step.writes) {
    await turns(write.turnsBefore);
    // A commit sent after the engine died is never answered.
    fixture.engine.commit(nextCommit(model, write)).then(
      (result) => told.push(result),
      () => undefined,
    );
  }
  await turns(step.turns);
  const shown = await fixture.engine.currentRevision();
  if (step.blockedMs > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, step.blockedMs);
  // The commits acknowledged so far are compared, in one turn, with the present state on disk.
  const answers = told.map(({ succeeded, revision }) => [succeeded, revision]);
  const seen = Math.max(before + answers.length, shown, ...witness.revisions);
  witness.close();
  await fixture.crash();
  witness.verify();
  expect(answers).toEqual(answers.map((_, index) => [true, before + index + 1]));
  const revision = await fixture.engine.currentRevision();
  expect(revision, 'revision after a crash').toBeGreaterThanOrEqual(seen);
  expect(revision, 'revision after a crash').toBeLessThanOrEqual(model.revision);
  tally.add({ all: step.writes.length, told: answers.length, there: revision - before });
  model.forgetAfter(revision);
}

/** Returns a commit that will succeed after the earlier commits, and adds it to the model. */
function nextCommit(model: EngineModel, { key, value, isDelete }: CrashWrite): Commit {
  const expected = model.keyAt(key, model.revision)?.modRevision ?? 0;
  const write: ModelWrite = isDelete && expected !== 0 ? { type: 'delete' } : { type: 'put', value, isLeased: false };
  model.commit(key, expected, write);
  const change = write.type === 'delete' ? write : ({ type: 'put', value: bytes(String(value)) } as const);
  return { key, expectedRevision: revisionOf(expected), change };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await nextTurn();
}
