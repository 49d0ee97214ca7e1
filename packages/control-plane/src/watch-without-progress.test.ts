// Tests watches over HTTP on a store without progress requests, such as etcd before 3.4.31 or 3.5.13.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WatchOptions } from '@kapstan/api';
import { Client, clientConfigOf, parseKubeconfig } from '@kapstan/client';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { type Engine, MemoryEngine } from '@kapstan/storage';
import { openEtcdEngine } from '@kapstan/storage-etcd';
import { findEtcd, howToInstall, startEtcd } from '@kapstan/storage-etcd/testing';
import { afterAll, beforeAll, describe, expect, it, type TestContext, vi } from 'vitest';
import { startControlPlane } from './control-plane.ts';
import type { ControlPlane } from './options/control-plane-options.ts';

// These tests start whole servers; the first start takes seconds on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const binary = findEtcd();
if (binary === undefined) console.warn(`SKIPPED: watches on an old etcd: no etcd found; ${howToInstall}`);

async function openOwnEtcd(): Promise<Engine> {
  const [member] = await startEtcd({ binary: binary ?? '' });
  if (member === undefined) throw new Error('no etcd was started');
  const engine = await openEtcdEngine({ endpoints: [member.endpoint] });
  const close = engine.close.bind(engine);
  engine.close = async () => {
    await close();
    await member.remove();
  };
  return engine;
}

const stores: { readonly store: string; readonly open: () => Promise<Engine> }[] = [
  { store: 'a store', open: async () => new MemoryEngine({ supportsProgressRequests: false }) },
];
if (binary !== undefined) stores.push({ store: 'an etcd', open: openOwnEtcd });

describe.each(stores)('on $store without progress requests', ({ open }) => {
  let dataDir: string;
  let engine: Engine;
  let controlPlane: ControlPlane;
  let client: Client;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'kapstan-no-progress-'));
    engine = await open();
    controlPlane = await startControlPlane({ dataDir, engine, http: { drainMs: 100 } });
    client = new Client(clientConfigOf(parseKubeconfig(controlPlane.kubeconfig)));
    await client.create(ConfigMap, { metadata: { name: 'first', namespace: 'default' } });
  });
  afterAll(async () => {
    await client.close();
    await controlPlane.close();
    await engine.close();
    await rm(dataDir, { recursive: true });
  });

  /** Returns the names in the first two events; the second is a change made after the start. */
  async function firstTwo(options: WatchOptions): Promise<unknown[]> {
    const seen: unknown[] = [];
    for await (const event of client.watchEvents(ConfigMap, { namespace: 'default', ...options })) {
      seen.push([event.type, event.type === 'ADDED' && event.object.metadata?.name]);
      if (seen.length === 2) break;
      await client.create(ConfigMap, { metadata: { name: 'second', namespace: 'default' } });
    }
    await client.delete(ConfigMap, { name: 'second', namespace: 'default' });
    return seen;
  }

  const needsOldStore = ({ skip }: TestContext): void => {
    if (engine.supportsProgressRequests) skip('this etcd can be asked for progress');
  };
  const fieldSelector = 'metadata.name!=kube-root-ca.crt';
  it.each<[string, WatchOptions]>([
    ['from any state', { resourceVersion: '0' }],
    ['from the present state', {}],
    ['of a streamed list', { resourceVersion: '0', sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }],
  ])('a watch %s that wants no bookmarks sends the state, then the changes', async (_what, options) => {
    expect(await firstTwo({ fieldSelector, ...options })).toEqual([
      ['ADDED', 'first'],
      ['ADDED', 'second'],
    ]);
  });

  it('a watch from any state that wants bookmarks is refused', async (context) => {
    needsOldStore(context);
    const refused = firstTwo({ fieldSelector, resourceVersion: '0', allowWatchBookmarks: true });
    await expect(refused).rejects.toMatchObject({
      code: 500,
      message:
        'a watch stream was requested by the client but the required storage feature RequestWatchProgress is disabled',
    });
  });
});
