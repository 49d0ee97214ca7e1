import { type Revision, silentLogger } from '@kapstan/api';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { rangeOfOne, StorageError } from '@kapstan/storage';
import { describe, expect, it } from 'vitest';
import { AuthToken } from './auth-token.ts';
import type { EndpointPool } from './endpoint-pool.ts';
import { WatchHub } from './watch-hub.ts';

/** Returns a hub whose members cannot be reached, and the times at which it asked for one. */
function unreachable() {
  const clock = new VirtualClock();
  const askedAtMs: number[] = [];
  const ready = async (): Promise<never> => {
    askedAtMs.push(clock.monotonicNow());
    throw new StorageError({ code: 'Unreachable' });
  };
  const pool = { ready } as unknown as EndpointPool;
  const token = new AuthToken(undefined);
  const hub = new WatchHub({ pool, token, clock, logger: silentLogger, quietKey: '/', onCompacted: () => undefined });
  const errors: unknown[] = [];
  const watch = () => {
    const sink = {
      onEvents: () => undefined,
      onProgress: () => undefined,
      onError: (error: Error) => void errors.push(error),
    };
    return hub.watch(rangeOfOne('/a'), { after: 0 as Revision }, sink);
  };
  return { clock, askedAtMs, hub, errors, watch };
}

describe('WatchHub', () => {
  it('tries again with growing delays up to 5 s, without notifying its watches', async () => {
    const { clock, askedAtMs, hub, errors, watch } = unreachable();
    const start = clock.monotonicNow();
    watch();
    await settle();
    // Advance in steps, so that each attempt has failed before the next is due.
    for (let step = 0; step < 420; step += 1) {
      await clock.advance(50);
      await settle();
    }
    expect(askedAtMs.map((at) => at - start)).toEqual([0, 50, 150, 350, 750, 1550, 3150, 6350, 11_350, 16_350]);
    expect(errors).toEqual([]);
    hub.end(new StorageError({ code: 'Closed' }));
    expect([errors.length, hub.size, clock.pendingTimers]).toEqual([1, 0, 0]);
  });

  it('tries no more when nobody watches', async () => {
    const { clock, askedAtMs, watch } = unreachable();
    const one = watch();
    await settle();
    one.close();
    await clock.advance(60_000);
    await settle();
    expect([askedAtMs.length, clock.pendingTimers]).toEqual([1, 0]);
  });
});
