// The crash step must find faults: each engine here has one, and a kill reveals it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Commit, CommitResult } from '../engine.ts';
import { MemoryEngine } from '../memory-engine.ts';
import { CrashTally, crashStepOf, crashWhileWriting } from './engine-crash.ts';
import { everything, type OpenEngine, textOf } from './engine-fixture.ts';
import { EngineModel } from './engine-model.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * An engine whose disk is a list of commits. A commit takes some turns to reach the disk, and more turns until it is
 * answered.
 */
class DiskEngine extends MemoryEngine {
  readonly disk: Commit[];

  constructor(disk: Commit[]) {
    super();
    this.disk = disk;
  }

  /** Handles a commit in several turns. The caller gets the answer after all of them. */
  protected async process(commit: Commit): Promise<CommitResult> {
    await turn();
    this.disk.push(commit);
    await turn();
    return this.apply(commit);
  }

  /** Makes the commit visible to readers. */
  protected apply(commit: Commit): Promise<CommitResult> {
    return super.commit(commit);
  }

  override commit(commit: Commit): Promise<CommitResult> {
    return this.process(commit);
  }

  async load(): Promise<this> {
    for (const commit of this.disk) await this.apply(commit);
    return this;
  }
}

class TellsBeforeItIsWritten extends DiskEngine {
  protected override async process(commit: Commit): Promise<CommitResult> {
    const result = await this.apply(commit);
    setImmediate(() => this.disk.push(commit));
    return result;
  }
}

class ShowsBeforeItIsWritten extends DiskEngine {
  protected override async process(commit: Commit): Promise<CommitResult> {
    const result = await this.apply(commit);
    await turn();
    this.disk.push(commit);
    return result;
  }
}

/**
 * Writes a commit that follows soon after another one before that one. Both are answered in order, once both are on
 * disk.
 */
class WritesBackwards extends DiskEngine {
  #held: Commit | undefined;
  #told: Promise<unknown> = Promise.resolve();

  protected override process(commit: Commit): Promise<CommitResult> {
    const told = Promise.all([this.#told, this.#write(commit)]).then(() => this.apply(commit));
    this.#told = told;
    return told;
  }

  async #write(commit: Commit): Promise<void> {
    const first = this.#held;
    this.#held = first === undefined ? commit : undefined;
    if (first !== undefined) this.disk.push(commit);
    for (let waited = 0; waited < 3; waited += 1) await turn();
    if (first !== undefined) this.disk.splice(this.disk.indexOf(commit), 0, first);
    else if (this.#held === commit) {
      this.#held = undefined;
      this.disk.push(commit);
    } else for (let waited = 0; waited < 3; waited += 1) await turn();
  }
}

class WritesAnotherValue extends DiskEngine {
  protected override async process(commit: Commit): Promise<CommitResult> {
    const isPut = commit.change.type === 'put';
    this.disk.push(isPut ? { ...commit, change: { type: 'put', value: Buffer.from('1000') } } : commit);
    return this.apply(commit);
  }
}

class KeepsNothing extends DiskEngine {
  override async load(): Promise<this> {
    return this;
  }
}

class MakesUpACommit extends DiskEngine {
  override async load(): Promise<this> {
    await super.load();
    const { kv } = await this.get('/made-up');
    const change = { type: 'put', value: Buffer.from('1') } as const;
    await this.apply({ key: '/made-up', expectedRevision: kv?.modRevision ?? (0 as never), change });
    return this;
  }
}

function opener(Faulty: new (disk: Commit[]) => DiskEngine): OpenEngine {
  return async () => {
    const fixture = {
      engine: new Faulty([]),
      crash: async () => {
        const disk = [...fixture.engine.disk];
        await fixture.engine.close();
        fixture.engine = await new Faulty(disk).load();
      },
      dispose: () => fixture.engine.close(),
    };
    return fixture;
  };
}

const step = crashStepOf(fc.constantFrom('/a', '/b', '/c'));

/** There are so many kills that practically no seed misses a window of one or two turns. */
const kills = 250;

/** Kills one engine again and again. Rejects when it differs from the model. */
async function killAgainAndAgain(open: OpenEngine, seed: number): Promise<CrashTally> {
  const fixture = await open();
  const model = new EngineModel(await fixture.engine.currentRevision(), fixture.engine.compactRevision());
  const tally = new CrashTally();
  for (const each of fc.sample(step, { numRuns: kills, seed })) {
    await crashWhileWriting({ fixture, model, step: { ...each, blockedMs: 0 }, tally });
    const { kvs } = await fixture.engine.range(everything);
    const expected = model.stateAt(model.revision);
    expect(kvs.map((kv) => [kv.key, Number(textOf(kv)), kv.modRevision])).toEqual(
      expected.map((entry) => [entry.key, entry.value, entry.modRevision]),
    );
  }
  await fixture.dispose();
  return tally;
}

describe('a kill while commits are on their way', () => {
  const seed = Math.floor(Math.random() * 2 ** 31);

  it('leaves what was told, and some of the rest, of an engine that is right', async () => {
    const { crashes, told, kept, lost } = await killAgainAndAgain(opener(DiskEngine), seed);
    expect(crashes).toBe(kills);
    expect(Math.min(told, kept, lost), `seed ${seed}`).toBeGreaterThan(0);
  });

  it.each([
    ['tells a writer before it is written', TellsBeforeItIsWritten],
    ['shows a commit before it is written', ShowsBeforeItIsWritten],
    ['writes the second commit before the first', WritesBackwards],
    ['writes another value', WritesAnotherValue],
    ['keeps nothing', KeepsNothing],
    ['has a commit that nobody made', MakesUpACommit],
  ])('shows an engine that %s', async (_, Faulty) => {
    await expect(killAgainAndAgain(opener(Faulty), seed), `seed ${seed}`).rejects.toThrow(/expected/);
  });
});
