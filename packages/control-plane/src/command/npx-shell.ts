// stopWithNpx sends this process a SIGTERM when npx ends. npx starts a command in a shell, a SIGTERM to npx ends that shell, and some shells
// (dash) do not pass it on, so the server would run on. Used by serve.ts.
import { type Clock, systemClock } from '@kapstan/api';

/** Time between two looks at the parent process. */
const lookMs = 500;

/** Does nothing in a process that npx did not start. Returns a function that stops it. */
export function stopWithNpx(clock: Clock = systemClock): () => void {
  if (process.env.npm_lifecycle_event !== 'npx') return () => undefined;
  const shell = process.ppid;
  let cancel: () => void;
  const look = (): void => {
    if (process.ppid === shell) cancel = clock.setBackgroundTimer(look, lookMs);
    else process.kill(process.pid, 'SIGTERM');
  };
  cancel = clock.setBackgroundTimer(look, lookMs);
  return () => cancel();
}
