// One test for each problem that authors of controllers report, against a whole server in this process.
// docs/parity/pains.md has the list; packages/controller/src/pains.test.ts has the problems that need no server.
import { type DeepReadonly, defineResource, type ObjectOf } from '@kapstan/api';
import { LeakCheck } from '@kapstan/api/testing';
import type { Client } from '@kapstan/client';
import { type Controller, controller, Manager, type ManagerOptions, TerminalError } from '@kapstan/controller';
import { ConfigMap, Secret } from '@kapstan/kinds/core/v1';
import { type TestCluster, testCluster } from '@kapstan/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const namespace = 'default';
const Echo = defineResource({
  group: 'demo.dev',
  version: 'v1',
  kind: 'Echo',
  spec: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  status: { type: 'object', properties: { text: { type: 'string' }, runs: { type: 'integer' } } },
});
type EchoObject = ObjectOf<typeof Echo>;

let cluster: TestCluster;
let client: Client;
let stop: AbortController;
let running: Promise<unknown>;
let leaks: LeakCheck;
beforeEach(async () => {
  leaks = new LeakCheck();
  cluster = await testCluster({ crds: [Echo.definition] });
  client = await cluster.connect();
  stop = new AbortController();
  running = Promise.resolve();
});
afterEach(async () => {
  stop.abort();
  await cluster.settle();
  await running;
  await cluster.close();
  await leaks.assertNone();
});

async function start(one: Controller, options: Partial<ManagerOptions> = {}): Promise<Manager> {
  const manager = new Manager([one], { client, clock: cluster.clock, random: () => 0, ...options });
  running = manager.run(stop.signal);
  await cluster.settle();
  await manager.whenReady();
  return manager;
}

const create = (name: string, text: string): Promise<EchoObject> =>
  cluster.client.create(Echo, { metadata: { namespace, name }, spec: { text } });
const present = (name: string): Promise<EchoObject> => cluster.client.get(Echo, { namespace, name });
const say = (name: string, text: string): Promise<EchoObject> =>
  cluster.client.patch(Echo, { namespace, name }, { type: 'merge', body: { spec: { text } } });
const versionOf = ({ metadata }: DeepReadonly<EchoObject>): bigint => BigInt(metadata?.resourceVersion ?? 0);

describe('what hurts in controllers:', () => {
  it('a run reads from a cache that is older than what the run before it wrote', async () => {
    const stale: string[] = [];
    const written = new Map<string, bigint>();
    await start(
      controller(Echo)
        .owns(ConfigMap)
        .settings({ workers: 3 })
        .reconcile(async (object, { client: own, cache, children, apply }) => {
          const name = object.metadata?.name ?? '';
          const runs = object.status?.runs ?? 0;
          if (versionOf(object) < (written.get(name) ?? 0n)) stale.push(`${name} ${object.spec.text}`);
          // Each run that sees no child creates one, so a cache that lags would lead to several.
          if (children(ConfigMap).length === 0) {
            const child = `${name}-${object.metadata?.generation}-${written.get(name) ?? 0}`;
            await apply(ConfigMap, { metadata: { name: child } });
            if (cache(ConfigMap).get({ namespace, name: child }) === undefined) stale.push(`child ${child}`);
          }
          if (runs === 8) return;
          const body = { status: { runs: runs + 1, text: object.spec.text } };
          const status = { type: 'merge', body } as const;
          written.set(name, versionOf(await own.patch(Echo, { namespace, name }, status, { subresource: 'status' })));
        }),
    );
    // Writes are seen late.
    await cluster.fault({ kind: 'slow', delayMs: 300, match: 'watch' });
    for (const name of ['a', 'b', 'c', 'd']) await create(name, 'hello');
    await cluster.advance(20_000);
    expect(stale).toEqual([]);
    for (const name of ['a', 'b', 'c', 'd']) expect((await present(name)).status?.runs).toBe(8);
    const { items } = await cluster.client.listPage(ConfigMap, { namespace });
    const made = items.filter(({ metadata }) => metadata?.name !== 'kube-root-ca.crt');
    expect(made.map(({ metadata }) => metadata?.name?.[0]).sort()).toEqual(['a', 'b', 'c', 'd']);
  });

  it("somebody else's change is lost when it comes while the controller writes", async () => {
    let round = 0;
    const seen: string[] = [];
    await start(
      controller(Echo).reconcile(async (object, { client: own, cache }) => {
        seen.push(object.spec.text);
        const name = object.metadata?.name ?? '';
        const body = { status: { text: object.spec.text } };
        const write = () => own.patch(Echo, { namespace, name }, { type: 'merge', body }, { subresource: 'status' });
        const foreign = () => (round < 20 ? say(name, `round ${++round}`) : present(name));
        // The other writer writes first in even rounds, we do in odd ones; the cache has both writes before this run
        // ends.
        const [first, second] = round % 2 === 0 ? [foreign, write] : [write, foreign];
        await first();
        const last = await second();
        while (versionOf(cache(Echo).get({ namespace, name }) ?? last) < versionOf(last))
          await new Promise(setImmediate);
      }),
    );
    await create('a', 'round 0');
    await cluster.advance(60_000);
    expect(round).toBe(20);
    expect(seen.at(-1)).toBe('round 20');
    expect((await present('a')).status).toEqual({ text: 'round 20' });
  });

  it('books are kept in the annotations of what it works on', async () => {
    let runs = 0;
    const note = (): void => {
      runs++;
      if (runs < 4) throw new Error('not yet');
    };
    await start(
      controller(Echo)
        .owns(ConfigMap)
        .reconcile(async ({ metadata, spec }, { apply }) => {
          note();
          await apply(ConfigMap, { metadata: { name: metadata?.name ?? '' }, data: { text: spec.text } });
          if (spec.text === 'bad') throw new TerminalError('no');
        }),
      { leaderElection: { name: 'echo' } },
    );
    const created = await create('a', 'hello');
    await cluster.advance(10_000);
    expect(runs).toBeGreaterThanOrEqual(4);
    expect(await present('a')).toEqual(created);
    await say('a', 'bad');
    await cluster.advance(10_000);
    const { metadata } = await present('a');
    expect([metadata?.annotations, metadata?.labels, metadata?.finalizers]).toEqual([undefined, undefined, undefined]);
    const child = await cluster.client.get(ConfigMap, { namespace, name: 'a' });
    expect(child.data).toEqual({ text: 'bad' });
    expect(child.metadata?.managedFields).toMatchObject([
      { manager: 'echo', fieldsV1: { 'f:data': { 'f:text': {} }, 'f:metadata': { 'f:ownerReferences': {} } } },
    ]);
    expect(Object.keys(child.metadata ?? {})).not.toContain('annotations');
  });

  it('it misses changes without a word until it is restarted, and calls itself healthy', async () => {
    const manager = await start(
      controller(Echo).reconcile(async () => undefined),
      { metrics: { port: 0 } },
    );
    const ready = async (): Promise<number> =>
      (await fetch(`http://127.0.0.1:${manager.probePort}/readyz`, { headers: { connection: 'close' } })).status;
    expect(await ready()).toBe(200);
    const silence = await cluster.fault({ kind: 'blackhole', connections: 'all' });
    await cluster.advance(91_000);
    expect(await ready()).toBe(500);
    await silence.heal();
    await cluster.advance(60_000);
    expect(await ready()).toBe(200);
  });

  it('each controller of a kind has a watch of its own on the server', async () => {
    const ten = Array.from({ length: 10 }, (_, at) =>
      controller(Secret, { name: `c${at}` }).reconcile(async () => undefined),
    );
    const counted = async (): Promise<number> => {
      const { body } = await client.raw({ path: '/metrics' });
      return Number(/^apiserver_longrunning_requests (\d+)$/m.exec(body)?.[1]);
    };
    const before = await counted();
    const manager = new Manager(ten, { client, clock: cluster.clock });
    running = manager.run(stop.signal);
    await cluster.settle();
    await manager.whenReady();
    expect((await counted()) - before).toBe(1);
  });
});
