// Finds resources that a test has left open: handles of the process and timers of a virtual clock (invariant I9).
import process from 'node:process';
import { settle, type VirtualClock } from './virtual-clock.ts';

export interface LeakCheckOptions {
  /** A clock whose pending timers count as leaks too. */
  readonly clock?: VirtualClock;
  /**
   * Node's names of resource types that are not counted. Default: those that the test runner itself opens and closes.
   */
  readonly ignore?: readonly string[];
}

// Immediates and timers of the runner, which appear and disappear at any time.
const ignored: readonly string[] = [
  'Immediate',
  'Timeout',
  'TickObject',
  'PipeWrap',
  'TTYWrap',
  'MessagePort',
  'FSReqCallback',
  'FSReqPromise',
  'CloseReq',
];

/** Remembers what is open; {@link LeakCheck.assertNone} names everything opened since then that is still open. */
export class LeakCheck {
  readonly #before: ReadonlyMap<string, number>;
  readonly #options: LeakCheckOptions;

  constructor(options: LeakCheckOptions = {}) {
    this.#options = options;
    this.#before = countResources();
  }

  /** Waits some turns of the event loop for closing handles, then rejects with an Error that lists the leaks, if there are any. */
  async assertNone(): Promise<void> {
    let leaks: string[] = [];
    for (let attempt = 0; attempt < 10; attempt++) {
      leaks = this.#leaks();
      if (leaks.length === 0) return;
      await settle();
    }
    throw new Error(`left open: ${leaks.join(', ')}`);
  }

  #leaks(): string[] {
    const skip = new Set(this.#options.ignore ?? ignored);
    const leaks: string[] = [];
    for (const [type, count] of countResources()) {
      const more = count - (this.#before.get(type) ?? 0);
      if (more > 0 && !skip.has(type)) leaks.push(`${more} × ${type}`);
    }
    const timers = this.#options.clock?.pendingTimers ?? 0;
    return timers === 0 ? leaks : [...leaks, `${timers} × timer of the virtual clock`];
  }
}

function countResources(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const type of process.getActiveResourcesInfo()) counts.set(type, (counts.get(type) ?? 0) + 1);
  return counts;
}
