// LevelTurns divides the time of each turn among requests that have seats. Used by priority-and-fairness.ts.
import type { Clock } from '@kapstan/api';
import { TurnShare } from '@kapstan/api/internal';
import type { PriorityLevel } from '../../flowcontrol/priority-level.ts';

/**
 * Time per turn, in milliseconds, after which requests that have a seat wait for the next turn. Without it, a request that waits for no I/O has
 * left its seat before the next one is read from its socket, so that nobody queues, and whoever sends most is served most.
 */
const seatedMs = 8;

/** Levels take turns, so that a request does not wait behind all those that have seats of another level. */
export class LevelTurns {
  readonly #share: TurnShare;
  /** Requests that wait, by level. The level that was served last comes last. */
  readonly #waiting = new Map<PriorityLevel, (() => void)[]>();

  constructor(clock: Clock) {
    this.#share = new TurnShare(clock, seatedMs);
  }

  /** Returns whether a request may run in this turn. */
  hasTime(): boolean {
    return this.#share.hasTime();
  }

  /** Resolves in a turn that has time; within a level in the order of the calls. */
  room(level: PriorityLevel): Promise<void> {
    // Each call finds room once and gives it to the request whose turn it is, so all of them run.
    void this.#share.room().then(() => this.#runNext());
    return new Promise((resolve) => {
      const known = this.#waiting.get(level);
      if (known === undefined) this.#waiting.set(level, [resolve]);
      else known.push(resolve);
    });
  }

  #runNext(): void {
    const [next] = this.#waiting;
    if (next === undefined) return;
    const [level, requests] = next;
    requests.shift()?.();
    this.#waiting.delete(level);
    if (requests.length > 0) this.#waiting.set(level, requests);
  }
}
