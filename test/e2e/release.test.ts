// Tests the refusals of the release command, and the workflow that runs it. installed-packages.test.ts checks the
// packed packages.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { entryPointFaults } from '../../scripts/package-checks.mjs';

interface Job {
  readonly needs?: string;
  readonly permissions: Readonly<Record<string, string>>;
  readonly steps: readonly { readonly run?: string }[];
}

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Runs the command as on a machine without the identity of a workflow: in the workflow itself, these tests must not publish. */
function release(...flags: string[]) {
  const { ACTIONS_ID_TOKEN_REQUEST_URL: _identity, ...env } = process.env;
  const args = [join(root, 'scripts/release.mjs'), ...flags];
  return spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', env });
}

describe('npm run release', () => {
  it('refuses to publish from a machine that cannot prove where the packages come from', () => {
    const { status, stderr } = release();
    expect(status).toBe(1);
    expect(stderr).toContain('provenance needs a workflow with the permission id-token: write');
  });

  it('refuses flags that it does not know', () => {
    const { status, stderr } = release('--dryrun');
    expect(status).toBe(1);
    expect(stderr).toContain('use one of --dry-run, --version, or none; not --dryrun');
  });

  it('is run by a workflow whose last job alone may make a statement of provenance', async () => {
    const workflow = parse(await readFile(join(root, '.github/workflows/release.yml'), 'utf8')) as {
      readonly permissions: Readonly<Record<string, string>>;
      readonly jobs: Readonly<Record<'test' | 'publish', Job>>;
    };
    const { test, publish } = workflow.jobs;
    expect(workflow.permissions).toEqual({});
    expect(test.permissions).toEqual({ contents: 'read' });
    expect(publish).toMatchObject({ needs: 'test', permissions: { contents: 'read', 'id-token': 'write' } });
    expect(publish.steps.map(({ run }) => run)).toContain('npm run release');
    expect(publish.steps.map(({ run }) => run)).not.toContain('npm test');
  });
});

describe('npm pack', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kapstan-pack-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('checks each package before it packs it', async () => {
    const manifests = (await readdir(join(root, 'packages'))).map((name) =>
      join(root, 'packages', name, 'package.json'),
    );
    for (const manifest of manifests) {
      const { private: isPrivate, scripts } = JSON.parse(await readFile(manifest, 'utf8'));
      if (!isPrivate) expect([manifest, scripts.prepack]).toEqual([manifest, 'node ../../scripts/built-package.mjs']);
    }
  });

  it('makes an archive whose entry points are checked', async () => {
    const one = join(folder, 'one');
    await mkdir(one);
    const exports = { '.': { types: './index.d.ts', default: './index.js' } };
    const manifest = { name: 'one', version: '1.0.0', type: 'module', license: 'MIT', sideEffects: false, exports };
    await writeFile(join(one, 'package.json'), JSON.stringify(manifest));
    await writeFile(join(one, 'index.d.ts'), 'export declare const one: number;');
    const faults = async (): Promise<readonly string[]> => {
      const { status } = spawnSync('npm', ['pack', '--silent'], { cwd: one });
      expect(status).toBe(0);
      return entryPointFaults({ name: 'one', manifest, archive: join(one, 'one-1.0.0.tgz') });
    };
    expect(await faults()).toEqual([expect.stringMatching(/^publint: .*index\.js.* does not exist/)]);
    await rm(join(one, 'one-1.0.0.tgz'));
    await writeFile(join(one, 'index.js'), 'export const one = 1;');
    expect(await faults()).toEqual([]);
  });

  it('refuses a package without its code, and one that was built from other sources', async () => {
    const one = join(folder, 'packages', 'one');
    for (const name of ['src', 'dist']) await mkdir(join(one, name), { recursive: true });
    await cp(join(root, 'scripts/built-package.mjs'), join(folder, 'scripts/built-package.mjs'));
    const exports = {
      '.': { '@kapstan/source': './src/index.ts', default: './dist/index.js' },
      './package.json': './package.json',
    };
    const scripts = { prepack: 'node ../../scripts/built-package.mjs' };
    await writeFile(join(one, 'package.json'), JSON.stringify({ name: 'one', version: '1.0.0', exports, scripts }));
    await writeFile(join(one, 'src', 'index.ts'), 'export const one = 1;');
    const pack = () => {
      const { status, stderr } = spawnSync('npm', ['pack', '--silent', '--ignore-scripts=false'], {
        cwd: one,
        encoding: 'utf8',
      });
      return [status, stderr];
    };
    expect(pack()).toEqual([
      1,
      expect.stringContaining('one is not built, it would be packed without ./dist/index.js; run "npm run build"'),
    ]);
    await writeFile(join(one, 'dist', 'index.js'), 'export const one = 1;');
    const version = createHash('sha256').update('export const one = 1;').digest('hex');
    await writeFile(
      join(one, 'dist', '.tsbuildinfo'),
      JSON.stringify({ fileNames: ['../src/index.ts'], fileInfos: [version] }),
    );
    expect(pack()[0]).toBe(0);
    const joining = { ...scripts, build: 'tsc -b && node ../../scripts/join-modules.mjs' };
    await writeFile(
      join(one, 'package.json'),
      JSON.stringify({ name: 'one', version: '1.0.0', exports, scripts: joining }),
    );
    expect(pack()).toEqual([
      1,
      expect.stringContaining('one was compiled after its modules were joined; run "npm run'),
    ]);
    await cp(join(one, 'dist', '.tsbuildinfo'), join(one, 'dist', 'joined.tsbuildinfo'));
    expect(pack()[0]).toBe(0);
    await writeFile(join(one, 'src', 'index.ts'), 'export const one = 2;');
    expect(pack()).toEqual([1, expect.stringMatching(/dist of one was not built from the present .*index\.ts; run/)]);
  });
});
