import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { fillDisk, makeRoom, mountSmallDisk, unmountSmallDisk } from '@kapstan/storage/testing';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { store } from './command/store-command.ts';
import { main } from './command.ts';
import { startControlPlane } from './control-plane.ts';
import { catchOutput } from './testing/caught-output.ts';

let work = '';
let mount = '';
let dataDir = '';
let refusal: string | undefined;
let printed = '';

beforeEach(() => {
  work = mkdtempSync(join(tmpdir(), 'kapstan-full-'));
  mount = mkdtempSync(join(work, 'disk-'));
  dataDir = join(mount, 'data');
  refusal = mountSmallDisk(mount, 8);
  printed = '';
  catchOutput(process.stderr, (text) => {
    printed += text;
  });
  catchOutput(process.stdout, () => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  if (refusal === undefined) unmountSmallDisk(mount);
  rmSync(work, { recursive: true, force: true });
});

it('tells in one line that there is no room for a new store, and ends with status 1', async ({ skip }) => {
  if (refusal !== undefined) return skip(refusal);
  fillDisk(mount);
  expect(await main(['serve', '--secure-port=0', `--data-dir=${dataDir}`])).toBe(1);
  expect(printed).toMatch(/^kapstan: --data-dir: .*ENOSPC: no space left on device.*\n$/);
});

it('answers a backup that the server has no room for with what to do, and leaves nothing of it', async ({ skip }) => {
  if (refusal !== undefined) return skip(refusal);
  const plane = await startControlPlane({ dataDir });
  try {
    const kubeconfig = join(work, 'kubeconfig');
    writeFileSync(kubeconfig, plane.kubeconfig);
    const data = { text: 'x'.repeat(500_000) };
    await plane.client.create(ConfigMap, { metadata: { namespace: 'default', name: 'large' }, data });
    fillDisk(mount);
    const out = join(work, 'backup');
    expect(await store(['backup', '--kubeconfig', kubeconfig, '--out', out])).toBe(1);
    expect(printed).toMatch(
      /^kapstan store backup: not enough disk space for the copy that the server makes next to its store .*\n$/,
    );
    expect([readdirSync(out), readdirSync(dataDir).sort()]).toEqual([[], ['pki', 'store']]);
    makeRoom(mount);
    expect(await store(['backup', '--kubeconfig', kubeconfig, '--out', out])).toBe(0);
  } finally {
    await plane.close();
  }
});
