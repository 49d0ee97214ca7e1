// Waits for callers' signals with one listener per signal, however many calls, watches and streams share it. From the
// eleventh listener on Node warns of a leak, and it searches all of them whenever one is added or removed.
import type { CallSignal } from './call-signal.ts';

const listenersOf = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls back once when the signal aborts. The caller must check for a signal that has aborted already. */
export function addAbortListener(signal: CallSignal | undefined, listener: () => void): void {
  if (signal === undefined) return;
  if (!(signal instanceof AbortSignal)) return signal.addEventListener('abort', listener);
  const listeners = listenersOf.get(signal) ?? listenTo(signal);
  listeners.add(listener);
}

export function removeAbortListener(signal: CallSignal | undefined, listener: () => void): void {
  if (signal === undefined) return;
  if (!(signal instanceof AbortSignal)) return signal.removeEventListener('abort', listener);
  const listeners = listenersOf.get(signal);
  listeners?.delete(listener);
  if (listeners?.size === 0) forget(signal);
}

function listenTo(signal: AbortSignal): Set<() => void> {
  const listeners = new Set<() => void>();
  listenersOf.set(signal, listeners);
  signal.addEventListener('abort', onAbort, { once: true });
  return listeners;
}

function onAbort(this: AbortSignal): void {
  const listeners = listenersOf.get(this) ?? [];
  listenersOf.delete(this);
  for (const listener of listeners) listener();
}

function forget(signal: AbortSignal): void {
  listenersOf.delete(signal);
  signal.removeEventListener('abort', onAbort);
}
