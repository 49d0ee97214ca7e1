// Evictions, and pods that change meanwhile, with the answers of a kube-apiserver 1.36.

import type { StatusError, UnstructuredObject } from '@kapstan/api';
import type { ResourceDefinition, ResourceStore } from '@kapstan/apiserver';
import { ResourceCatalog, ResourceStack } from '@kapstan/apiserver';
import type { ObjectSubresource, StrategySubresource } from '@kapstan/apiserver/internal';
import { refusal, testContext } from '@kapstan/apiserver/testing';
import { MemoryEngine } from '@kapstan/storage';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { builtinResources } from '../../builtin-resources.ts';

/** Every wait ends at once and is recorded. */
const waits: number[] = [];
const clock = {
  now: () => 1_767_225_600_000,
  monotonicNow: () => 0,
  setTimer: (callback: () => void, delayMs: number) => {
    waits.push(delayMs);
    queueMicrotask(callback);
    return () => undefined;
  },
  setBackgroundTimer: () => () => undefined,
};

let catalog: ResourceCatalog;
let stacks: ResourceStack[];
beforeEach(() => {
  waits.length = 0;
  const engine = new MemoryEngine();
  catalog = new ResourceCatalog();
  const findStore = (group: string, version: string, resource: string) => catalog.find(group, version, resource)?.store;
  stacks = builtinResources({ clock, findStore, random: () => 0.5 })
    .filter(({ resource }) => resource === 'pods' || resource === 'poddisruptionbudgets')
    .map((definition) => new ResourceStack(definition, { engine, clock, watchCache: false }));
  for (const stack of stacks) catalog.install(stack.served);
});
afterEach(async () => {
  for (const stack of stacks) await stack.close();
});

const pods = () => catalog.find('', 'v1', 'pods')!;
const budgets = () => catalog.find('policy', 'v1', 'poddisruptionbudgets')!;

async function create(
  { store, definition }: { store: ResourceStore; definition: ResourceDefinition },
  object: UnstructuredObject,
): Promise<void> {
  definition.applyDefaults(object);
  await store.create(testContext(), object);
}

async function setStatus(
  { store, definition }: { store: ResourceStore; definition: ResourceDefinition },
  name: string,
  status: object,
): Promise<void> {
  const part = definition.subresources.find(({ name }) => name === 'status') as StrategySubresource<UnstructuredObject>;
  const transform = (present: UnstructuredObject | undefined) => ({ ...present, status }) as UnstructuredObject;
  await store.update(testContext(), { name, transform, strategy: part.strategy, subresource: 'status' });
}

const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
const unready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] };
const setPod = (status: object) => setStatus(pods(), 'p', status);

const setBudget = (counts: object) =>
  setStatus(budgets(), 'b', {
    observedGeneration: 1,
    currentHealthy: 1,
    desiredHealthy: 1,
    expectedPods: 1,
    disruptionsAllowed: 0,
    ...counts,
  });

/** Creates a pod on a node, so that its deletion takes a while. */
async function createPod(status: object): Promise<void> {
  await create(pods(), {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'default', labels: { app: 'a' } },
    spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i:1' }] },
  });
  await setPod(status);
}

async function createBudget(disruptionsAllowed: number): Promise<void> {
  const metadata = { name: 'b', namespace: 'default' };
  const spec = { minAvailable: 1, selector: { matchLabels: { app: 'a' } } };
  await create(budgets(), { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata, spec });
  await setBudget({ disruptionsAllowed });
}

interface Call {
  readonly metadata?: object;
  readonly dryRun?: boolean;
  /** Called after each read of the pod by the eviction. */
  readonly afterLook?: () => Promise<void>;
}

async function evict(deleteOptions: object = {}, call: Call = {}): Promise<unknown> {
  const { metadata = { name: 'p' }, dryRun = false, afterLook } = call;
  const { store, definition } = pods();
  const part = definition.subresources.find(({ name }) => name === 'eviction') as ObjectSubresource<UnstructuredObject>;
  const seen: ResourceStore = Object.create(store, {
    get: {
      value: async (...args: Parameters<ResourceStore['get']>) => {
        const found = await store.get(...args);
        await afterLook?.();
        return found;
      },
    },
    update: { value: store.update.bind(store) },
    delete: { value: store.delete.bind(store) },
  });
  const body = { metadata, deleteOptions };
  return part.create!(seen, testContext({ dryRun }), { name: 'p', body, validate: async () => undefined });
}

const read = async () => (await pods().store.get(testContext(), 'p')).object as UnstructuredObject;
const isGoing = async () => (await read()).metadata?.deletionTimestamp !== undefined;
const told = ({ code, message }: StatusError): [number, string] => [code, message];
const leftDisruptions = async () =>
  ((await budgets().store.get(testContext(), 'b')).object.status as { disruptionsAllowed: number }).disruptionsAllowed;

describe('an eviction as a dry run', () => {
  it.each([
    ['in the body', { dryRun: ['All'] }, false],
    ['in the request', {}, true],
    ['in both', { dryRun: ['All'] }, true],
  ])('that is asked for %s keeps the pod and the budget', async (_where, options, dryRun) => {
    await createPod(ready);
    await createBudget(1);
    const before = (await read()).metadata?.resourceVersion;
    await evict(options, { dryRun });
    expect((await read()).metadata?.resourceVersion).toBe(before);
    expect(await leftDisruptions()).toBe(1);
    await evict();
    expect(await isGoing()).toBe(true);
    expect(await leftDisruptions()).toBe(0);
  });

  it('is refused where the budget allows no disruption', async () => {
    await createPod(ready);
    await createBudget(0);
    expect((await refusal(evict({ dryRun: ['All'] }))).code).toBe(429);
    expect((await refusal(evict({ dryRun: ['x'] }))).code, 'before anybody looks at what it says').toBe(429);
  });

  it.each<[readonly string[], boolean, number, string]>([
    [
      ['x'],
      false,
      422,
      'DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["x"]: supported values: "All"',
    ],
    [['x'], true, 500, 'Non-matching dry-run options in request and content: [All] and [x]'],
    [['All', 'All'], true, 500, 'Non-matching dry-run options in request and content: [All] and [All All]'],
  ])('of %j, in the request %s, is refused with %i', async (dryRun, inRequest, code, text) => {
    await createPod(ready);
    expect(told(await refusal(evict({ dryRun }, { dryRun: inRequest })))).toEqual([code, text]);
    expect(await isGoing()).toBe(false);
  });
});

describe('an eviction', () => {
  it('must name its pod, before all else', async () => {
    const none = { metadata: {} };
    const text = 'name in URL does not match name in Eviction object';
    expect(told(await refusal(evict({}, none)))).toEqual([400, text]);
  });

  it('deletes no pod that cannot be read, and says so before it looks at anything', async () => {
    const options = { ignoreStoreReadErrorWithClusterBreakingPotential: true, dryRun: ['x'] };
    expect(told(await refusal(evict(options, { dryRun: true })))).toEqual([
      422,
      'Eviction.policy "p" is invalid: deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: can not be set for pod eviction, try after removing the option',
    ]);
  });

  it.each([
    [
      { resourceVersion: '1' },
      /^Operation cannot be fulfilled on Pod "p": the ResourceVersion in the precondition \(1\) does not match /,
    ],
    [{ uid: 'x' }, /^Operation cannot be fulfilled on Pod "p": the UID in the precondition \(x\) does not match /],
  ])('under a precondition %j that fails is refused at once', async (preconditions, text) => {
    for (const phase of ['Pending', 'Succeeded', 'Running']) {
      if (phase === 'Pending') await createPod({ phase });
      else await setPod({ phase });
      const [code, message] = told(await refusal(evict({ preconditions })));
      expect([code, message]).toEqual([409, expect.stringMatching(text)]);
    }
    expect(waits).toEqual([]);
    expect((await read()).status).not.toHaveProperty('conditions');
  });
});

describe('a budget whose controller is behind', () => {
  it('lets no pod go beyond the two thousandth that it knows of', async () => {
    await createPod(ready);
    await createBudget(1);
    const time = '2026-01-01T00:00:00Z';
    const gone = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, time]));
    await setBudget({ disruptionsAllowed: 1, disruptedPods: gone(2001) });
    expect(told(await refusal(evict()))).toEqual([
      403,
      'poddisruptionbudget.policy "b" is forbidden: DisruptedPods map too big - too many evictions not confirmed by PDB controller',
    ]);
    await setBudget({ disruptionsAllowed: 1, disruptedPods: gone(2000) });
    await evict();
    expect(await isGoing()).toBe(true);
  });
});

describe('an eviction of a pod that changes meanwhile', () => {
  it('looks again at a pending one, and asks the budget once it is ready', async () => {
    await createPod({ phase: 'Pending' });
    await createBudget(0);
    let looks = 0;
    const afterLook = async (): Promise<void> => {
      if (looks++ === 0) await setPod(ready);
    };
    const { code, details } = await refusal(evict({}, { afterLook }));
    expect([code, details?.causes?.[0]?.message]).toEqual([
      429,
      'The disruption budget b needs 1 healthy pods and has 1 currently',
    ]);
    expect(waits).toEqual([525]);
    expect(await isGoing()).toBe(false);
  });

  it('ends a pending one that is pending still when it looks again', async () => {
    await createPod({ phase: 'Pending' });
    let looks = 0;
    const afterLook = async (): Promise<void> => {
      if (looks++ < 2) await setPod({ phase: 'Pending', message: `${looks}` });
    };
    await evict({}, { afterLook });
    expect([looks, waits.length, await isGoing()]).toEqual([3, 2, true]);
  });

  it('looks at a pending one twenty times', async () => {
    await createPod({ phase: 'Pending' });
    let looks = 0;
    const afterLook = () => setPod({ phase: 'Pending', message: `${++looks}` });
    expect((await refusal(evict({}, { afterLook }))).code).toBe(409);
    expect([looks, waits.length]).toEqual([20, 19]);
  });

  it('ends one that is over whatever changes', async () => {
    await createPod({ phase: 'Succeeded' });
    await evict({}, { afterLook: () => setPod({ phase: 'Succeeded', message: 'm' }) });
    expect([waits.length, (await refusal(read())).code]).toEqual([0, 404]);
  });

  it('is refused for one that was not ready and was not counted', async () => {
    await createPod(unready);
    await createBudget(0);
    const { code, details } = await refusal(evict({}, { afterLook: () => setPod(ready) }));
    expect([code, details?.causes?.[0]?.message, details?.retryAfterSeconds]).toEqual([
      429,
      'The disruption budget b is still being processed by the server.',
      10,
    ]);
    expect(await isGoing()).toBe(false);
    await setPod(unready);
    await evict();
    expect(await isGoing()).toBe(true);
  });

  it('goes on for one that was counted', async () => {
    await createPod(ready);
    await createBudget(1);
    await evict({}, { afterLook: () => setPod(unready) });
    expect([await isGoing(), await leftDisruptions()]).toEqual([true, 0]);
  });
});
