// Runs a controller from the packed packages on Bun and Deno, which npm installs into the test's own project, and on this Node.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { type TestCluster, testCluster } from '@kapstan/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installsTools } from '../kapstan/find-tool.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const command = 'KAPSTAN_TEST_INSTALL=1 npx vitest run --project e2e test/e2e/runtimes.test.ts';

describe('a controller', () => {
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
      // Some settings of npm keep it from running the script that puts Bun in its place.
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
    await copyFile(join(root, 'test/e2e/runtime-program.mjs'), join(folder, 'program.mjs'));
    await writeFile(join(folder, 'kubeconfig'), cluster.kubeconfig);
  }, 300_000);
  afterAll(async () => {
    await cluster.close();
    await rm(folder, { recursive: true });
  });

  it.for([
    { runtime: 'Node', file: process.execPath, args: [] },
    { runtime: 'Bun', file: 'node_modules/.bin/bun', args: ['run'] },
    { runtime: 'Deno', file: 'node_modules/.bin/deno', args: ['run', '--allow-all'] },
  ])(
    'runs on $runtime: informer, own writes, events, election, metrics',
    { timeout: 60_000 },
    async ({ runtime, file, args }, ctx) => {
      if (runtime !== 'Node' && !installsTools)
        ctx.skip(`${runtime} is installed only where tests may install programs: ${command}`);
      const name = `on-${runtime.toLowerCase()}`;
      const child = spawn(
        runtime === 'Node' ? file : join(folder, file),
        [...args, 'program.mjs', 'kubeconfig', name],
        { cwd: folder },
      );
      const [output, problems, [code]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'exit'),
      ]);
      expect(code, problems).toBe(0);
      expect(JSON.parse(output)).toEqual({ copied: 'two', listed: 'two', counted: true, conflict: 'Conflict' });
    },
  );
});
