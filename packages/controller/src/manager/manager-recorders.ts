// ManagerRecorders holds the event recorders of a manager: one of the election and one for each controller. It writes what waits in them
// before they are closed.
import { type Clock, delay } from '@kapstan/api';
import type { EventRecorder } from '../events/event-recorder.ts';
import { lastWordsMs } from './work-end.ts';

export class ManagerRecorders {
  readonly #ofElection: EventRecorder;
  readonly #others: EventRecorder[] = [];
  readonly #clock: Clock;

  constructor(ofElection: EventRecorder, clock: Clock) {
    this.#ofElection = ofElection;
    this.#clock = clock;
  }

  add(recorder: EventRecorder): void {
    this.#others.push(recorder);
  }

  /**
   * Writes the waiting events. It may take until this time of the monotonic clock as long as writes succeed, otherwise
   * only a short time.
   */
  async drain(untilMs: number): Promise<void> {
    const recorders = [this.#ofElection, ...this.#others];
    const waiting = (): number => recorders.reduce((sum, recorder) => sum + recorder.waiting, 0);
    const written = Promise.all(recorders.map((recorder) => recorder.drain()));
    for (let before = waiting(); before > 0; ) {
      const over = new AbortController();
      await Promise.race([written, delay(this.#clock, lastWordsMs, over.signal).catch(() => undefined)]);
      over.abort();
      const left = waiting();
      if (left >= before || this.#clock.monotonicNow() >= untilMs) return;
      before = left;
    }
  }

  /** Ends the recorders of the controllers. The one of the election still records the end of the leadership. */
  async closeOthers(): Promise<void> {
    await Promise.all(this.#others.map((recorder) => recorder.close()));
  }

  /** Stops writing events. Never rejects. */
  async close(): Promise<void> {
    await Promise.all([this.#ofElection.close(), this.closeOthers()]);
  }
}
