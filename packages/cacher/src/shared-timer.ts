// Timers that the caches of a server share: calls that are due within the same second run in the same turn. So an idle
// server wakes up a few times a minute, not a few times for each of its caches, and asks a storage once for the
// progress of all. Used by feed.ts.
import type { CancelTimer, Clock } from '@kapstan/api';

const gridMs = 1000;

interface SharedTimer {
  readonly callbacks: Set<{ readonly call: () => void }>;
  readonly cancel: CancelTimer;
}

const timersOf = new WeakMap<Clock, Map<number, SharedTimer>>();

/**
 * Runs `call` once after `delayMs`, or up to a second later, without keeping the process alive. Callbacks that are due together run in the
 * order in which they were set.
 */
export function setSharedTimer(clock: Clock, call: () => void, delayMs: number): CancelTimer {
  const timers = timersOf.get(clock) ?? new Map<number, SharedTimer>();
  timersOf.set(clock, timers);
  const nowMs = clock.monotonicNow();
  const dueMs = Math.ceil((nowMs + delayMs) / gridMs) * gridMs;
  const timer = timers.get(dueMs) ?? startTimer(timers, dueMs, { clock, delayMs: dueMs - nowMs });
  const callback = { call };
  timer.callbacks.add(callback);
  return () => {
    if (!timer.callbacks.delete(callback) || timer.callbacks.size > 0 || timers.get(dueMs) !== timer) return;
    timer.cancel();
    timers.delete(dueMs);
  };
}

function startTimer(
  timers: Map<number, SharedTimer>,
  dueMs: number,
  { clock, delayMs }: { readonly clock: Clock; readonly delayMs: number },
): SharedTimer {
  const callbacks: SharedTimer['callbacks'] = new Set();
  const onDue = (): void => {
    if (timers.get(dueMs) === timer) timers.delete(dueMs);
    try {
      for (const callback of callbacks) {
        callbacks.delete(callback);
        callback.call();
      }
    } finally {
      // One of them threw. Nothing may depend on another cache's errors.
      if (callbacks.size > 0) clock.setBackgroundTimer(onDue, 0);
    }
  };
  const timer: SharedTimer = { callbacks, cancel: clock.setBackgroundTimer(onDue, delayMs) };
  timers.set(dueMs, timer);
  return timer;
}
