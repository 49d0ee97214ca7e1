import { describe, expect, it } from 'vitest';
import { addAbortListener, removeAbortListener } from './abort-listeners.ts';
import { abortSignalOf, CallAbort, type CallSignal } from './call-signal.ts';

const reason = new Error('gone');

/** The same suite for an AbortSignal and for its replacement. */
describe.each<[string, () => { readonly signal: CallSignal; readonly abort: (why: unknown) => void }]>([
  [
    'an AbortSignal',
    () => {
      const controller = new AbortController();
      return { signal: controller.signal, abort: (why) => controller.abort(why) };
    },
  ],
  [
    'a CallAbort',
    () => {
      const signal = new CallAbort();
      return { signal, abort: (why) => signal.abort(why) };
    },
  ],
])('%s', (_name, open) => {
  it('is not aborted, then is, with the first reason', () => {
    const { signal, abort } = open();
    expect([signal.aborted, signal.reason]).toEqual([false, undefined]);
    signal.throwIfAborted();
    abort(reason);
    abort(new Error('later'));
    expect([signal.aborted, signal.reason]).toEqual([true, reason]);
    expect(() => signal.throwIfAborted()).toThrow(reason);
  });

  it('calls each listener once, in their order, also one that is added twice', () => {
    const { signal, abort } = open();
    const called: string[] = [];
    const first = (): void => void called.push('first');
    signal.addEventListener('abort', first, { once: true });
    signal.addEventListener('abort', () => called.push(`second: ${signal.aborted}`), { once: true });
    signal.addEventListener('abort', first, { once: true });
    abort(reason);
    abort(reason);
    expect(called).toEqual(['first', 'second: true']);
  });

  it('calls nobody who left, before or meanwhile, and nobody who comes too late', () => {
    const { signal, abort } = open();
    const called: string[] = [];
    const gone = (): void => void called.push('gone');
    const last = (): void => void called.push('last');
    signal.addEventListener('abort', gone);
    signal.addEventListener('abort', () => {
      called.push('leaves');
      signal.removeEventListener('abort', last);
      signal.addEventListener('abort', () => called.push('late'));
    });
    signal.addEventListener('abort', last);
    signal.removeEventListener('abort', gone);
    abort(reason);
    signal.addEventListener('abort', () => called.push('too late'));
    expect(called).toEqual(['leaves']);
  });

  it('is listened to by calls, watches and delays alike', () => {
    const { signal, abort } = open();
    const called: string[] = [];
    const left = (): void => void called.push('left');
    addAbortListener(signal, left);
    addAbortListener(signal, () => called.push('stayed'));
    removeAbortListener(signal, left);
    abort(reason);
    expect(called).toEqual(['stayed']);
  });

  it('becomes a real one for the platform, before and after it is aborted', () => {
    const { signal, abort } = open();
    const early = abortSignalOf(signal);
    expect([early instanceof AbortSignal, early.aborted]).toEqual([true, false]);
    abort(reason);
    const late = abortSignalOf(signal);
    expect([early.aborted, early.reason, late.aborted, late.reason]).toEqual([true, reason, true, reason]);
  });
});

it('a listener of a CallAbort that throws does not keep it from the others', async () => {
  const signal = new CallAbort();
  const called: string[] = [];
  const uncaught = new Promise((resolve) => process.once('uncaughtException', resolve));
  const others = process.listeners('uncaughtException').slice(0, -1);
  for (const other of others) process.off('uncaughtException', other);
  signal.addEventListener('abort', () => {
    throw reason;
  });
  signal.addEventListener('abort', () => called.push('second'));
  signal.abort(new Error('why'));
  expect(called).toEqual(['second']);
  expect(await uncaught).toBe(reason);
  for (const other of others) process.on('uncaughtException', other as () => void);
});
