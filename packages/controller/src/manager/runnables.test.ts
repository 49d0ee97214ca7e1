import { setTimeout as delay } from 'node:timers/promises';
import { deepCopy, type LogFields, type Resource, type ResourceClient, silentLogger } from '@kapstan/api';
import { notFound } from '@kapstan/api/errors';
import {
  configMap,
  FakeListerWatcher,
  settle,
  type TestConfigMap,
  testConfigMaps,
  VirtualClock,
} from '@kapstan/api/testing';
import type { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import { beforeEach, describe, expect, it } from 'vitest';
import { controller } from '../builder/controller-builder.ts';
import { LeadershipLostError } from '../leader-election/leader-elector.ts';
import { run } from '../run.ts';
import { Manager } from './manager.ts';
import type { ManagerOptions } from './manager-options.ts';
import type { Runnable, RunnableContext } from './runnables.ts';

let clock: VirtualClock;
let source: FakeListerWatcher<TestConfigMap>;
let lease: Lease | undefined;
let isCutOff: boolean;
let events: string[];
let stop: AbortController;
let told: [string, LogFields | undefined][];
beforeEach(() => {
  clock = new VirtualClock();
  source = new FakeListerWatcher();
  lease = undefined;
  isCutOff = false;
  events = [];
  stop = new AbortController();
  told = [];
});

const idle = controller(testConfigMaps).reconcile(async () => undefined);
const write = async ({ kind }: Resource, written: Lease): Promise<Lease> => {
  if (isCutOff) throw new Error('connection refused');
  if (kind !== 'Lease') return written;
  lease = deepCopy(written) as Lease;
  return lease;
};
const client = {
  listerWatcher: () => source,
  get: async () => {
    if (isCutOff) throw new Error('connection refused');
    if (lease === undefined) throw notFound({ group: '', resource: 'leases' }, 'x');
    return deepCopy(lease);
  },
  create: write,
  update: write,
  patch: async () => configMap({ name: 'a' }),
} as unknown as ResourceClient;
/** A Lease that shows another process as the leader. */
const led = (): Lease =>
  ({ metadata: { name: 'x' }, spec: { holderIdentity: 'other', leaseDurationSeconds: 15 } }) as Lease;

function manage(options: Partial<ManagerOptions> = {}, controllers = [idle]) {
  const error = (message: string, fields?: LogFields) => void told.push([message, fields]);
  const logger = { ...silentLogger, error };
  const manager = new Manager(controllers, { client, clock, logger, gracePeriodMs: 5000, ...options });
  const ended = () =>
    manager.run(stop.signal).then(
      () => undefined,
      (failure: unknown) => failure,
    );
  return { manager, ended };
}

/** Records when it begins and ends, and ends with its signal. */
function worker(name: string, more: Partial<Runnable> = {}): Runnable {
  const work = async ({ signal }: RunnableContext): Promise<void> => {
    events.push(`${name} begins`);
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    events.push(`${name} ends`);
  };
  return { name, run: work, ...more };
}
const always = { needsLeaderElection: false } as const;

describe('a runnable of a manager', () => {
  it('begins when the caches are filled, and ends with the manager', async () => {
    source.add(configMap({ name: 'a' }));
    source.failNext('watch', new Error('refused'));
    source.failNext('list', new Error('refused'));
    const { manager, ended } = manage({ runnables: [worker('given')] });
    manager.add(worker('added'));
    const end = ended();
    await settle();
    expect(events).toEqual([]);
    await clock.advance(30_000);
    expect(events).toEqual(['given begins', 'added begins']);
    manager.add(worker('late'));
    await settle();
    expect(events.at(-1)).toBe('late begins');
    stop.abort();
    expect(await end).toBeUndefined();
    expect(events.slice(3).sort()).toEqual(['added ends', 'given ends', 'late ends']);
    expect(() => manager.add(worker('after'))).toThrow('the manager is ending: it does not start the runnable after');
  });

  it('runs only on the leader, unless it needs no leadership', async () => {
    lease = led();
    const { ended } = manage({
      leaderElection: { name: 'x' },
      runnables: [worker('leading'), worker('anywhere', always)],
    });
    const end = ended();
    await clock.advance(10_000);
    expect(events).toEqual(['anywhere begins']);
    await clock.advance(20_000);
    expect(events).toEqual(['anywhere begins', 'leading begins']);
    stop.abort();
    expect(await end).toBeUndefined();
    // Runnables of every process end after the leader's work.
    expect(events.slice(2)).toEqual(['leading ends', 'anywhere ends']);
    expect(lease?.spec?.holderIdentity).toBe('');
  });

  it('is stopped when the leadership is lost', async () => {
    const { ended } = manage({ leaderElection: { name: 'x' }, runnables: [worker('leading'), worker('any', always)] });
    const end = ended();
    await clock.advance(0);
    isCutOff = true;
    await clock.advance(20_000);
    expect(await end).toBeInstanceOf(LeadershipLostError);
    expect(events).toEqual(['any begins', 'leading begins', 'leading ends', 'any ends']);
  });

  it.each([
    ['an error', {}, async () => Promise.reject(new Error('mine'))],
    [
      'an error at once',
      {},
      (): Promise<void> => {
        throw new Error('mine');
      },
    ],
    ['an error of one that needs no leadership', always, async () => Promise.reject(new Error('mine'))],
  ])('ends the manager by %s, which its run rejects with, and the others end in order', async (_what, more, fail) => {
    const failing: Runnable = { name: 'failing', run: fail, ...more };
    const { manager, ended } = manage({ leaderElection: { name: 'x' }, runnables: [worker('other')] });
    const end = ended();
    await settle();
    manager.add(failing);
    await clock.advance(0);
    expect(await end).toEqual(new Error('mine'));
    expect(events).toEqual(['other begins', 'other ends']);
    expect(told).toEqual([['a runnable failed; the manager ends', { runnable: 'failing', error: new Error('mine') }]]);
    expect(lease?.spec?.holderIdentity).toBe('');
    expect([clock.pendingTimers, source.openWatches]).toEqual([0, 0]);
  });

  it('may end before the manager does', async () => {
    const { ended } = manage({ runnables: [{ name: 'short', run: async () => void events.push('done') }] });
    const end = ended();
    await settle();
    stop.abort();
    expect([await end, events]).toEqual([undefined, ['done']]);
  });

  it('that ends with the reason of its signal has not failed; another error after the stop is logged', async () => {
    const heeding = ({ signal }: RunnableContext) =>
      new Promise<void>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const failing = ({ signal }: RunnableContext) =>
      new Promise<void>((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('late'))));
    const waiting = ({ signal }: RunnableContext) => delay(60_000, undefined, { signal });
    const { ended } = manage({
      runnables: [
        { name: 'heeding', run: heeding },
        { name: 'waiting', run: waiting },
        { name: 'failing', run: failing },
      ],
    });
    const end = ended();
    await settle();
    stop.abort();
    expect(await end).toBeUndefined();
    expect(told).toEqual([['a runnable failed after the stop', { runnable: 'failing', error: new Error('late') }]]);
  });

  it.each([
    [
      {},
      'failed waiting for all controllers to end within grace period of 5000 ms and 2000 ms for aborted runs; still under way: runnable deaf',
    ],
    [always, 'failed waiting for all runnables to end within grace period of 5000 ms: runnable deaf'],
  ])('that does not end is named in the error after the grace period: %j', async (more, message) => {
    const { ended } = manage({ runnables: [{ name: 'deaf', run: () => new Promise(() => undefined), ...more }] });
    const end = ended();
    await settle();
    stop.abort();
    await clock.advance(10_000);
    expect(await end).toEqual(new Error(message));
  });

  it('writes through its client while it leads, and reads the caches', async () => {
    source.add(configMap({ name: 'a' }));
    const seen: unknown[] = [];
    let own: RunnableContext | undefined;
    const { ended } = manage({
      leaderElection: { name: 'x' },
      runnables: [
        {
          name: 'writer',
          run: async (context: RunnableContext): Promise<void> => {
            own = context;
            seen.push(context.cache(testConfigMaps).list().length);
            const target = { namespace: 'default', name: 'a' };
            seen.push((await context.client.patch(testConfigMaps, target, { type: 'merge', body: {} })).kind);
            context.log.error('said', { more: 1 });
          },
        },
      ],
    });
    const end = ended();
    await settle();
    expect(seen).toEqual([1, 'ConfigMap']);
    expect(told).toEqual([['said', { runnable: 'writer', more: 1 }]]);
    isCutOff = true;
    await clock.advance(20_000);
    await end;
    const late = own?.client.patch(testConfigMaps, { name: 'a' }, { type: 'merge', body: {} });
    await expect(late).rejects.toBeInstanceOf(LeadershipLostError);
  });

  it('may be all that a manager runs', async () => {
    const end = run({ client, clock, signal: stop.signal, runnables: [worker('alone')] });
    await settle();
    expect(events).toEqual(['alone begins']);
    stop.abort();
    await end;
    expect(events).toEqual(['alone begins', 'alone ends']);
  });

  it.each<[string, unknown, string]>([
    ['no name', { run: async () => undefined }, 'a runnable needs a name for logs and errors, not undefined'],
    ['no function', { name: 'a' }, 'run of the runnable a must be a function, not undefined'],
    [
      'a word',
      { name: 'a', run: async () => undefined, needsLeaderElection: 'no' },
      'needsLeaderElection must be true or false',
    ],
    [
      'an unknown option',
      { name: 'a', run: async () => undefined, leader: false },
      'a runnable: unknown option "leader"',
    ],
    ['nothing', undefined, 'options of a runnable must be an object, not undefined'],
  ])('is refused with TypeError: %s', (_what, runnable, message) => {
    const { manager } = manage();
    for (const refuse of [
      () => manager.add(runnable as Runnable),
      () => manage({ runnables: [runnable as Runnable] }),
    ]) {
      expect(refuse).toThrow(TypeError);
      expect(refuse).toThrow(message);
    }
  });
});
