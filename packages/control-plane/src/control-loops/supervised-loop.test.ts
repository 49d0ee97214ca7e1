import { type Logger, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ControlLoop, ControlLoopContext } from './control-loop.ts';
import { SupervisedLoop } from './supervised-loop.ts';

let clock: VirtualClock;
let stop: AbortController;
let pauses: unknown[];

beforeEach(() => {
  clock = new VirtualClock();
  stop = new AbortController();
  pauses = [];
});

function supervise(loop: ControlLoop): SupervisedLoop {
  const logger: Logger = { ...silentLogger, error: (_message, fields) => pauses.push(fields?.pauseMs) };
  // The loops of these tests use nothing else from the context.
  const context = { clock, logger, informers: { start: () => undefined } } as unknown as ControlLoopContext;
  return new SupervisedLoop({ name: 'echo-controller', loop, context });
}

/** Resolves when the signal aborts. */
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

const works: ControlLoop = ({ onSynced }, signal) => {
  onSynced();
  return aborted(signal);
};

describe('a supervised loop', () => {
  it('is not ready before it has seen all that it works on, and is afterwards', async () => {
    let sync: () => void = () => undefined;
    const loop = supervise((context, signal) => {
      sync = context.onSynced;
      return aborted(signal);
    });
    const running = loop.run(stop.signal);
    expect([loop.readiness()?.message, loop.isRunning]).toEqual(['not finished', false]);
    sync();
    await loop.whenSynced();
    expect([loop.readiness(), loop.isRunning]).toEqual([undefined, true]);
    stop.abort();
    await running;
    expect(pauses).toEqual([]);
  });

  it.each<[string, () => Promise<void>, string]>([
    ['rejects', () => Promise.reject(new Error('boom')), 'boom'],
    [
      'throws',
      () => {
        throw new Error('boom');
      },
      'boom',
    ],
    ['returns', () => Promise.resolve(), 'the control loop ended unexpectedly'],
  ])('is started again when it %s, and says why it is down', async (_how, fail, message) => {
    let runs = 0;
    const loop = supervise((context, signal) => (++runs === 1 ? fail() : works(context, signal)));
    const running = loop.run(stop.signal);
    await clock.advance(999);
    expect([runs, loop.readiness()?.message, loop.restarts]).toEqual([1, message, 0]);
    await clock.advance(1);
    expect([runs, loop.readiness(), loop.restarts]).toEqual([2, undefined, 1]);
    stop.abort();
    await running;
    expect(clock.pendingTimers).toBe(0);
  });

  it('waits twice as long each time, a minute at most, and after ten good minutes a second again', async () => {
    let isBroken = true;
    let fail: (error: Error) => void = () => undefined;
    const loop = supervise(({ onSynced }) => {
      onSynced();
      return isBroken ? Promise.reject(new Error('boom')) : new Promise((_, reject) => (fail = reject));
    });
    const running = loop.run(stop.signal);
    await clock.advance(1000 + 2000 + 4000 + 8000 + 16_000 + 32_000 + 60_000);
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
    isBroken = false;
    await clock.advance(60_000 + 600_000);
    pauses = [];
    fail(new Error('boom'));
    await clock.advance(0);
    expect(pauses).toEqual([1000]);
    stop.abort();
    await running;
  });

  it('takes what a failed run has left for over: its signal aborts, and its late sync does not count', async () => {
    const signals: AbortSignal[] = [];
    const syncs: (() => void)[] = [];
    const loop = supervise((context, signal) => {
      signals.push(signal);
      syncs.push(context.onSynced);
      return signals.length === 1 ? Promise.reject(new Error('boom')) : aborted(signal);
    });
    const running = loop.run(stop.signal);
    await clock.advance(1000);
    expect(signals.map((signal) => signal.aborted)).toEqual([true, false]);
    syncs[0]?.();
    // The reason for the restart is still reported.
    expect(loop.readiness()?.message).toBe('boom');
    stop.abort();
    await running;
  });

  it('ends while it waits to be started again', async () => {
    const loop = supervise(() => Promise.reject(new Error('boom')));
    const running = loop.run(stop.signal);
    await clock.advance(0);
    stop.abort();
    await running;
    expect([clock.pendingTimers, pauses]).toEqual([0, [1000]]);
  });
});
