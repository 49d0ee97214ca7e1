// stopWithNpx sends this process a SIGTERM when npx has ended. npx starts a command in a shell, a SIGTERM to npx ends that shell, and some
// shells (dash) do not pass it on, so the server would run on. Used by serve.ts.
import { type Clock, systemClock } from '@kapstan/api';
import type { StopSignal } from './stop-signal.ts';

/** Time between two looks at the parent process. */
const lookMs = 500;

/** Does nothing in a process whose parent is not the shell of `npx kapstan`. Looks until the server is told to stop. */
export function stopWithNpx({ parent, signal }: StopSignal, clock: Clock = systemClock): void {
  const { npm_lifecycle_event: event, npm_lifecycle_script: script = '' } = process.env;
  // All programs below npx inherit the name of the event, so the script has to name this command too.
  if (event !== 'npx' || !/\bkapstan\b/.test(script)) return;
  const look = (): void => {
    // A second signal would cut the stop short.
    if (signal.aborted) return;
    if (process.ppid === parent) clock.setBackgroundTimer(look, lookMs);
    else process.kill(process.pid, 'SIGTERM');
  };
  look();
}
