// EtcdSpare reuses one etcd (or cluster) for test after test as long as a test leaves no traces for the next one, and
// starts a fresh one otherwise. Used by conformance tests, each of which needs an empty store.
import type { Engine } from '@kapstan/storage';
import { type EtcdMembers, type EtcdProcessOptions, startEtcd } from './etcd-process.ts';

const everything = { start: '', end: '\u{10ffff}' };

export class EtcdSpare {
  readonly #options: EtcdProcessOptions;
  #next: Promise<EtcdMembers> | undefined;

  constructor(options: EtcdProcessOptions) {
    this.#options = options;
  }

  /** Returns an etcd without keys and other users that was never compacted. It may have earlier revisions. */
  async take(): Promise<EtcdMembers> {
    const taken = this.#next ?? this.#start();
    this.#next = undefined;
    return taken;
  }

  /** Closes the engine and keeps its etcd for the next test, or removes it. */
  async giveBack(etcd: EtcdMembers, engine: Engine): Promise<void> {
    // Any error counts as not clean, because the test may have closed the engine.
    const isClean = engine.compactRevision() === 0 && (await removeKeys(engine).catch(() => false));
    await engine.close();
    if (isClean && this.#next === undefined) {
      this.#next = Promise.resolve(etcd);
      return;
    }
    this.#next ??= this.#start();
    await removeAll(etcd);
  }

  async close(): Promise<void> {
    const spare = await this.#next;
    this.#next = undefined;
    if (spare !== undefined) await removeAll(spare);
  }

  #start(): Promise<EtcdMembers> {
    return startEtcd(this.#options);
  }
}

async function removeAll(members: EtcdMembers): Promise<void> {
  await Promise.all(members.map((member) => member.remove()));
}

/** Removes all keys. Returns false when some are left, because there are many or others write. */
export async function removeKeys(engine: Engine): Promise<boolean> {
  const { kvs, more } = await engine.range(everything, { limit: 500 });
  const removals = kvs.map(({ key, modRevision }) =>
    engine.commit({ key, expectedRevision: modRevision, change: { type: 'delete' } }),
  );
  return (await Promise.all(removals)).every(({ succeeded }) => succeeded) && !more;
}
