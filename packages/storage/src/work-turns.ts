// WorkTurns runs SlicedWork in turns of the event loop. All work shares the few milliseconds that a turn has for it, so
// a hundred large objects block the loop no longer than one. Used by object-store.ts and throughout apiserver.
import { type Clock, systemClock } from '@kapstan/api';
import { type CallSignal, type SlicedWork, TurnShare, turnMs } from '@kapstan/api/internal';

interface Waiting {
  readonly work: SlicedWork<unknown>;
  /** Signal of the caller that waits for the work. */
  readonly signal: CallSignal | undefined;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Lets several pieces of work take turns. */
export class WorkTurns {
  /** Work that many wait for: events on their way into a cache, objects being read. */
  readonly #first: Waiting[] = [];
  readonly #others: Waiting[] = [];
  /** Begins with the first work in a turn that takes longer than one slice. The turn's other work is added to this. */
  readonly #share: TurnShare;

  constructor(clock: Clock) {
    this.#share = new TurnShare(clock, turnMs, () => this.#onNextTurn());
  }

  /**
   * Returns the result when the work ends within this turn's share, otherwise a promise of it. Small work ends before
   * its first `yield` and costs neither a reading of the clock nor a promise. Throws, or rejects with, the work's
   * error. When `signal` aborts, waiting work is dropped at its next turn and rejects with the signal's reason.
   */
  run<T>(work: SlicedWork<T>, signal?: CallSignal): T | Promise<T> {
    return this.#run(work, { queue: this.#others, signal });
  }

  /**
   * Does what {@link run} does for work that must not wait behind request bodies, however many there are: such work
   * gets half of each turn.
   */
  runFirst<T>(work: SlicedWork<T>): T | Promise<T> {
    return this.#run(work, { queue: this.#first, signal: undefined });
  }

  #run<T>(
    work: SlicedWork<T>,
    { queue, signal }: { readonly queue: Waiting[]; readonly signal: CallSignal | undefined },
  ): T | Promise<T> {
    let step = work.next();
    if (step.done === true) return step.value;
    while (step.value === undefined && this.#first.length === 0 && queue.length === 0 && this.#share.hasTime()) {
      step = work.next();
      if (step.done === true) return step.value;
    }
    const answer = step.value;
    return new Promise<T>((resolve, reject) => {
      const waiting: Waiting = { work, signal, resolve: resolve as (result: unknown) => void, reject };
      if (answer === undefined) queue.push(waiting);
      else this.#rest(queue, waiting, answer);
    });
  }

  /** Parks work that waits for an answer outside of all queues, so that other work can proceed. */
  #rest(queue: Waiting[], waiting: Waiting, answer: Promise<void>): void {
    const resume = (): void => {
      queue.push(waiting);
      this.#share.hasTime();
    };
    answer.then(resume, resume);
  }

  #onNextTurn(): void {
    const shareMs = this.#others.length > 0 ? turnMs / 2 : turnMs;
    while (this.#first.length > 0 && this.#share.hasTime(shareMs)) this.#advance(this.#first, shareMs);
    while (this.#others.length > 0 && this.#share.hasTime()) this.#advance(this.#others, turnMs);
  }

  /**
   * Resumes the work that has waited longest until it is done or its time is over. Then it moves to the end of the
   * queue.
   */
  #advance(queue: Waiting[], shareMs: number): void {
    const longest = queue.shift();
    if (longest === undefined) return;
    try {
      if (longest.signal?.aborted === true) return giveUp(longest, longest.signal);
      do {
        const step = longest.work.next();
        if (step.done === true) return longest.resolve(step.value);
        if (step.value !== undefined) return this.#rest(queue, longest, step.value);
      } while (this.#share.hasTime(shareMs));
      queue.push(longest);
    } catch (error) {
      longest.reject(error);
    }
  }
}

/** Ends the generator, so that its `finally` runs, and rejects with the signal's reason. */
function giveUp({ work, reject }: Waiting, { reason }: CallSignal): void {
  work.return(undefined);
  reject(reason);
}

/**
 * Objects with a longer encoded form are worked on in slices: each stage of writing one takes a millisecond or more.
 */
export const largeObjectBytes: number = 32 * 1024;

/** A thread has one event loop, so all its servers and stores share one budget. */
const turnsOfThread = new WorkTurns(systemClock);

/** Calls {@link WorkTurns.run} with this thread's budget. */
export function runInTurns<T>(work: SlicedWork<T>, signal?: CallSignal): T | Promise<T> {
  return turnsOfThread.run(work, signal);
}

/** Calls {@link WorkTurns.runFirst} with this thread's budget. */
export function runFirstInTurns<T>(work: SlicedWork<T>): T | Promise<T> {
  return turnsOfThread.runFirst(work);
}
