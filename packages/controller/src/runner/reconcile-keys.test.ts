import { silentLogger } from '@kapstan/api';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { expect, it } from 'vitest';
import { ReconcileLoop, type ReconcileRequest } from '../reconcile/reconcile-loop.ts';
import { RateLimitingQueue } from '../workqueue/index.ts';

it.each<[string, string, string]>([
  ['a/b/c', 'of two slashes', 'unexpected key format: "a/b/c"'],
  ['a/b/', 'with a slash at its end', 'unexpected key format: "a/b/"'],
  [5 as never, 'that is a number', 'expected string in workqueue but got 5'],
])(
  'a key that names no object is told once, dropped and never tried again, and the worker goes on: %s, %s',
  async (key, _what, message) => {
    const clock = new VirtualClock();
    const queue = new RateLimitingQueue<string>({ clock });
    const seen: ReconcileRequest[] = [];
    const told: unknown[] = [];
    const logger = { ...silentLogger, error: (...line: unknown[]) => void told.push(line) };
    const stop = new AbortController();
    const reconcile = async (request: ReconcileRequest): Promise<undefined> => void seen.push(request);
    const running = new ReconcileLoop({ queue, reconcile, clock, logger }).run(stop.signal);
    // The count of its tries is reset, too.
    queue.addRateLimited(key);
    await clock.advance(60_000);
    queue.add('a/b');
    await settle();
    const text = 'a key is not the name of an object; it is dropped';
    expect(told).toEqual([[text, { key, error: new TypeError(message) }]]);
    expect(seen).toEqual([{ key: 'a/b', namespace: 'a', name: 'b' }]);
    expect([queue.numRequeues(key), queue.length, queue.processing, clock.pendingTimers]).toEqual([0, 0, 0, 0]);
    stop.abort();
    await running;
  },
);
