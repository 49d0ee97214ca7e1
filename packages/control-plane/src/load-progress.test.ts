import type { Logger } from '@kapstan/api';
import { silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import type { ResourceStack } from '@kapstan/apiserver';
import { expect, it } from 'vitest';
import { reportLoading } from './load-progress.ts';

/**
 * A stand-in with only the members that are read, because loading a real store large enough to need a second would take too long.
 */
function stack(resource: string, state: 'pending' | 'ready', loading: number): ResourceStack {
  const served = { definition: { group: '', resource } };
  return { served, cacher: { inspect: () => ({ state, loading }) } } as unknown as ResourceStack;
}

it('says once a second how much of what is still unread has come, until it is ended', async () => {
  const clock = new VirtualClock();
  const told: unknown[] = [];
  const logger: Logger = { ...silentLogger, info: (_message, fields) => void told.push(fields) };
  const open = new Set([stack('pods', 'pending', 300), stack('nodes', 'pending', 20), stack('secrets', 'ready', 0)]);
  const end = reportLoading({ open, clock, logger });
  await clock.advance(999);
  expect(told).toEqual([]);
  await clock.advance(1);
  expect(told).toEqual([{ objects: 320, unread: 2, most: 'pods' }]);
  await clock.advance(1_000);
  expect(told).toHaveLength(2);
  end();
  await clock.advance(5_000);
  expect(told).toHaveLength(2);
  expect(clock.pendingTimers).toBe(0);
});
