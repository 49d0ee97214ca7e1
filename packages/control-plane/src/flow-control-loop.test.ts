import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nextTurn } from '@kapstan/api/internal';
import { FlowSchema, PriorityLevelConfiguration } from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startControlPlane } from './control-plane.ts';
import type { ControlPlane } from './options/control-plane-options.ts';

let dataDir: string;
let plane: ControlPlane;
const start = (options: object = {}): Promise<ControlPlane> =>
  startControlPlane({ dataDir, identity: 'off', ...options });

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-flows-'));
  plane = await start();
});
afterEach(async () => {
  await plane.close();
  await rm(dataDir, { recursive: true, force: true });
});

const danglingOf = async (name: string): Promise<string | undefined> =>
  (await plane.client.get(FlowSchema, { name })).status?.conditions?.[0]?.status;

describe('the flow schemas and priority levels of a control plane', () => {
  it('are stored, with their conditions, before the first request, and left alone by the next start', async () => {
    const schemas = (await plane.client.listPage(FlowSchema)).items;
    expect(schemas).toHaveLength(11);
    expect(schemas.map(({ status }) => status?.conditions?.[0]?.status)).toEqual(Array(11).fill('False'));
    expect((await plane.client.listPage(PriorityLevelConfiguration)).items).toHaveLength(8);
    const before = schemas.map(({ metadata }) => metadata?.resourceVersion);
    await plane.close();
    plane = await start();
    const after = (await plane.client.listPage(FlowSchema)).items.map(({ metadata }) => metadata?.resourceVersion);
    expect(after).toEqual(before);
  });

  it('say when a level goes and comes', async () => {
    const apiVersion = 'flowcontrol.apiserver.k8s.io/v1';
    const spec = { priorityLevelConfiguration: { name: 'own' }, matchingPrecedence: 50 };
    await plane.client.create(FlowSchema, { apiVersion, kind: 'FlowSchema', metadata: { name: 'own' }, spec });
    while ((await danglingOf('own')) !== 'True') await nextTurn();
    await plane.client.create(PriorityLevelConfiguration, {
      apiVersion,
      kind: 'PriorityLevelConfiguration',
      metadata: { name: 'own' },
      spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } },
    });
    while ((await danglingOf('own')) !== 'False') await nextTurn();
    await plane.client.delete(PriorityLevelConfiguration, { name: 'own' });
    while ((await danglingOf('own')) !== 'True') await nextTurn();
  });
});

it('are not stored where priority and fairness is off', async () => {
  await plane.close();
  await rm(dataDir, { recursive: true, force: true });
  plane = await start({ hasPriorityAndFairness: false });
  expect((await plane.client.listPage(FlowSchema)).items).toEqual([]);
});

it('need seats to share', async () => {
  await expect(
    start({ dataDir: `${dataDir}-other`, maxRequestsInflight: 0, maxMutatingRequestsInflight: 0 }),
  ).rejects.toThrow(
    'invalid configuration: MaxRequestsInFlight=0 and MaxMutatingRequestsInFlight=0; they must add up to something positive',
  );
  await rm(`${dataDir}-other`, { recursive: true, force: true });
});
