import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resource } from '@kapstan/api';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { MemoryEngine } from '@kapstan/storage';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startControlPlane } from '../control-plane.ts';

const key = '/registry/configmaps/default/a';
const place = { name: 'a', namespace: 'default' };
const data = { k: 'v' };

async function open(engine: MemoryEngine, options: Pick<Parameters<typeof startControlPlane>[0], 'storageMediaType'>) {
  const dataDir = await mkdtemp(join(tmpdir(), 'kapstan-media-'));
  const plane = await startControlPlane({ dataDir, engine, http: 'off', ...options });
  onTestFinished(async () => {
    await plane.close();
    await rm(dataDir, { recursive: true });
  });
  return plane.client;
}

const storedText = async (engine: MemoryEngine, at: string): Promise<string> =>
  Buffer.from((await engine.get(at)).kv?.value ?? []).toString('latin1');

describe('the media type of the store', () => {
  it.each([
    [{}, /^{/],
    [{ storageMediaType: 'application/json' }, /^{/],
    [{ storageMediaType: 'application/yaml' }, /^apiVersion: v1\n/],
    [{ storageMediaType: 'application/vnd.kubernetes.protobuf' }, /^k8s\0/],
  ] as const)('is the one asked for: %j', async (options, expected) => {
    const engine = new MemoryEngine();
    const client = await open(engine, options);
    const created = await client.create(ConfigMap, { metadata: place, data });
    expect(await storedText(engine, key)).toMatch(expected);
    expect(await client.get(ConfigMap, place)).toEqual(created);
  });

  it('can be changed: what was written before is read, and written anew by its next update, even one that changes nothing', async () => {
    const engine = new MemoryEngine();
    const before = await open(engine, { storageMediaType: 'application/json' });
    const created = await before.create(ConfigMap, { metadata: place, data });
    const after = await open(engine, { storageMediaType: 'application/vnd.kubernetes.protobuf' });
    expect(await after.get(ConfigMap, place)).toEqual(created);
    const updated = await after.update(ConfigMap, created);
    expect(await storedText(engine, key)).toMatch(/^k8s\0/);
    expect(updated.metadata?.resourceVersion).not.toBe(created.metadata?.resourceVersion);
    expect(await after.update(ConfigMap, updated)).toEqual(updated);
  });

  it('is JSON for definitions and custom resources', async () => {
    const engine = new MemoryEngine();
    const client = await open(engine, { storageMediaType: 'application/vnd.kubernetes.protobuf' });
    await client.create(CustomResourceDefinition, {
      metadata: { name: 'gears.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Cluster',
        names: { plural: 'gears', kind: 'Gear' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    });
    const Gear = resource({ group: 'example.com', version: 'v1', kind: 'Gear', plural: 'gears', scope: 'Cluster' });
    await expect.poll(() => client.create(Gear, { metadata: { name: 'x' } }).then(() => 'made', String)).toBe('made');
    const definition = '/registry/apiextensions.k8s.io/customresourcedefinitions/gears.example.com';
    for (const at of [definition, '/registry/example.com/gears/x'])
      expect(await storedText(engine, at), at).toMatch(/^{/);
  });
});
