// Tests a real file system that is full: writes get 507 and change nothing, reads continue, and writes work again when
// there is room. The test needs its own tmpfs, which only root may mount.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isStatusError, type ResourceClient, type StatusError } from '@kapstan/api';
import { Client, clientConfigOf, parseKubeconfig } from '@kapstan/client';
import { startControlPlane } from '@kapstan/control-plane';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { mountSmallDisk, unmountSmallDisk } from '@kapstan/storage/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, expect, it } from 'vitest';

const namespace = 'default';
const ballastBytes = 6 * 1_048_576;
let mount = '';
let refusal: string | undefined;

beforeEach(() => {
  mount = mkdtempSync(join(tmpdir(), 'kapstan-full-disk-'));
  refusal = mountSmallDisk(mount, 24);
});
afterEach(() => {
  if (refusal === undefined) unmountSmallDisk(mount);
  rmSync(mount, { recursive: true, force: true });
});

const configMap = (name: string): ConfigMap => ({ metadata: { namespace, name }, data: { text: 'x'.repeat(60_000) } });

/** Creates objects, eight at a time, until one is refused. */
async function createUntilRefused(
  client: ResourceClient,
  prefix: string,
): Promise<{ names: string[]; errors: StatusError[] }> {
  const names: string[] = [];
  const errors: StatusError[] = [];
  let next = 0;
  const creator = async (): Promise<void> => {
    while (errors.length === 0 && next < 2_000) {
      const name = `${prefix}-${next++}`;
      try {
        await client.create(ConfigMap, configMap(name));
        names.push(name);
      } catch (error) {
        if (!isStatusError(error)) throw error;
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, creator));
  return { names, errors };
}

it('answers 507 while the disk is full, loses nothing, and writes again when there is room', {
  timeout: 60_000,
}, async ({ skip }) => {
  if (refusal !== undefined) return skip(refusal);
  const dataDir = join(mount, 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  const ballast = join(mount, 'ballast');
  writeFileSync(ballast, Buffer.alloc(ballastBytes));
  const failures: unknown[] = [];
  const plane = await startControlPlane({ dataDir, onFatal: (error) => failures.push(error) });
  const client = new Client({ ...clientConfigOf(parseKubeconfig(plane.kubeconfig)), proxyUrl: '' });
  const stored = async (): Promise<string[]> => {
    const { items } = await client.listPage(ConfigMap, { namespace });
    return items.map(({ metadata }) => metadata?.name ?? '').filter((name) => /^(full|room)-/.test(name));
  };
  try {
    const full = await createUntilRefused(client, 'full');
    expect(full.names.length).toBeGreaterThan(20);
    for (const { status } of full.errors) {
      expect(status).toMatchObject({ code: 507, reason: 'InsufficientStorage', status: 'Failure' });
      expect(status.message).toContain('no space left on the file system of the data directory');
    }
    // A group of writes may not fit where a single one still does.
    const last = await createUntilRefused(client, 'full-last');
    expect(last.errors.map(({ code }) => code)).toContain(507);
    full.names.push(...last.names);
    expect((await stored()).sort()).toEqual([...full.names].sort());

    rmSync(ballast);
    const room = await createUntilRefused(client, 'room');
    expect(room.names.length).toBeGreaterThan(20);
    expect((await stored()).sort()).toEqual([...full.names, ...room.names].sort());
    expect(failures).toEqual([]);
  } finally {
    await client.close();
    await plane.close();
  }
  await using engine = await openLmdbEngine({ dataDir: join(dataDir, 'store') });
  expect((await engine.check()).problems).toEqual([]);
});
