// WriteTurns: lets clients that read a key in order to write it take turns, so that none of them loses again and again. Part of
// object-store.ts. Why it is so: docs/decisions/0020-writers-take-turns.md.

import type { CancelTimer, Clock } from '@kapstan/api';
import { addAbortListener, type CallSignal, removeAbortListener } from '@kapstan/api/internal';
import type { CommitResult } from './engine.ts';

/** Time that a reader of a contended key has for its write before others may read. Longer than a round trip on a network of one site. */
const turnMs = 25;
/** Longest wait in the queue of a contended key. */
const maxQueueMs = 250;
/** Longest wait for a commit. A disk or a cluster that takes longer holds up its writers, not its readers. */
const maxCommitMs = 1_000;
/** A key stays contended for so long after the last conflict, or the last wait for a turn. */
const contendedMs = 1_000;

interface Reader {
  readonly sinceMs: number;
  /** Idempotent. */
  readonly release: () => void;
}

/** One key while a commit of it is under way, or while it is contended. */
interface Turns {
  /** A commit is under way. */
  isCommitting: boolean;
  /** The key counts as contended until then, on the monotonic clock. 0 = it is not. */
  contendedUntilMs: number;
  /** Somebody read the present state of a contended key and may be about to replace it. */
  isTaken: boolean;
  /** Ends the wait for a commit or for the write of whose turn it is, or forgets an idle key. */
  cancelTimer: CancelTimer | undefined;
  /** In the order in which they came. */
  readonly readers: Set<Reader>;
}

/**
 * A read of the newest state waits while a commit of its key is under way: the state before is as good as gone, and a write based on
 * it would conflict. After a conflict, the readers of that key are let through one by one, each when the one before has written,
 * until somebody reads without writing. Every wait is bounded, and what is read is always the truth at the time of the answer.
 */
export class WriteTurns {
  readonly #clock: Clock;
  readonly #hasQueues: boolean;
  readonly #byKey = new Map<string, Turns>();

  /** `hasQueues`: false = a read waits for a commit that is under way, but never for another reader. */
  constructor({ clock, hasQueues }: { readonly clock: Clock; readonly hasQueues: boolean }) {
    this.#clock = clock;
    this.#hasQueues = hasQueues;
  }

  /** False: a read of the key need not wait. */
  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  /** Sends a commit of the key. */
  async commit(key: string, send: () => Promise<CommitResult>): Promise<CommitResult> {
    const turns = this.#of(key);
    if (!turns.isCommitting) {
      turns.isCommitting = true;
      // Whoever has the turn has used it.
      this.#cancel(turns);
      if (turns.readers.size > 0) this.#limitCommit(key, turns);
    }
    try {
      return await send();
    } finally {
      if (this.#byKey.get(key) === turns) this.#committed(key, turns);
    }
  }

  /** A write of the key was refused because it was based on an older state: for some time its readers take turns. */
  contended(key: string): void {
    if (!this.#hasQueues) return;
    const turns = this.#of(key);
    turns.contendedUntilMs = this.#clock.monotonicNow() + contendedMs;
    if (!turns.isCommitting && !turns.isTaken) this.#rest(key, turns);
  }

  /** Resolves when the key may be read, also when the signal aborts. Undefined: now. */
  wait(key: string, signal: CallSignal | undefined): Promise<void> | undefined {
    const turns = this.#byKey.get(key);
    if (turns === undefined || signal?.aborted === true) return undefined;
    if (!turns.isCommitting && !turns.isTaken) {
      this.#take(key, turns);
      return undefined;
    }
    const sinceMs = this.#clock.monotonicNow();
    if (turns.contendedUntilMs > 0) turns.contendedUntilMs = sinceMs + contendedMs;
    return new Promise((resolve) => {
      const release = (): void => {
        removeAbortListener(signal, release);
        turns.readers.delete(reader);
        resolve();
      };
      const reader: Reader = { sinceMs, release };
      turns.readers.add(reader);
      addAbortListener(signal, release);
      if (turns.isCommitting && turns.readers.size === 1) this.#limitCommit(key, turns);
    });
  }

  /** Lets all go on who wait. */
  close(): void {
    for (const [key, turns] of this.#byKey) this.#forget(key, turns);
  }

  #of(key: string): Turns {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const turns: Turns = {
      isCommitting: false,
      contendedUntilMs: 0,
      isTaken: false,
      cancelTimer: undefined,
      readers: new Set(),
    };
    this.#byKey.set(key, turns);
    return turns;
  }

  /**
   * The engine has answered a commit. Others that are still under way are not waited for: they expect the state before it, and
   * who sends one commit after the other must not hold readers back.
   */
  #committed(key: string, turns: Turns): void {
    const { contendedUntilMs, readers } = turns;
    if (contendedUntilMs <= this.#clock.monotonicNow()) return this.#forget(key, turns);
    this.#cancel(turns);
    const next: Turns = { isCommitting: false, contendedUntilMs, isTaken: false, cancelTimer: undefined, readers };
    this.#byKey.set(key, next);
    if (readers.size === 0) return this.#rest(key, next);
    this.#take(key, next);
    this.#releaseNext(next);
  }

  /** The first in the queue, and all who have waited for long enough. */
  #releaseNext({ readers }: Turns): void {
    const longAgoMs = this.#clock.monotonicNow() - maxQueueMs;
    let isFirst = true;
    for (const reader of readers) {
      if (!isFirst && reader.sinceMs > longAgoMs) return;
      isFirst = false;
      reader.release();
    }
  }

  /** A reader has the turn. One that does not write ends the turns of all: it shows that not all readers are writers. */
  #take(key: string, turns: Turns): void {
    turns.isTaken = true;
    this.#arm(turns, turnMs, () => this.#forget(key, turns));
  }

  #limitCommit(key: string, turns: Turns): void {
    this.#arm(turns, maxCommitMs, () => this.#forget(key, turns));
  }

  #rest(key: string, turns: Turns): void {
    this.#arm(turns, contendedMs, () => this.#forget(key, turns));
  }

  #forget(key: string, turns: Turns): void {
    this.#cancel(turns);
    if (this.#byKey.get(key) === turns) this.#byKey.delete(key);
    for (const reader of turns.readers) reader.release();
  }

  #arm(turns: Turns, ms: number, onTimeout: () => void): void {
    this.#cancel(turns);
    turns.cancelTimer = this.#clock.setBackgroundTimer(onTimeout, ms);
  }

  #cancel(turns: Turns): void {
    turns.cancelTimer?.();
    turns.cancelTimer = undefined;
  }
}
