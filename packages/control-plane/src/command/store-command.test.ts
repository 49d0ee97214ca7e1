import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isExpired, isNotFound, type Revision, type WatchEvent } from '@kapstan/api';
import { Client, clientConfigOf, parseKubeconfig } from '@kapstan/client';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane } from '../options/control-plane-options.ts';
import { catchOutput } from '../testing/caught-output.ts';
import { store } from './store-command.ts';

const tokens = { text: 'alice-token,alice,1\n', fileName: 'tokens.csv' };

let work: string;
let dataDir: string;
let kubeconfig: string;
let controlPlane: ControlPlane | undefined;
let written: string;
let complaints: string;

beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), 'kapstan-store-'));
  dataDir = join(work, 'data');
  kubeconfig = join(work, 'kubeconfig');
  written = '';
  complaints = '';
  catchOutput(process.stdout, (text) => {
    written += text;
  });
  catchOutput(process.stderr, (text) => {
    complaints += text;
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await stop();
  await rm(work, { recursive: true, force: true });
});

async function start(directory: string = dataDir): Promise<ControlPlane> {
  controlPlane = await startControlPlane({ dataDir: directory, tokens, http: { drainMs: 100 } });
  await writeFile(kubeconfig, controlPlane.kubeconfig);
  return controlPlane;
}

async function stop(): Promise<void> {
  await controlPlane?.close();
  controlPlane = undefined;
}

/** Runs a command and reads its output. */
async function run(...args: string[]): Promise<Record<string, unknown>> {
  written = '';
  expect([await store(args), complaints]).toEqual([0, '']);
  return JSON.parse(written) as Record<string, unknown>;
}

async function createConfigMap(name: string): Promise<string> {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } };
  const made = await controlPlane?.client.create(ConfigMap, object);
  return made?.metadata?.resourceVersion ?? '';
}

describe('kapstan store on a running server', () => {
  it('compacts to the present revision: versions and watches from before are gone, also from the cache', async () => {
    await start();
    const before = await createConfigMap('a');
    await createConfigMap('b');
    const { revision } = await run('compact', '--kubeconfig', kubeconfig);
    expect(await run('compact', `--kubeconfig=${kubeconfig}`)).toEqual({ revision });
    expect(await run('stats', '--kubeconfig', kubeconfig)).toMatchObject({ revision, compactRevision: revision });
    const http = new Client(clientConfigOf(parseKubeconfig(controlPlane?.kubeconfig ?? '')));
    try {
      const exact = { namespace: 'default', resourceVersion: before, resourceVersionMatch: 'Exact' as const };
      expect(isExpired(await http.listPage(ConfigMap, exact).catch((error: unknown) => error))).toBe(true);
      const events: WatchEvent<ConfigMap>[] = [];
      const late = { namespace: 'default', resourceVersion: before };
      const outcome = await (async () => {
        for await (const event of http.watchEvents(ConfigMap, late)) events.push(event);
      })().catch((error: unknown) => error);
      expect([isExpired(outcome), events]).toEqual([true, []]);
    } finally {
      await http.close();
    }
  });

  it('backs up a server that goes on; the copy is a whole store, and leaves nothing beside the server', async () => {
    await start();
    await createConfigMap('a');
    const out = join(work, 'backup');
    const { revision: stored } = await run('stats', '--kubeconfig', kubeconfig);
    const made = await run('backup', '--kubeconfig', kubeconfig, '--out', out);
    expect(made).toEqual({ revision: stored, directory: out });
    await createConfigMap('later');
    expect(await readdir(out)).toEqual(['data.mdb']);
    expect(await run('check', '--from', out)).toMatchObject({ revision: stored, problems: [] });
    expect(await run('stats', '--from', out)).toMatchObject({ revision: stored });
    expect(await store(['check', '--data-dir', out])).toBe(1);
    expect(complaints).toContain(`there is no store in ${out}, it is a backup: use --from ${out} to inspect it\n`);
    complaints = '';
    expect((await readdir(dataDir)).sort()).toEqual(['pki', 'store']);
    expect(await store(['backup', '--kubeconfig', kubeconfig, '--out', out])).toBe(1);
    expect(complaints).toContain('exists already');
    complaints = '';
    await stop();

    const restored = join(work, 'restored');
    const { revision } = await run('restore', '--data-dir', restored, '--from', out);
    expect(revision).toBeGreaterThan(1_000_000_000);
    expect(await run('check', '--data-dir', restored)).toMatchObject({ revision, problems: [] });
    const { client } = await start(restored);
    expect((await client.get(ConfigMap, { namespace: 'default', name: 'a' })).metadata?.name).toBe('a');
    const later = await client.get(ConfigMap, { namespace: 'default', name: 'later' }).catch((error: unknown) => error);
    expect(isNotFound(later)).toBe(true);
  });

  it('lets nobody but system:masters in', async () => {
    const { url, caCert } = await start();
    const alice = new Client({ server: url, token: 'alice-token', tls: { ca: caCert } });
    try {
      const paths = ['stats', 'backup'].map((name) => ({ path: `/debug/kapstan/store/${name}` }));
      for (const request of [...paths, { method: 'POST' as const, path: '/debug/kapstan/store/compact' }]) {
        await expect(alice.raw(request)).rejects.toThrow('forbidden: User "alice" cannot');
      }
    } finally {
      await alice.close();
    }
  });
});

describe('kapstan store on a stopped data directory', () => {
  it('checks, shows, compacts, backs up and restores', async () => {
    await start();
    await createConfigMap('a');
    await stop();
    expect(await run('check', '--data-dir', dataDir)).toMatchObject({ problems: [] });
    const { revision } = await run('compact', '--data-dir', dataDir);
    expect(await run('compact', '--data-dir', dataDir)).toEqual({ revision });
    expect(await run('stats', '--data-dir', dataDir)).toMatchObject({ revision, compactRevision: revision });
    const out = join(work, 'backup');
    expect(await run('backup', '--data-dir', dataDir, '--out', out)).toEqual({ revision, directory: out });
    const copy = join(work, 'copy');
    expect(await run('restore', '--data-dir', copy, '--from', out, '--revision-bump=0')).toEqual({ revision });
    expect(await store(['restore', '--data-dir', copy, '--from', out])).toBe(1);
    expect(complaints).toContain('holds a store already');
    complaints = '';
    const other = join(work, 'other');
    expect(await store(['restore', '--data-dir', other, '--from', join(work, 'none')])).toBe(1);
    expect(complaints).toBe(`kapstan store restore: there is no backup in ${join(work, 'none')}\n`);
    expect(existsSync(other)).toBe(false);
  });

  it('finds values that no server can read, by their kinds, and does not look into encrypted ones', async () => {
    await start();
    await createConfigMap('a');
    await stop();
    const at = '/registry/configmaps/default/';
    const values = [
      [`${at}broken`, '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"na\0\0\0\0\0\0\0\0\0\0\0\0'],
      [`${at}other-kind`, '{"kind":"Secret","apiVersion":"v1","metadata":{"name":"other-kind"}}'],
      [`${at}envelope`, 'k8s\0\xff\xff\xff'],
      ['/registry/example.com/foos/default/broken', '{'],
      ['/registry/secrets/default/sealed', 'k8s:enc:aesgcm:v1:key:xxxx'],
      ['/elsewhere/a', 'theirs'],
    ] as const;
    const engine = await openLmdbEngine({ dataDir: join(dataDir, 'store') });
    for (const [key, text] of values) {
      const change = { type: 'put', value: Buffer.from(text, 'latin1') } as const;
      await engine.commit({ key, expectedRevision: 0 as Revision, change });
    }
    await engine.close();
    expect([await store(['check', '--data-dir', dataDir]), complaints]).toEqual([1, '']);
    const report = JSON.parse(written) as { encrypted: number; problems: string[] };
    expect(report.encrypted).toBe(1);
    expect(report.problems.map((problem) => problem.replace(/ at \d+: its value cannot be read: .+$/, ''))).toEqual([
      `${at}broken`,
      `${at}envelope`,
      `${at}other-kind`,
      '/registry/example.com/foos/default/broken',
    ]);
    expect(report.problems.join()).toContain('v1 Secret is stored where v1 ConfigMap belongs');
  });

  it('refuses one that is in use, and one that is not there without making it', async () => {
    await start();
    expect(await store(['check', '--data-dir', dataDir])).toBe(1);
    expect(complaints).toContain(`is in use by process ${process.pid}; stop the server first\n`);
    expect(await store(['stats', '--data-dir', dataDir])).toBe(1);
    expect(complaints).toMatch(/is in use by process \d+; use --kubeconfig FILE to ask the running server\n$/);
    expect(complaints).not.toMatch(/StorageError|Code: /);
    complaints = '';
    const none = join(work, 'none');
    expect(await store(['stats', '--data-dir', none])).toBe(1);
    expect([complaints, existsSync(none)]).toEqual([`kapstan store stats: there is no store in ${none}\n`, false]);
  });

  it('says why one cannot be looked at, and not that it is not there', async () => {
    await symlink('round', join(work, 'round'));
    expect(await store(['stats', '--data-dir', join(work, 'round')])).toBe(1);
    expect(complaints).toContain('kapstan store stats: ELOOP');
  });
});

describe('the flags of kapstan store', () => {
  it.each<[string[], string]>([
    [['frobnicate'], `unknown store command "frobnicate"; 'kapstan store help' lists the commands`],
    [['stats'], 'one of --data-dir, --kubeconfig and --from must be specified'],
    [['stats', '--data-dir=a', '--kubeconfig=b'], 'only one of --data-dir, --kubeconfig and --from may be specified'],
    [['check'], 'one of --data-dir and --from must be specified'],
    [['compact', '--from=a'], '--from is not a flag of kapstan store compact'],
    [
      ['check', '--kubeconfig=a'],
      '--kubeconfig is not a flag of kapstan store check: stop the server and use --data-dir',
    ],
    [['stats', '--data-dir=a', '--out=b'], '--out is not a flag of kapstan store stats'],
    [['backup', '--data-dir=a'], '--out must be specified'],
    [['restore', '--data-dir=a'], '--from must be specified'],
    [['stats', '--no-such-flag'], 'unknown flag: --no-such-flag'],
    [['stats', 'pods', '--data-dir=a'], 'unexpected argument: pods'],
    [['restore', '--data-dir=a', '--from=b', '--revision-bump=-1'], '--revision-bump can not be negative value'],
    [['restore', '--data-dir=a', '--from=b', '--revision-bump', '-5'], '--revision-bump can not be negative value'],
  ])('%s', async (args, message) => {
    await expect(store(args)).rejects.toThrow(message);
  });

  it('are shown by help', async () => {
    expect(await store(['help'])).toBe(0);
    expect(written).toContain('--revision-bump (default 1000000000)');
    expect([await store([]), await store(['stats', '--help'])]).toEqual([2, 0]);
  });
});
