// Runs a controller, the client's wires and test clusters from the packed packages on Bun and Deno, which npm installs into the test's own
// project, and on this Node.
import { execFileSync, spawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { ConfigMap, Namespace } from '@kapstan/kinds/core/v1';
import { type TestCluster, testCluster } from '@kapstan/testing';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { installsTools } from '../kapstan/find-tool.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const command = 'KAPSTAN_TEST_INSTALL=1 npx vitest run --project e2e test/e2e/runtimes.test.ts';

const runtimes = [
  { runtime: 'Node', file: process.execPath, args: [] },
  { runtime: 'Bun', file: 'node_modules/.bin/bun', args: ['run'] },
  { runtime: 'Deno', file: 'node_modules/.bin/deno', args: ['run', '--allow-all'] },
] as const;

/** Notes which wires list ConfigMaps over HTTP/1.1, and whether they accept gzip, until `end` returns it. */
function listsOverHttp1(): { end(): Readonly<Record<string, boolean>> } {
  const seen: Record<string, boolean> = {};
  const note = (message: unknown): void => {
    const { request } = message as { readonly request: IncomingMessage };
    const [, wire] = /[?&]labelSelector=wire(?:!|%21)(?:=|%3D)([\w-]+)/.exec(request.url ?? '') ?? [];
    if (wire !== undefined) seen[wire] = /gzip/.test(request.headers['accept-encoding']?.toString() ?? '');
  };
  subscribe('http.server.request.start', note);
  return {
    end: () => {
      unsubscribe('http.server.request.start', note);
      return seen;
    },
  };
}

describe('the packages', () => {
  let folder: string;
  let cluster: TestCluster;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kapstan-runtimes-'));
    cluster = await testCluster({ clock: 'real' });
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    // npm removes packages that it did not install itself, so the runtimes come first.
    const flags = ['--no-save', '--no-audit', '--no-fund', '--silent'];
    if (installsTools) {
      execFileSync('npm', ['install', ...flags, 'bun@1', 'deno@2'], { cwd: folder, stdio: 'pipe' });
      // Some settings of npm prevent it from running the script that installs Bun.
      execFileSync(process.execPath, ['install.js'], { cwd: join(folder, 'node_modules/bun'), stdio: 'pipe' });
    }
    await mkdir(join(folder, 'node_modules/@kapstan'), { recursive: true });
    execFileSync('npm', ['pack', '--silent', '-w', 'packages', '--pack-destination', folder], { cwd: root });
    for (const archive of (await readdir(folder)).filter((name) => name.startsWith('kapstan-'))) {
      const target = join(folder, 'node_modules/@kapstan', archive.replace(/^kapstan-(.*)-\d+\.\d+\.\d+\.tgz$/, '$1'));
      await mkdir(target);
      execFileSync('tar', ['-xzf', join(folder, archive), '--strip-components=1', '-C', target]);
    }
    const installed = new Set(await readdir(join(folder, 'node_modules')));
    for (const name of await readdir(join(root, 'node_modules')))
      if (name !== '@kapstan' && !name.startsWith('.') && !installed.has(name))
        await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
    for (const program of ['runtime-program.mjs', 'runtime-wires.mjs'])
      await copyFile(join(root, 'test/e2e', program), join(folder, program));
    await cluster.client.create(Namespace, { metadata: { name: 'wires' } });
    // The ConfigMaps have more than 128 KiB in total, from which the server compresses.
    for (let index = 0; index < 300; index++) {
      const metadata = { name: `map-${index}`, namespace: 'wires' };
      await cluster.client.create(ConfigMap, { metadata, data: { text: 'x'.repeat(2000) } });
    }
    await writeFile(join(folder, 'kubeconfig'), cluster.kubeconfig);
  }, 300_000);
  afterAll(async () => {
    await cluster.close();
    await rm(folder, { recursive: true });
  });

  /** Returns the output of the program. */
  async function run(
    { runtime, file, args }: (typeof runtimes)[number],
    program: readonly string[],
    ctx: TestContext,
  ): Promise<unknown> {
    if (runtime !== 'Node' && !installsTools)
      ctx.skip(`${runtime} is installed only where tests may install programs: ${command}`);
    const path = runtime === 'Node' ? file : join(folder, file);
    const child = spawn(path, [...args, ...program], { cwd: folder });
    const [output, problems, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    expect(code, problems).toBe(0);
    return JSON.parse(output);
  }

  it.for(runtimes)(
    'run a controller on $runtime: informer, own writes, events, election, metrics',
    { timeout: 60_000 },
    async (one, ctx) => {
      const program = ['runtime-program.mjs', 'kubeconfig', `on-${one.runtime.toLowerCase()}`];
      expect(await run(one, program, ctx)).toEqual({
        copied: 'two',
        listed: 'two',
        counted: true,
        conflict: 'Conflict',
      });
    },
  );

  it.for(runtimes)(
    'speak HTTP/1.1 and HTTP/2 on $runtime, with and without gzip, and serve HTTPS from a test cluster in memory and on LMDB',
    { timeout: 60_000 },
    async (one, ctx) => {
      const asked = listsOverHttp1();
      const wires = ['plain', 'gzip', 'http2', 'http2 and gzip'].map((wire) => [wire, '300 ADDED']);
      expect(await run(one, ['runtime-wires.mjs', 'kubeconfig', 'wires'], ctx)).toEqual({
        ...Object.fromEntries(wires),
        memory: 1,
        lmdb: 1,
      });
      // The other two did not fall back to HTTP/1.1.
      expect(asked.end()).toEqual({ plain: false, gzip: true });
    },
  );
});
