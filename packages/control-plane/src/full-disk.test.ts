// A server and its commands on a file system without room, a real one: a tmpfs of its own, which only root may mount.
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { main } from './command.ts';
import { startControlPlane } from './control-plane.ts';
import { store } from './store-command.ts';

let work = '';
let mount = '';
let dataDir = '';
let refusal: string | undefined;
let printed = '';

beforeEach(() => {
  work = mkdtempSync(join(tmpdir(), 'kapstan-full-'));
  mount = mkdtempSync(join(work, 'disk-'));
  dataDir = join(mount, 'data');
  refusal = mountTmpfs(mount);
  printed = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
  vi.spyOn(process.stdout, 'write').mockImplementation(() => true);
});
afterEach(() => {
  vi.restoreAllMocks();
  if (refusal === undefined) execFileSync('umount', [mount]);
  rmSync(work, { recursive: true, force: true });
});

/** Of 8 MiB. Answers why there is none; undefined when there is. */
function mountTmpfs(directory: string): string | undefined {
  if (process.getuid?.() !== 0) return 'only root may mount a tmpfs; run the tests as root';
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'none', directory], { stdio: 'pipe' });
    return undefined;
  } catch (error) {
    return `no tmpfs can be mounted here: ${(error as Error).message}`;
  }
}

function fill(): void {
  const descriptor = openSync(join(mount, 'ballast'), 'w');
  try {
    for (;;) writeSync(descriptor, Buffer.alloc(4096));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(descriptor);
  }
}

it('tells in one line that there is no room for a new store, and ends with status 1', async ({ skip }) => {
  if (refusal !== undefined) return skip(refusal);
  fill();
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
    fill();
    const out = join(work, 'backup');
    expect(await store(['backup', '--kubeconfig', kubeconfig, '--out', out])).toBe(1);
    expect(printed).toMatch(
      /^kapstan store backup: the server has no room for the copy that it makes beside its store .*\n$/,
    );
    expect([readdirSync(out), readdirSync(dataDir).sort()]).toEqual([[], ['pki', 'store']]);
    rmSync(join(mount, 'ballast'));
    expect(await store(['backup', '--kubeconfig', kubeconfig, '--out', out])).toBe(0);
  } finally {
    await plane.close();
  }
});
