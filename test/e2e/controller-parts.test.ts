// Tests the features that users of controller-runtime look for, against a whole server in this process: conditions, createOrUpdate,
// runnables, owners as a mapping, and pruned children.
import { defineResource, getCondition, isNotFound, setCondition } from '@kapstan/api';
import {
  type Controller,
  controller,
  createOrUpdate,
  Manager,
  type ManagerOptions,
  ownersOf,
} from '@kapstan/controller';
import { ConfigMap, Secret } from '@kapstan/kinds/core/v1';
import { type TestCluster, testCluster } from '@kapstan/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';

const text = { type: 'string' } as const;
const Team = defineResource({
  group: 'demo.dev',
  version: 'v1',
  kind: 'Team',
  spec: { type: 'object', properties: { members: { type: 'array', items: text } }, required: ['members'] },
  status: {
    type: 'object',
    properties: {
      conditions: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            type: text,
            status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
            reason: text,
            message: text,
            observedGeneration: { type: 'integer' },
            lastTransitionTime: { type: 'string', format: 'date-time' },
          },
          required: ['type', 'status', 'lastTransitionTime'],
        },
      },
    },
  },
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

async function start(one: Controller, options: Partial<ManagerOptions> = {}): Promise<void> {
  const { client, clock } = cluster;
  const manager = new Manager([one], { client, clock, installCrds: true, ...options });
  running = manager.run(stop.signal);
  running.catch(() => undefined);
  await cluster.settle();
  await manager.whenReady();
}

const at = { namespace: 'default', name: 'a' };
const createTeam = (...members: readonly string[]) =>
  cluster.client.create(Team, { metadata: { ...at }, spec: { members: [...members] } });
const maps = async () =>
  (await cluster.client.listPage(ConfigMap, { namespace: 'default' })).items
    .map(({ metadata }) => metadata?.name ?? '')
    .filter((name) => name !== 'kube-root-ca.crt')
    .sort();

it('prunes the children that a run does not apply, and no others', async () => {
  const pruned: unknown[] = [];
  const team = controller(Team)
    .owns(ConfigMap)
    .reconcile(async ({ spec }, { apply, prune }) => {
      for (const name of spec.members) await apply(ConfigMap, { metadata: { name } });
      const listed = await prune(ConfigMap, { dryRun: true });
      const deleted = await prune(ConfigMap);
      expect(listed).toEqual(deleted);
      pruned.push(...deleted.map(({ metadata }) => metadata?.name));
    });
  await start(team);
  await cluster.client.create(ConfigMap, { metadata: { namespace: 'default', name: 'stranger' } });
  const made = await createTeam('x', 'y', 'z');
  await cluster.settle();
  expect(await maps()).toEqual(['stranger', 'x', 'y', 'z']);
  await cluster.client.update(Team, { ...made, spec: { members: ['y'] } });
  await cluster.settle();
  expect(await maps()).toEqual(['stranger', 'y']);
  expect(pruned.sort()).toEqual(['x', 'z']);
});

it('sets a condition whose time moves with its status alone', async () => {
  const team = controller(Team).reconcile(async ({ metadata, spec, status: before }, { status }) => {
    const isReady = spec.members.length > 0;
    const ready = {
      type: 'Ready',
      status: isReady ? 'True' : 'False',
      reason: isReady ? 'HasMembers' : 'Empty',
      observedGeneration: metadata.generation ?? 0,
    } as const;
    await status({ conditions: setCondition(before?.conditions, ready, cluster.clock) });
  });
  await start(team);
  const readyOf = async () => getCondition((await cluster.client.get(Team, at)).status?.conditions, 'Ready');
  await createTeam('x');
  await cluster.settle();
  const first = await readyOf();
  expect(first).toMatchObject({ status: 'True', reason: 'HasMembers', observedGeneration: 1 });
  await cluster.advance(60_000);
  const write = async (members: string[]) => {
    await cluster.client.patch(Team, at, { type: 'merge', body: { spec: { members } } });
    await cluster.settle();
  };
  await write(['x', 'y']);
  expect(await readyOf()).toEqual({ ...first, observedGeneration: 2 });
  await write([]);
  const last = await readyOf();
  expect(last).toMatchObject({ status: 'False', reason: 'Empty', observedGeneration: 3 });
  expect(Date.parse(last?.lastTransitionTime ?? '')).toBeGreaterThanOrEqual(
    Date.parse(first?.lastTransitionTime ?? '') + 60_000,
  );
});

it('creates or updates a child, which counts as wanted though nothing was written', async () => {
  const results: string[] = [];
  const team = controller(Team)
    .owns(ConfigMap)
    .reconcile(async (object, { client, prune }) => {
      const { namespace, name, uid } = object.metadata;
      const made = await createOrUpdate(client, ConfigMap, {
        object: { metadata: { namespace, name } },
        mutate: (map) => {
          map.metadata = {
            ...map.metadata,
            ownerReferences: [{ apiVersion: 'demo.dev/v1', kind: 'Team', name, uid: uid ?? '', controller: true }],
          };
          map.data = { members: object.spec.members.join() };
        },
      });
      results.push(made.result);
      expect(await prune(ConfigMap)).toEqual([]);
    });
  await start(team);
  const made = await createTeam('x');
  await cluster.settle();
  await cluster.client.update(Team, { ...made, spec: { members: ['x', 'y'] } });
  await cluster.settle();
  expect((await cluster.client.get(ConfigMap, at)).data).toEqual({ members: 'x,y' });
  // Each write of the child is a change, after which the child is already up to date.
  expect(results).toEqual(['created', 'unchanged', 'updated', 'unchanged']);
});

it('reconciles every owner of a changed object, not the controlling one alone', async () => {
  const seen: string[] = [];
  const team = controller(Team)
    .watches(Secret, ownersOf(Team))
    .reconcile(async ({ metadata }) => void seen.push(metadata.name));
  await start(team);
  const owner = await createTeam();
  await cluster.settle();
  seen.length = 0;
  const { uid = '' } = owner.metadata ?? {};
  const ownerReferences = [{ apiVersion: 'demo.dev/v1', kind: 'Team', name: 'a', uid }];
  await cluster.client.create(Secret, { metadata: { namespace: 'default', name: 's', ownerReferences } });
  await cluster.settle();
  expect(seen).toEqual(['a']);
});

it('runs what is added to a manager, which reads the caches and writes', async () => {
  await start(
    controller(ConfigMap, { name: 'counter' }).reconcile(async () => undefined),
    {
      leaderElection: { name: 'parts' },
      runnables: [
        {
          name: 'census',
          run: async ({ cache, client, signal }) => {
            const count = String(cache(ConfigMap).list({ namespace: 'default' }).length);
            await client.create(Secret, { metadata: { namespace: 'default', name: 'census' }, stringData: { count } });
            await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
          },
        },
      ],
    },
  );
  await cluster.advance(5000);
  const census = { namespace: 'default', name: 'census' };
  expect(await cluster.client.get(Secret, census).catch(isNotFound)).toMatchObject({ metadata: census });
});
