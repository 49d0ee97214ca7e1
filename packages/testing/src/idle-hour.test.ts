import { expect, it, vi } from 'vitest';
import { testCluster } from './test-cluster.ts';

it('costs few timers in an idle hour, because its caches share theirs', async () => {
  await using cluster = await testCluster({ http: 'off' });
  await cluster.settle();
  const timers = vi.spyOn(cluster.clock, 'setTimer');
  await cluster.advance(3_600_000);
  // It is about 2300. When each of the 58 caches had two timers of its own, they set 10,000 more, and each request for
  // progress told all caches.
  expect(timers.mock.calls.length).toBeLessThan(4000);
}, 60_000);
