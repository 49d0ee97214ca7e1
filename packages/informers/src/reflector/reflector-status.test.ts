import type { ListerWatcher } from '@kapstan/api';
import { expired, unauthorized } from '@kapstan/api/errors';
import { FakeListerWatcher, pod, settle, type TestPod, testPods, VirtualClock } from '@kapstan/api/testing';
import { throwError } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SharedInformer } from '../shared-informer.ts';
import type { SharedInformerOptions } from '../shared-informer-options.ts';

const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' });

let clock: VirtualClock;
let informer: SharedInformer<TestPod>;
/** The error that the source answers everything with; undefined = it works. */
let trouble: Error | undefined;
let warnings: string[];
const listen = (warning: Error): void => void warnings.push(warning.message);
const source = new FakeListerWatcher<TestPod>({ startVersion: 10 });
const troubled: ListerWatcher<TestPod> = {
  list: (options) => (trouble === undefined ? source.list(options) : Promise.reject(trouble)),
  watch: (options) => (trouble === undefined ? source.watch(options) : throwError(() => trouble)),
};

beforeEach(() => {
  clock = new VirtualClock();
  trouble = undefined;
  warnings = [];
  process.on('warning', listen);
});
afterEach(async () => {
  process.off('warning', listen);
  await informer.close();
});

async function start(options: SharedInformerOptions<TestPod> = {}): Promise<void> {
  informer = new SharedInformer(troubled, { clock, random: () => 0, resource: testPods, ...options });
  informer.start();
  await settle();
}

const unauthorizedError = 'pods: failed to list or watch, trying again: Unauthorized';
const unreachable = `pods: failed to list or watch, trying again: ${refused.message}`;

describe('an informer that nobody asks how its source is doing', () => {
  it.each([
    ['a bad token', unauthorized('Unauthorized'), unauthorizedError],
    ['a dead port', refused, unreachable],
  ])('warns of %s once, not at each retry', async (_, error, text) => {
    trouble = error;
    await start();
    expect(warnings).toEqual([text]);
    await clock.advance(300_000);
    expect(warnings).toEqual([text]);
  });

  it('warns again when the trouble is another one, and when it comes back', async () => {
    trouble = refused;
    await start();
    trouble = unauthorized('Unauthorized');
    await clock.advance(60_000);
    trouble = undefined;
    await clock.advance(60_000);
    expect(informer.status.phase).toBe('live');
    trouble = unauthorized('Unauthorized');
    source.resetWatches(trouble);
    await clock.advance(60_000);
    expect(warnings).toEqual([unreachable, unauthorizedError, unauthorizedError]);
  });

  it('is silent about a version that has expired', async () => {
    source.add(pod({ name: 'a' }));
    await start();
    source.resetWatches(expired('too old resource version'));
    await clock.advance(60_000);
    expect([informer.status.phase, warnings]).toEqual(['live', []]);
  });

  it('is silent where onWatchError is told instead, of each failure', async () => {
    const told: unknown[] = [];
    trouble = refused;
    await start({ onWatchError: (error) => told.push(error) });
    await clock.advance(60_000);
    expect(told.length).toBeGreaterThan(2);
    expect(warnings).toEqual([]);
  });
});
