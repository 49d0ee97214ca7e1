import { once } from 'node:events';
import { type LogFields, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { ExponentialFailureRateLimiter, RateLimitingQueue } from '../workqueue/index.ts';
import { ReconcileLoop, type ReconcileOutcome, type SyncHandler, TerminalError } from './reconcile-loop.ts';

function start(reconcile: SyncHandler, options: { readonly workers?: number; readonly gracePeriodMs?: number } = {}) {
  const clock = new VirtualClock();
  const queue = new RateLimitingQueue<string>({
    clock,
    rateLimiter: new ExponentialFailureRateLimiter({ baseMs: 10, maxMs: 1000 }),
  });
  const outcomes: ReconcileOutcome[] = [];
  const stop = new AbortController();
  const onOutcome = (outcome: ReconcileOutcome): void => void outcomes.push(outcome);
  const loop = new ReconcileLoop({ queue, reconcile, clock, onOutcome, ...options });
  return { clock, queue, outcomes, stop, finished: loop.run(stop.signal) };
}

const ofClock = (clock: VirtualClock) => ({
  now: () => clock.now(),
  setTimer: clock.setTimer.bind(clock),
  setBackgroundTimer: clock.setBackgroundTimer.bind(clock),
});
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('ReconcileLoop', () => {
  it('gives the reconcile function the name of the object and forgets the key on success', async () => {
    const seen: unknown[] = [];
    const { queue, stop, finished } = start(async (request, context) => {
      seen.push({ ...request, attempt: context.attempt });
      return undefined;
    });
    queue.add('default/web');
    queue.add('node-1');
    await turn();
    stop.abort();
    await finished;
    expect(seen).toEqual([
      { key: 'default/web', namespace: 'default', name: 'web', attempt: 0 },
      { key: 'node-1', namespace: '', name: 'node-1', attempt: 0 },
    ]);
  });

  it('retries a failure with growing delays and counts the attempts', async () => {
    const attempts: number[] = [];
    const { clock, queue, stop, finished, outcomes } = start(async (_request, context) => {
      attempts.push(context.attempt);
      if (attempts.length < 3) throw new Error('not yet');
      return undefined;
    });
    queue.add('a');
    await turn();
    await clock.advance(10);
    await clock.advance(20);
    await turn();
    expect(attempts).toEqual([0, 1, 2]);
    expect(outcomes.map((outcome) => outcome.type)).toEqual(['failed', 'failed', 'succeeded']);
    expect(queue.numRequeues('a')).toBe(0);
    stop.abort();
    await finished;
  });

  it('gives way to everything else while many keys fail without a wait', async () => {
    let now = 0;
    const virtual = new VirtualClock();
    // Each reading advances the clock by a millisecond.
    const clock = { ...ofClock(virtual), monotonicNow: () => now++ };
    const queue = new RateLimitingQueue<string>({ clock: virtual });
    let runs = 0;
    const stop = new AbortController();
    const reconcile = async (): Promise<undefined> => {
      runs++;
      throw new TerminalError('no');
    };
    const finished = new ReconcileLoop({ queue, reconcile, clock }).run(stop.signal);
    for (let index = 0; index < 1000; index++) queue.add(`key-${index}`);
    await turn();
    expect(runs).toBeGreaterThan(0);
    expect(runs).toBeLessThan(500);
    for (let turns = 0; runs < 1000 && turns < 1000; turns++) await turn();
    expect(runs).toBe(1000);
    stop.abort();
    await finished;
  });

  it('does not retry a TerminalError', async () => {
    const { clock, queue, stop, finished, outcomes } = start(async () => {
      throw new TerminalError('bad spec');
    });
    queue.add('a');
    await turn();
    await clock.advance(10_000);
    expect(outcomes).toMatchObject([{ type: 'failed', willRetry: false }]);
    stop.abort();
    await finished;
  });

  it('comes back after the asked time', async () => {
    let runs = 0;
    const { clock, queue, stop, finished } = start(async () => {
      runs++;
      return { requeueAfterMs: 5000 };
    });
    queue.add('a');
    await turn();
    await clock.advance(4999);
    expect(runs).toBe(1);
    await clock.advance(1);
    await turn();
    expect(runs).toBe(2);
    stop.abort();
    await finished;
  });

  it.each([-5, 0, Number.NaN])(
    'comes back rate limited for a time of %s, never in a hot loop',
    async (requeueAfterMs) => {
      let runs = 0;
      const { clock, queue, stop, finished } = start(async () => {
        runs++;
        return { requeueAfterMs };
      });
      queue.add('a');
      for (let i = 0; i < 5; i++) await turn();
      expect(runs).toBe(1);
      await clock.advance(10);
      await turn();
      await clock.advance(20);
      await turn();
      expect(runs).toBe(3);
      stop.abort();
      await finished;
    },
  );

  it('goes on when it cannot tell what became of a run', async () => {
    const clock = new VirtualClock();
    const queue = new RateLimitingQueue<string>({ clock });
    const seen: string[] = [];
    const logged: unknown[] = [];
    const logger = { ...silentLogger, error: (message: string, fields?: LogFields) => logged.push([message, fields]) };
    const stop = new AbortController();
    const loop = new ReconcileLoop({
      queue,
      clock,
      logger,
      reconcile: async ({ key }) => void seen.push(key),
      onOutcome: () => {
        throw new Error('bad listener');
      },
    });
    const finished = loop.run(stop.signal);
    queue.add('a');
    await turn();
    queue.add('b');
    await turn();
    stop.abort();
    await finished;
    expect(seen).toEqual(['a', 'b']);
    const [message, error] = ['onOutcome failed', new Error('bad listener')];
    expect(logged).toEqual([
      [message, { key: 'a', error }],
      [message, { key: 'b', error, repeated: 1 }],
    ]);
  });

  it('goes on with a logger that throws, which is a warning of the process', async () => {
    const [clock, stop, seen] = [new VirtualClock(), new AbortController(), [] as string[]];
    const rateLimiter = new ExponentialFailureRateLimiter<string>({ baseMs: 10, maxMs: 1000 });
    const queue = new RateLimitingQueue<string>({ clock, rateLimiter });
    const fail = (text: string) => (): never => {
      throw new Error(text);
    };
    const loop = new ReconcileLoop({
      queue,
      clock,
      logger: { ...silentLogger, error: fail('no log') },
      reconcile: async ({ key }) => {
        seen.push(key);
        if (key === 'bad') throw new TerminalError('bad spec');
      },
      onOutcome: fail('bad listener'),
    });
    const warned = once(process, 'warning');
    const finished = loop.run(stop.signal);
    for (const key of ['bad', 'b']) {
      queue.add(key);
      await turn();
    }
    stop.abort();
    await finished;
    expect(seen).toEqual(['bad', 'b']);
    expect(await warned).toMatchObject([{ message: 'no log' }]);
  });

  const promised = (what: string) => `${what} must be there at once, it is a promise`;
  it.each<[string, (text: string) => () => never, Record<'when' | 'numRequeues', string>]>([
    [
      'throws',
      (text) => () => {
        throw new Error(text);
      },
      { when: 'when', numRequeues: 'numRequeues' },
    ],
    [
      'rejects',
      (text) => () => Promise.reject(new Error(text)) as never,
      { when: promised('a delay'), numRequeues: promised('a number of tries') },
    ],
  ])('goes on with a rate limiter that %s, tells of it, and asks the default one', async (_, fail, texts) => {
    const [clock, stop] = [new VirtualClock(), new AbortController()];
    const rateLimiter = { when: fail('when'), forget: fail('forget'), numRequeues: fail('numRequeues') };
    const queue = new RateLimitingQueue<string>({ clock, rateLimiter, priority: {} });
    const [runs, told]: [unknown[], unknown[]] = [[], []];
    const error = (message: string, fields: LogFields = {}): void => {
      if (message.startsWith('the rate limiter failed')) told.push((fields.error as Error).message);
    };
    const logger = { ...silentLogger, error };
    const loop = new ReconcileLoop({
      queue,
      clock,
      logger,
      reconcile: async ({ key }, { attempt }) => {
        runs.push([key, attempt, queue.priorityOf(key), clock.monotonicNow()]);
        if (attempt < 2) throw new Error('not yet');
        return attempt < 3 ? { requeueAfterMs: 0 } : undefined;
      },
    });
    const finished = loop.run(stop.signal);
    queue.add('a', 7);
    await clock.advance(100);
    queue.add('a', 1);
    await clock.advance(0);
    stop.abort();
    expect(await finished).toBeUndefined();
    expect(runs).toEqual([
      ['a', 0, 7, 0],
      ['a', 1, 7, 5],
      ['a', 2, 7, 15],
      ['a', 3, 7, 35],
      // The default limiter has forgotten it, too.
      ['a', 0, 1, 100],
    ]);
    const { numRequeues, when } = texts;
    const again = [numRequeues, when];
    expect(told).toEqual([...again, ...again, ...again, numRequeues, 'forget', ...again]);
  });

  it('never runs one key twice at a time, however many workers there are', async () => {
    const running = new Map<string, number>();
    let most = 0;
    let total = 0;
    const { queue, stop, finished } = start(
      async ({ key }) => {
        running.set(key, (running.get(key) ?? 0) + 1);
        most = Math.max(most, running.get(key) ?? 0);
        await turn();
        running.set(key, (running.get(key) ?? 0) - 1);
        total++;
        return undefined;
      },
      { workers: 8 },
    );
    for (let round = 0; round < 20; round++) {
      for (const key of ['a', 'b', 'c']) queue.add(key);
      await turn();
    }
    while (queue.length + queue.processing > 0) await turn();
    expect(most).toBe(1);
    expect(total).toBeGreaterThan(3);
    stop.abort();
    await finished;
  });

  it('waits for running reconciles when it is stopped and starts no other', async () => {
    let release: () => void = () => undefined;
    const started: string[] = [];
    const { queue, stop, finished } = start(async ({ key }, { signal }) => {
      started.push(key);
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      expect(signal.aborted).toBe(false);
      return undefined;
    });
    queue.add('a');
    queue.add('b');
    await turn();
    stop.abort();
    let ended = false;
    void finished.then(() => {
      ended = true;
    });
    await turn();
    expect(ended).toBe(false);
    release();
    await finished;
    expect(started).toEqual(['a']);
  });

  it.each([
    ['30 s, unless told otherwise', {}, 30_000],
    ['as long as it is told', { gracePeriodMs: 500 }, 500],
  ])('lets reconciles under way go on after the stop for %s, then aborts them', async (_name, options, graceMs) => {
    const aborted: number[] = [];
    const { clock, queue, stop, finished, outcomes } = start(async (_request, { signal }) => {
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      aborted.push(clock.monotonicNow());
      throw signal.reason;
    }, options);
    queue.add('a');
    await turn();
    await clock.advance(1000);
    stop.abort('closing');
    await clock.advance(graceMs - 1);
    expect(aborted).toEqual([]);
    await clock.advance(1);
    await finished;
    expect(aborted).toEqual([1000 + graceMs]);
    expect(outcomes).toMatchObject([{ type: 'failed', error: 'closing', willRetry: false }]);
  });

  it('ends with the last reconcile within the grace period, and leaves no timer (I9)', async () => {
    let release: () => void = () => undefined;
    const { clock, queue, stop, finished, outcomes } = start(async () => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return { requeueAfterMs: 5 };
    });
    queue.add('a');
    await turn();
    stop.abort();
    await clock.advance(10_000);
    release();
    await finished;
    expect(outcomes).toMatchObject([{ type: 'succeeded' }]);
    expect(clock.pendingTimers).toBe(0);
    expect([queue.length, queue.processing, queue.delayed]).toEqual([0, 0, 0]);
  });

  it('tells of a run that fails after the stop, which nobody tries again', async () => {
    const clock = new VirtualClock();
    const queue = new RateLimitingQueue<string>({ clock });
    const logged: unknown[] = [];
    const logger = { ...silentLogger, error: (message: string, fields?: LogFields) => logged.push([message, fields]) };
    const stop = new AbortController();
    const late = new Error('late');
    let fail: () => void = () => undefined;
    const reconcile = () => new Promise<undefined>((_, reject) => (fail = () => reject(late)));
    const finished = new ReconcileLoop({ queue, clock, logger, reconcile }).run(stop.signal);
    queue.add('a');
    await turn();
    stop.abort();
    fail();
    await finished;
    expect(logged).toEqual([['Error syncing; not trying again after the stop', { key: 'a', error: late }]]);
  });

  it('aborts reconciles at once where there is no grace period', async () => {
    const { clock, queue, stop, finished, outcomes } = start(
      async (_request, { signal }) => {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        return undefined;
      },
      { gracePeriodMs: 0 },
    );
    queue.add('a');
    await turn();
    stop.abort();
    await finished;
    expect([outcomes.length, clock.pendingTimers]).toEqual([1, 0]);
  });

  it.each([['before'], ['after']])(
    'aborts reconciles at once, %s the stop, when the right to work is lost',
    async (when) => {
      const clock = new VirtualClock();
      const queue = new RateLimitingQueue<string>({ clock });
      const lost = new AbortController();
      const stop = new AbortController();
      const reasons: unknown[] = [];
      const reconcile: SyncHandler = async (_request, { signal }) => {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        reasons.push(signal.reason);
        throw new Error('aborted');
      };
      const running = new ReconcileLoop({ queue, reconcile, clock, abort: lost.signal }).run(stop.signal);
      queue.add('a');
      await turn();
      if (when === 'after') stop.abort('stopped');
      await turn();
      expect(reasons).toEqual([]);
      lost.abort('lost');
      await running;
      expect([reasons.length, clock.pendingTimers, queue.isShuttingDown]).toEqual([1, 0, true]);
      expect(reasons).toEqual([when === 'after' ? 'stopped' : 'lost']);
    },
  );

  it('keeps the priority of a key that comes back', async () => {
    const clock = new VirtualClock();
    const queue = new RateLimitingQueue<string>({ clock, priority: {} });
    const seen: number[] = [];
    const stop = new AbortController();
    const reconcile: SyncHandler = async ({ key }) => {
      seen.push(queue.priorityOf(key));
      if (seen.length === 1) throw new Error('again');
      return { requeueAfterMs: seen.length === 2 ? 10 : 0 };
    };
    const running = new ReconcileLoop({ queue, reconcile, clock }).run(stop.signal);
    queue.add('a', 42);
    await turn();
    await clock.advance(5);
    await clock.advance(10);
    await clock.advance(10);
    expect(seen.slice(0, 4)).toEqual([42, 42, 42, 42]);
    stop.abort();
    await running;
  });

  it('begins nothing when it is stopped before it runs', async () => {
    const clock = new VirtualClock();
    const queue = new RateLimitingQueue<string>({ clock });
    queue.add('a');
    const seen: string[] = [];
    const reconcile: SyncHandler = async ({ key }) => void seen.push(key);
    await new ReconcileLoop({ queue, reconcile, clock }).run(AbortSignal.abort());
    expect([seen, clock.pendingTimers, queue.isShuttingDown]).toEqual([[], 0, true]);
  });

  it.each([-1, Number.NaN])('refuses a grace period of %s', (gracePeriodMs) => {
    const queue = new RateLimitingQueue<string>();
    expect(() => new ReconcileLoop({ queue, reconcile: async () => undefined, gracePeriodMs })).toThrow(TypeError);
  });

  it('refuses a number of workers below 1', () => {
    const queue = new RateLimitingQueue<string>();
    expect(() => new ReconcileLoop({ queue, reconcile: async () => undefined, workers: 0 })).toThrow(TypeError);
  });
});
