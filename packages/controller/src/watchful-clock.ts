// WatchfulClock: a clock whose timers look at something before they do their work. After a pause of the process all overdue
// timers run, a retry of a write perhaps before the one that ends the leadership; so each looks first. Used by run.ts.
import type { Clock } from '@kapstan/api';

/** `look` is called before each timer's callback; it must not throw. */
export function watchfulClock(clock: Clock, look: () => void): Clock {
  const after = (callback: () => void) => (): void => {
    look();
    callback();
  };
  return {
    now: () => clock.now(),
    monotonicNow: () => clock.monotonicNow(),
    setTimer: (callback, delayMs) => clock.setTimer(after(callback), delayMs),
    setBackgroundTimer: (callback, delayMs) => clock.setBackgroundTimer(after(callback), delayMs),
  };
}
