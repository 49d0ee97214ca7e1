// Joins two connections: bytes from each go to the other as fast as that takes them. Used by tunnel-upgrade.ts. Source:
// apimachinery pkg/util/proxy (tryUpgrade): when one side ends, both end after the bytes under way.
import type { Socket } from 'node:net';
import type { Clock } from '@kapstan/api';

export interface JoinOptions {
  readonly clock: Clock;
  /** Longest silence on both sides, in milliseconds. 0 = no limit. */
  readonly idleMs: number;
}

/** Time for a side that does not read to take the last bytes. */
const lingerMs = 10_000;

/**
 * Joins the sockets; the returned function ends both. Invariant: neither outlives the other by more than the time for
 * the last bytes.
 */
export function joinSockets(one: Socket, other: Socket, { clock, idleMs }: JoinOptions): () => void {
  const end = (): void => {
    one.destroy();
    other.destroy();
  };
  let cancelLinger: () => void = () => undefined;
  const finish = (): void => {
    cancelLinger();
    cancelLinger = clock.setBackgroundTimer(end, lingerMs);
    one.destroySoon();
    other.destroySoon();
  };
  const cancelIdle = idleMs === 0 ? () => undefined : watchSilence(one, other, { clock, idleMs, end });
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => undefined);
    from.pipe(to);
    from.once('end', finish);
    from.once('close', () => {
      finish();
      if (!to.destroyed) return;
      cancelIdle();
      cancelLinger();
    });
  }
  return end;
}

/**
 * Looks at the byte counters now and then, which costs nothing per byte. Ends the tunnel after one to two times
 * `idleMs`.
 */
function watchSilence(
  one: Socket,
  other: Socket,
  { clock, idleMs, end }: JoinOptions & { readonly end: () => void },
): () => void {
  const count = (): number => one.bytesRead + other.bytesRead;
  let seen = count();
  let cancel: () => void = () => undefined;
  const look = (): void => {
    const now = count();
    if (now === seen) return end();
    seen = now;
    cancel = clock.setBackgroundTimer(look, idleMs);
  };
  cancel = clock.setBackgroundTimer(look, idleMs);
  return () => cancel();
}
