import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { addAbortListener, removeAbortListener } from './abort-listeners.ts';
import { delay } from './clock.ts';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

describe('who waits for one signal', () => {
  it('is one listener, however many share it; all are called once, in their order', () => {
    const controller = new AbortController();
    const { signal } = controller;
    const called: number[] = [];
    const waiting = Array.from({ length: 12 }, (_, index) => () => void called.push(index));
    for (const listener of waiting) addAbortListener(signal, listener);
    expect(listeners(signal)).toBe(1);
    removeAbortListener(signal, waiting[0] as () => void);
    expect(listeners(signal)).toBe(1);
    controller.abort();
    expect(called).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(listeners(signal)).toBe(0);
  });

  it('leaves nothing when the last one has gone', () => {
    const { signal } = new AbortController();
    const [one, two] = [() => undefined, () => undefined];
    for (const listener of [one, two]) addAbortListener(signal, listener);
    for (const listener of [one, two]) removeAbortListener(signal, listener);
    expect(listeners(signal)).toBe(0);
  });

  it('may be nobody: without a signal nothing happens', () => {
    let calls = 0;
    const listener = (): void => void calls++;
    expect(() => addAbortListener(undefined, listener)).not.toThrow();
    expect(() => removeAbortListener(undefined, listener)).not.toThrow();
    expect(calls).toBe(0);
  });

  it('delays share it too', async () => {
    const [clock, controller] = [new VirtualClock(), new AbortController()];
    const { signal } = controller;
    const waits = Array.from({ length: 12 }, (_, index) => delay(clock, index, signal).catch((reason) => reason));
    expect(listeners(signal)).toBe(1);
    await clock.advance(10);
    expect(listeners(signal)).toBe(1);
    controller.abort('enough');
    expect((await Promise.all(waits)).at(-1)).toBe('enough');
    expect([listeners(signal), clock.pendingTimers]).toEqual([0, 0]);
  });
});
