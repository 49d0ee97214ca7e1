// WriteTurns lets the clients that read and then write a key take turns, so that none of them loses again and again.
// Part of object-store.ts. Reasons: docs/decisions/0020-writers-take-turns.md.
import type { CancelTimer, Clock } from '@kapstan/api';
import { addAbortListener, type CallSignal, removeAbortListener } from '@kapstan/api/internal';

/**
 * Time that a reader of a contended key has for its write before others may read: longer than a round trip within one
 * site.
 */
const turnMs = 25;
/** Longest wait in the queue of a contended key. */
const maxQueueMs = 250;
/** Longest wait for a commit. A slow disk or cluster then delays its writers, not its readers. */
const maxCommitMs = 1_000;
/** Time for which a key stays contended after the last conflict or the last wait for a turn. */
const contendedMs = 1_000;

interface Reader {
  readonly sinceMs: number;
  /** Idempotent. */
  readonly release: () => void;
}

/** The state of one key while a commit of it is under way, or while it is contended. */
export interface KeyTurns {
  /** True while a commit is under way. */
  isCommitting: boolean;
  /** Time on the monotonic clock until which the key counts as contended. 0 = it does not. */
  contendedUntilMs: number;
  /** True when a client has read the present state of a contended key and may be about to replace it. */
  isTaken: boolean;
  /** Cancels the timer that ends the wait for a commit, ends the present reader's turn, or forgets an idle key. */
  cancelTimer: CancelTimer | undefined;
  /** Waiting readers, in order of arrival. */
  readonly readers: Set<Reader>;
}

/**
 * Makes a read of the newest state wait while a commit of its key is under way: the old state is about to be replaced,
 * and a write based on it would conflict. After a conflict, readers of that key are let through one by one, each when
 * the previous one has written, until a client reads without writing. Every wait is bounded, and every read returns the
 * state at the time of its answer.
 */
export class WriteTurns {
  readonly #clock: Clock;
  readonly #hasQueues: boolean;
  readonly #byKey = new Map<string, KeyTurns>();

  /** `hasQueues` false: a read waits for a commit that is under way, but never for another reader. */
  constructor({ clock, hasQueues }: { readonly clock: Clock; readonly hasQueues: boolean }) {
    this.#clock = clock;
    this.#hasQueues = hasQueues;
  }

  /** Returns whether a read of the key may have to wait. */
  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  /** Lets readers of the key wait for a commit until {@link end}, which must be called with what this returns. */
  begin(key: string): KeyTurns {
    const turns = this.#of(key);
    if (!turns.isCommitting) {
      turns.isCommitting = true;
      // A commit uses up the turn of the reader that had it.
      this.#cancel(turns);
      if (turns.readers.size > 0) this.#limitCommit(key, turns);
    }
    return turns;
  }

  /** Ends the wait of readers, since the engine has answered or the commit has failed. */
  end(key: string, turns: KeyTurns): void {
    if (this.#byKey.get(key) === turns) this.#committed(key, turns);
  }

  /** Notes a write that was refused because its state was too old. For some time the key's readers take turns. */
  contended(key: string): void {
    if (!this.#hasQueues) return;
    const turns = this.#of(key);
    turns.contendedUntilMs = this.#clock.monotonicNow() + contendedMs;
    if (!turns.isCommitting && !turns.isTaken) this.#rest(key, turns);
  }

  /** Resolves when the key may be read, or when the signal aborts. Undefined: it may be read now. */
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

  /** Releases all waiting readers. */
  close(): void {
    for (const [key, turns] of this.#byKey) this.#forget(key, turns);
  }

  #of(key: string): KeyTurns {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const turns: KeyTurns = {
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
   * Runs when the engine has answered a commit. Other commits under way are not waited for: they expect the state
   * before it, and a client that sends one commit after the other must not hold readers back.
   */
  #committed(key: string, turns: KeyTurns): void {
    const { contendedUntilMs, readers } = turns;
    if (contendedUntilMs <= this.#clock.monotonicNow()) return this.#forget(key, turns);
    this.#cancel(turns);
    const next: KeyTurns = { isCommitting: false, contendedUntilMs, isTaken: false, cancelTimer: undefined, readers };
    this.#byKey.set(key, next);
    if (readers.size === 0) return this.#rest(key, next);
    this.#take(key, next);
    this.#releaseNext(next);
  }

  /** Releases the first reader in the queue, and all that have waited long enough. */
  #releaseNext({ readers }: KeyTurns): void {
    const longAgoMs = this.#clock.monotonicNow() - maxQueueMs;
    let isFirst = true;
    for (const reader of readers) {
      if (!isFirst && reader.sinceMs > longAgoMs) return;
      isFirst = false;
      reader.release();
    }
  }

  /** Gives a reader the turn. If it does not write, the turns of all end: not every reader is a writer. */
  #take(key: string, turns: KeyTurns): void {
    turns.isTaken = true;
    this.#arm(turns, turnMs, () => this.#forget(key, turns));
  }

  #limitCommit(key: string, turns: KeyTurns): void {
    this.#arm(turns, maxCommitMs, () => this.#forget(key, turns));
  }

  #rest(key: string, turns: KeyTurns): void {
    this.#arm(turns, contendedMs, () => this.#forget(key, turns));
  }

  #forget(key: string, turns: KeyTurns): void {
    this.#cancel(turns);
    if (this.#byKey.get(key) === turns) this.#byKey.delete(key);
    for (const reader of turns.readers) reader.release();
  }

  #arm(turns: KeyTurns, ms: number, onTimeout: () => void): void {
    this.#cancel(turns);
    turns.cancelTimer = this.#clock.setBackgroundTimer(onTimeout, ms);
  }

  #cancel(turns: KeyTurns): void {
    turns.cancelTimer?.();
    turns.cancelTimer = undefined;
  }
}
