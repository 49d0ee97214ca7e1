// The builder and its manager against a whole server in this process.
import { type DeepReadonly, defineResource, isNotFound, type ObjectOf } from '@kapstan/api';
import {
  type Controller,
  controller,
  generationChanged,
  LeadershipLostError,
  Manager,
  type ManagerOptions,
  requeueAfter,
  TerminalError,
} from '@kapstan/controller';
import { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import { ConfigMap, Event, Namespace } from '@kapstan/kinds/core/v1';
import { type TestCluster, testCluster } from '@kapstan/testing';
import { Subject } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const Echo = defineResource({
  group: 'demo.dev',
  version: 'v1',
  kind: 'Echo',
  spec: {
    type: 'object',
    properties: { text: { type: 'string' }, copies: { type: 'integer', minimum: 0, default: 1 } },
    required: ['text'],
  },
  status: { type: 'object', properties: { ready: { type: 'integer' } } },
});

const echo = controller(Echo)
  .owns(ConfigMap)
  .reconcile(async (obj, { apply, status, children, event, cache, client }) => {
    const copies = obj.spec.copies ?? 1;
    for (let i = 0; i < copies; i++)
      await apply(ConfigMap, { metadata: { name: `${obj.metadata?.name}-${i}` }, data: { text: obj.spec.text } });
    for (const { metadata } of children(ConfigMap).slice(copies))
      await client.delete(ConfigMap, { namespace: 'default', name: metadata?.name ?? '' });
    await status({ ready: children(ConfigMap).length });
    if (cache(ConfigMap).get({ namespace: 'default', name: `${obj.metadata?.name}-0` }) !== undefined)
      event('Normal', 'Echoed', `${copies} times`);
  });

let cluster: TestCluster;
let stop: AbortController;
let running: Promise<unknown>;
beforeEach(async () => {
  cluster = await testCluster();
  stop = new AbortController();
  running = Promise.resolve();
});
afterEach(async () => {
  stop.abort();
  await cluster.settle();
  await running;
  await cluster.close();
});

async function start(controllers: readonly Controller[], options: Partial<ManagerOptions> = {}): Promise<Manager> {
  const manager = new Manager(controllers, {
    client: cluster.client,
    clock: cluster.clock,
    installCrds: true,
    ...options,
  });
  running = manager.run(stop.signal);
  running.catch(() => undefined);
  await cluster.settle();
  await manager.whenReady();
  return manager;
}

const names = async () =>
  (await cluster.client.listPage(ConfigMap, { namespace: 'default' })).items
    .map(({ metadata }) => metadata?.name ?? '')
    .filter((name) => name !== 'kube-root-ca.crt')
    .sort();
const at = { namespace: 'default', name: 'a' };

/** Records which objects were reconciled, and runs `act` for each. */
function recorder(act: (name: string, run: number) => unknown = () => undefined) {
  const runs: string[] = [];
  const reconcile = async (object: DeepReadonly<ObjectOf<typeof Echo>>) => {
    const name = object.metadata?.name ?? '';
    runs.push(name);
    return (await act(name, runs.length)) as undefined;
  };
  return { runs, reconcile };
}

const create = async (name: string, spec: { text: string; copies?: number } = { text: 'hi' }, namespace = 'default') =>
  await cluster.client.create(Echo, { metadata: { namespace, name }, spec });
const numberOf = async (
  manager: Manager,
  name: string,
  labels: Readonly<Record<string, string>>,
): Promise<number | undefined> => {
  const metric = await manager.metrics.getSingleMetric(name)?.get();
  const isMatch = (own: object) => Object.entries(labels).every(([label, value]) => own[label as never] === value);
  const found = metric?.values.filter((value) => isMatch(value.labels)) ?? [];
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
};

describe('a controller made with the builder', () => {
  it('makes children, owned and as wanted, and says so in the status and in an event', async () => {
    await start([echo]);
    await create('a', { text: 'hi', copies: 2 });
    await cluster.settle();
    expect(await names()).toEqual(['a-0', 'a-1']);
    const child = await cluster.client.get(ConfigMap, { namespace: 'default', name: 'a-0' });
    const owner = await cluster.client.get(Echo, at);
    expect(child.data).toEqual({ text: 'hi' });
    const { uid } = owner.metadata ?? {};
    expect(child.metadata?.ownerReferences).toEqual([
      { apiVersion: 'demo.dev/v1', kind: 'Echo', name: 'a', uid, controller: true, blockOwnerDeletion: true },
    ]);
    expect(child.metadata?.managedFields).toMatchObject([{ manager: 'echo', operation: 'Apply' }]);
    expect(owner.status).toEqual({ ready: 2 });
    const { items } = await cluster.client.listPage(Event, { namespace: 'default' });
    expect(items).toMatchObject([
      {
        reason: 'Echoed',
        message: '2 times',
        source: { component: 'echo' },
        involvedObject: { kind: 'Echo', name: 'a', uid },
      },
    ]);
  });

  it('puts right what others do to its children, and follows the spec', async () => {
    await start([echo]);
    await create('a', { text: 'hi', copies: 2 });
    await cluster.settle();
    await cluster.client.delete(ConfigMap, { namespace: 'default', name: 'a-1' });
    await cluster.client.patch(
      ConfigMap,
      { namespace: 'default', name: 'a-0' },
      { type: 'merge', body: { data: { text: 'no' } } },
    );
    await cluster.settle();
    expect(await names()).toEqual(['a-0', 'a-1']);
    expect((await cluster.client.get(ConfigMap, { namespace: 'default', name: 'a-0' })).data).toEqual({ text: 'hi' });
    await cluster.client.patch(Echo, at, { type: 'merge', body: { spec: { copies: 1 } } });
    await cluster.settle();
    expect(await names()).toEqual(['a-0']);
    expect((await cluster.client.get(Echo, at)).status).toEqual({ ready: 1 });
  });

  it('comes to rest: nothing is written when everything is as wanted', async () => {
    const manager = await start([echo]);
    await create('a', { text: 'hi', copies: 3 });
    await cluster.settle();
    const versions = async () => [
      (await cluster.client.get(Echo, at)).metadata?.resourceVersion,
      ...(await cluster.client.listPage(ConfigMap, { namespace: 'default' })).items.map(
        ({ metadata }) => metadata?.resourceVersion,
      ),
    ];
    const before = await versions();
    const runs = await numberOf(manager, 'controller_runtime_reconcile_total', { result: 'success' });
    await cluster.advance(60_000);
    expect(await versions()).toEqual(before);
    expect(await numberOf(manager, 'controller_runtime_reconcile_total', { result: 'success' })).toBe(runs);
  });

  it('keeps working through watches that break, go silent and expire', async () => {
    await start([echo]);
    await create('a', { text: 'hi', copies: 1 });
    await cluster.settle();
    for (const kind of ['blackhole', 'reset', '410'] as const) {
      const fault = await cluster.fault(kind === '410' ? { kind } : { kind, match: 'watch' });
      await cluster.client.delete(ConfigMap, { namespace: 'default', name: 'a-0' });
      await cluster.advance(180_000);
      await fault.heal();
      await cluster.advance(60_000);
      expect(await names(), kind).toEqual(['a-0']);
    }
  });

  it('reconciles what a watched kind is mapped to, from its old and its new state, and what an observable names', async () => {
    const { runs, reconcile } = recorder();
    const trigger = new Subject<string>();
    const mapped = controller(Echo)
      .watches(ConfigMap, ({ data }, { cache }) =>
        cache(Echo)
          .list()
          .filter(({ spec }) => spec.text === data?.for)
          .map(({ metadata }) => ({ namespace: 'default', name: metadata?.name ?? '' })),
      )
      .on(trigger, (name) => (name === 'bad' ? fail() : [`default/${name}`]))
      .reconcile(reconcile);
    await create('a', { text: 'one' }).catch(() => undefined);
    await start([mapped]);
    await create('a', { text: 'one' });
    await create('b', { text: 'two' });
    await cluster.settle();
    runs.length = 0;
    await cluster.client.create(ConfigMap, { metadata: { namespace: 'default', name: 'm' }, data: { for: 'one' } });
    await cluster.settle();
    expect(runs).toEqual(['a']);
    await cluster.client.patch(
      ConfigMap,
      { namespace: 'default', name: 'm' },
      { type: 'merge', body: { data: { for: 'two' } } },
    );
    await cluster.settle();
    expect(runs.slice(1).sort()).toEqual(['a', 'b']);
    trigger.next('bad');
    trigger.next('b');
    trigger.next('gone');
    trigger.error(new Error('over'));
    await cluster.settle();
    expect(runs.slice(3), 'objects that are not there are left out').toEqual(['b']);
  });

  it('hears only the changes that its predicates let through', async () => {
    const { runs, reconcile } = recorder();
    const quiet = controller(Echo)
      .when(generationChanged)
      .when(({ object }) => object?.metadata?.labels?.quiet !== 'yes')
      .owns(ConfigMap, { when: ({ type }) => type === 'deleted' })
      .reconcile(async (object, { apply }) => {
        await apply(ConfigMap, { metadata: { name: `${object.metadata?.name}-x` } });
        await reconcile(object);
      });
    await start([quiet]);
    await create('a');
    await cluster.client.create(Echo, {
      metadata: { namespace: 'default', name: 'b', labels: { quiet: 'yes' } },
      spec: { text: '' },
    });
    await cluster.settle();
    expect(runs).toEqual(['a']);
    await cluster.client.patch(Echo, at, { type: 'merge', body: { metadata: { labels: { other: '1' } } } });
    await cluster.settle();
    expect(runs).toEqual(['a']);
    await cluster.client.patch(Echo, at, { type: 'merge', body: { spec: { text: 'changed' } } });
    await cluster.settle();
    expect(runs).toEqual(['a', 'a']);
    await cluster.client.delete(ConfigMap, { namespace: 'default', name: 'a-x' });
    await cluster.settle();
    expect(runs).toEqual(['a', 'a', 'a']);
  });

  it('comes back after(ms), retries errors with backoff, leaves terminal ones, and counts all of it', async () => {
    const { runs, reconcile } = recorder((name, run) => {
      if (name === 'later' && run === 1) return requeueAfter(5000);
      if (name === 'failing' && run < 4) throw new Error('not yet');
      if (name === 'hopeless') throw new TerminalError('never');
      return undefined;
    });
    const manager = await start([controller(Echo).reconcile(reconcile)]);
    const play = async (name: string, ms: number): Promise<number> => {
      runs.length = 0;
      await create(name);
      await cluster.advance(ms);
      return runs.length;
    };
    expect(await play('later', 4999)).toBe(1);
    await cluster.advance(1);
    expect(runs.length).toBe(2);
    expect(await play('failing', 5 + 10 + 20)).toBe(4);
    expect(await play('hopeless', 60_000)).toBe(1);
    const total = (result: string) =>
      numberOf(manager, 'controller_runtime_reconcile_total', { controller: 'echo', result });
    expect([
      await total('success'),
      await total('error'),
      await total('requeue_after'),
      await total('requeue'),
    ]).toEqual([2, 4, 1, 0]);
    expect(await numberOf(manager, 'controller_runtime_reconcile_errors_total', {})).toBe(4);
    expect(await numberOf(manager, 'controller_runtime_terminal_reconcile_errors_total', {})).toBe(1);
    expect(await numberOf(manager, 'workqueue_retries_total', { name: 'echo' })).toBe(4);
    expect(await numberOf(manager, 'workqueue_depth', { name: 'echo' })).toBe(0);
    expect(await numberOf(manager, 'controller_runtime_max_concurrent_reconciles', {})).toBe(1);
    expect(await numberOf(manager, 'controller_runtime_active_workers', {})).toBe(0);
  });

  it('works on several objects at once but on each by one worker, and shows what is under way', async () => {
    const open = new Map<string, () => void>();
    const { runs, reconcile } = recorder(async (name) => {
      expect(open.has(name)).toBe(false);
      await new Promise<void>((resolve) => open.set(name, resolve));
      open.delete(name);
    });
    const manager = await start([controller(Echo).settings({ workers: 2 }).reconcile(reconcile)]);
    for (const name of ['a', 'b', 'c']) await create(name);
    await cluster.settle();
    await cluster.client.patch(Echo, at, { type: 'merge', body: { spec: { text: 'again' } } });
    await cluster.advance(3000);
    expect(runs).toEqual(['a', 'b']);
    expect(await numberOf(manager, 'controller_runtime_active_workers', {})).toBe(2);
    expect(await numberOf(manager, 'workqueue_depth', { name: 'echo' }), 'c, and a once more').toBe(2);
    expect(await numberOf(manager, 'workqueue_unfinished_work_seconds', { name: 'echo' })).toBeCloseTo(6, 0);
    expect(await numberOf(manager, 'workqueue_longest_running_processor_seconds', { name: 'echo' })).toBeCloseTo(3, 0);
    while (open.size > 0) {
      for (const finish of [...open.values()]) finish();
      await cluster.settle();
    }
    expect(runs).toEqual(['a', 'b', 'c', 'a']);
  });

  it('aborts the signal of a reconcile that takes too long', async () => {
    const reasons: unknown[] = [];
    const slow = controller(Echo)
      .settings({ timeoutMs: 2000 })
      .reconcile(async (_object, { signal }) => {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
        reasons.push(signal.reason);
      });
    await start([slow]);
    await create('a');
    await cluster.advance(2000);
    expect(reasons).toMatchObject([{ message: 'the reconcile took longer than 2000 ms' }]);
  });

  it('sees its own last write, however far the cache is behind, or goes on after a while', async () => {
    const seen: (string | undefined)[] = [];
    const trigger = new Subject<string>();
    const counting = controller(Echo)
      .on(trigger, (key) => [key])
      .reconcile(async (object, { client }) => {
        const { text } = object.spec;
        seen.push(text);
        if (text.length < 3) await client.patch(Echo, at, { type: 'merge', body: { spec: { text: `${text}x` } } });
      });
    await start([counting]);
    // All watch events are a second late, so triggers arrive before the cache shows the write.
    const late = await cluster.fault({ kind: 'slow', delayMs: 1000, match: 'watch' });
    await create('a', { text: '' });
    await cluster.advance(1000);
    for (let i = 0; i < 5; i++) {
      trigger.next('default/a');
      await cluster.advance(100);
    }
    await cluster.advance(10_000);
    expect(
      seen.filter((text, i) => text !== seen[i - 1]),
      'each state once, none twice acted on',
    ).toEqual(['', 'x', 'xx', 'xxx']);
    expect(seen.indexOf('x') - seen.indexOf('')).toBe(1);
    await late.heal();
  });

  it('carries a finalizer before it is reconciled, cleans up, and keeps the finalizer where that fails', async () => {
    const log: string[] = [];
    let problem = true;
    const careful = controller(Echo)
      .finalize('demo.dev/clean', async ({ metadata }) => {
        log.push(`clean ${metadata?.name}`);
        if (problem) throw new Error('not reachable');
      })
      .finalize('demo.dev/then', async () => void log.push('then'))
      .reconcile(async ({ metadata }) => void log.push(`reconcile with ${metadata?.finalizers}`));
    await start([careful]);
    await create('a');
    await cluster.settle();
    expect(log[0]).toBe('reconcile with demo.dev/clean,demo.dev/then');
    log.length = 0;
    await cluster.client.delete(Echo, at);
    await cluster.advance(14);
    expect(log).toEqual(['clean a', 'clean a']);
    expect((await cluster.client.get(Echo, at)).metadata?.finalizers).toEqual(['demo.dev/clean', 'demo.dev/then']);
    problem = false;
    await cluster.advance(10);
    expect(log.slice(2)).toEqual(['clean a', 'then']);
    await expect(cluster.client.get(Echo, at)).rejects.toSatisfy(isNotFound);
  });

  it('does not reconcile what is being deleted', async () => {
    const { runs, reconcile } = recorder();
    await start([controller(Echo).reconcile(reconcile)]);
    await cluster.client.create(Echo, { metadata: { ...at, finalizers: ['other.dev/waits'] }, spec: { text: '' } });
    await cluster.settle();
    await cluster.client.delete(Echo, at);
    await cluster.settle();
    expect(runs).toEqual(['a']);
  });

  it('refuses to own what lies elsewhere, and to read what it does not watch', async () => {
    const errors: string[] = [];
    const wrong = controller(Echo).reconcile(async (_object, { apply, children }) => {
      const caught = (error: unknown) => void errors.push((error as Error).message);
      await apply(Namespace, { metadata: { name: 'n' } }).catch(caught);
      await apply(ConfigMap, { metadata: { name: 'x', namespace: 'kube-system' } }).catch(caught);
      try {
        children(ConfigMap);
      } catch (error) {
        caught(error);
      }
      await apply(Namespace, { metadata: { name: 'n' } }, { owner: 'none' });
    });
    await start([wrong]);
    await create('a');
    await cluster.settle();
    expect(errors).toEqual([
      "Echo a cannot own Namespace n: it is not in its namespace; apply it with owner: 'none'",
      "Echo a cannot own ConfigMap x: it is not in its namespace; apply it with owner: 'none'",
      'ConfigMap is not cached: name it with owns(), watches() or index() of a controller',
    ]);
    expect((await cluster.client.get(Namespace, { name: 'n' })).metadata?.ownerReferences).toBeUndefined();
  });
});

describe('the manager', () => {
  it('looks at some namespaces only', async () => {
    for (const name of ['one', 'two', 'three']) await cluster.client.create(Namespace, { metadata: { name } });
    const { runs, reconcile } = recorder();
    await start([controller(Echo).reconcile(reconcile)], { namespaces: ['one', 'two'] });
    for (const namespace of ['one', 'two', 'three']) await create(namespace, { text: '' }, namespace);
    await cluster.settle();
    expect(runs.sort()).toEqual(['one', 'two']);
  });

  it('serves health, readiness and metrics, and is ready while no stream is stale', async () => {
    const manager = await start([echo], { metrics: { port: 0, host: '127.0.0.1' } });
    const get = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${manager.probePort}${path}`);
      return `${answer.status} ${await answer.text()}`;
    };
    expect(await get('/healthz')).toBe('200 ok');
    expect(await get('/readyz?verbose')).toBe('200 [+]ping ok\n[+]informers ok\nreadyz check passed\n');
    const metrics = await get('/metrics');
    for (const name of [
      'workqueue_adds_total{name="echo",controller="echo"} 0',
      'controller_runtime_active_workers',
      'rest_client_requests_total',
    ])
      expect(metrics).toContain(name);
    expect(await get('/other')).toBe('404 404 page not found\n');
    const fault = await cluster.fault({ kind: 'refuse' });
    const broken = await cluster.fault({ kind: 'reset', match: 'watch' });
    await cluster.advance(5000);
    expect(await get('/readyz')).toMatch(/^500 .*informers failed: .*: (stale|retrying)/s);
    expect(await get('/healthz')).toBe('200 ok');
    await broken.heal();
    await fault.heal();
    await cluster.advance(60_000);
    expect(await get('/readyz')).toBe('200 ok');
    stop.abort();
    await cluster.settle();
    await expect(get('/healthz')).rejects.toThrow();
  });

  it('drains: a run under way ends in peace, nothing new begins, then the lease is given back', async () => {
    const log: string[] = [];
    let finish: () => void = () => undefined;
    const slow = controller(Echo).reconcile(async ({ metadata }, { client, signal }) => {
      log.push(`begin ${metadata?.name}`);
      await new Promise<void>((resolve) => (finish = resolve));
      await client.patch(
        Echo,
        { namespace: 'default', name: metadata?.name ?? '' },
        { type: 'merge', body: { spec: { text: 'done' } } },
      );
      log.push(`end, aborted: ${signal.aborted}`);
    });
    const manager = await start([slow], { leaderElection: { name: 'slow', identity: 'me' } });
    const lease = () => cluster.client.get(Lease, { namespace: 'default', name: 'slow' });
    await create('a');
    await create('b');
    await cluster.settle();
    expect((await lease()).spec?.holderIdentity).toBe('me');
    expect(await numberOf(manager, 'leader_election_master_status', { name: 'slow' })).toBe(1);
    stop.abort();
    await cluster.advance(20_000);
    expect((await lease()).spec?.holderIdentity, 'renewed while it drains').toBe('me');
    expect(manager.isLeader).toBe(true);
    finish();
    await cluster.settle();
    await running;
    expect(log).toEqual(['begin a', 'end, aborted: false']);
    expect((await cluster.client.get(Echo, at)).spec.text).toBe('done');
    expect((await lease()).spec?.holderIdentity).toBe('');
    expect(await numberOf(manager, 'leader_election_master_status', { name: 'slow' })).toBe(0);
    const { items } = await cluster.client.listPage(Event, { namespace: 'default' });
    expect(items.map(({ involvedObject, message }) => `${involvedObject?.kind}: ${message}`).sort()).toEqual([
      'Lease: me became leader',
      'Lease: me stopped leading',
    ]);
  });

  it('aborts what is under way after the grace period, and says so where that does not help', async () => {
    const deaf = controller(Echo).reconcile(() => new Promise<void>(() => undefined));
    await start([deaf], { gracePeriodMs: 4000 });
    await create('a');
    await cluster.settle();
    stop.abort();
    const failed = expect(running).rejects.toThrow(
      'failed waiting for all controllers to end within grace period of 4000 ms',
    );
    await cluster.advance(6000);
    await failed;
    running = Promise.resolve();
  });

  it('lets one of two managers work, then the other with warm caches, and refuses writes of one that lost the lease', async () => {
    const work: string[] = [];
    const refused: unknown[] = [];
    let hold: Promise<void> | undefined;
    const by = (identity: string) =>
      controller(Echo).reconcile(async ({ metadata }, { client }) => {
        work.push(`${identity} ${metadata?.name}`);
        if (identity === 'first') await hold;
        const write = client.patch(
          Echo,
          { namespace: 'default', name: metadata?.name ?? '' },
          { type: 'merge', body: { metadata: { labels: { by: identity } } } },
        );
        await write.catch((error: unknown) => refused.push(error));
      });
    const first = await start([by('first')], { leaderElection: { name: 'pair', identity: 'first' } });
    const firstRun = running;
    const second = new Manager([by('second')], {
      client: cluster.client,
      clock: cluster.clock,
      leaderElection: { name: 'pair', identity: 'second' },
    });
    const secondRun = second.run(stop.signal);
    await cluster.settle();
    await second.whenReady();
    await create('a');
    await cluster.settle();
    expect(work).toEqual(['first a', 'first a']);
    let release: () => void = () => undefined;
    hold = new Promise((resolve) => (release = resolve));
    await create('b');
    await cluster.settle();
    // The first manager can no longer reach the server; the second takes over when the lease has expired.
    const lease = await cluster.client.get(Lease, { namespace: 'default', name: 'pair' });
    await cluster.client.update(Lease, { ...lease, spec: { ...lease.spec, holderIdentity: 'second' } });
    const lost = expect(firstRun).rejects.toBeInstanceOf(LeadershipLostError);
    await cluster.advance(5000);
    expect([first.isLeader, second.isLeader]).toEqual([false, true]);
    release();
    await cluster.settle();
    await lost;
    expect(refused).toMatchObject([{ name: 'LeadershipLostError' }]);
    expect(work).toContain('second b');
    stop.abort();
    await cluster.settle();
    await secondRun;
    running = Promise.resolve();
  });

  it('fails to start where a definition is refused, and closes everything', async () => {
    // The rule names a field that there is not.
    const rules = [{ rule: 'self.nothing == 1' }];
    const spec = {
      type: 'object',
      properties: { text: { type: 'string' } },
      'x-kubernetes-validations': rules,
    } as const;
    const Bad = defineResource({ group: 'demo.dev', version: 'v1', kind: 'Bad', spec });
    const manager = new Manager([controller(Bad).reconcile(async () => undefined)], {
      client: cluster.client,
      clock: cluster.clock,
      installCrds: true,
    });
    await expect(manager.run(stop.signal)).rejects.toMatchObject({ code: 422 });
    await expect(manager.whenReady()).rejects.toMatchObject({ code: 422 });
  });

  it('refuses two controllers of one name, none at all, and to run twice', async () => {
    const { client } = cluster;
    expect(() => new Manager([echo, echo], { client })).toThrow(
      'two controllers are named echo: give one another name',
    );
    expect(() => new Manager([], { client })).toThrow(TypeError);
    const manager = await start([echo, controller(Echo, { name: 'other' }).reconcile(async () => undefined)]);
    await expect(manager.run(stop.signal)).rejects.toThrow('a manager runs once');
  });
});

function fail(): never {
  throw new Error('a bad value');
}
