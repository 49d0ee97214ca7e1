import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createProject } from './create-project.ts';

let parent: string;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'create-kapstan-'));
});
afterEach(() => rm(parent, { recursive: true }));

const read = (path: string) => readFile(join(parent, path), 'utf8');
type Manifest = Readonly<Record<'scripts' | 'dependencies' | 'devDependencies', Readonly<Record<string, string>>>>;
const manifest = async (name = 'a') => JSON.parse(await read(`${name}/package.json`)) as Manifest;

/** Makes files that look like packed packages. */
async function packedIn(folder: string, names: readonly string[]): Promise<string> {
  const directory = join(parent, folder);
  await mkdir(directory);
  for (const name of names) await writeFile(join(directory, name), name);
  return directory;
}

const archives = ['api', 'controller', 'kinds', 'control-plane', 'testing', 'client'].map(
  (name) => `kapstan-${name}-0.1.0.tgz`,
);

describe('a new project', () => {
  it('has the words of its options in all files, and none of the template', async () => {
    const { directory, files } = await createProject(parent, {
      name: 'backups',
      group: 'example.org',
      kind: 'CronTab',
    });
    expect(directory).toBe(join(parent, 'backups'));
    expect(files).toEqual([
      '.dockerignore',
      '.github/workflows/ci.yml',
      '.gitignore',
      'Dockerfile',
      'README.md',
      'package.json',
      'scripts/dev.mjs',
      'src/api.ts',
      'src/controller.ts',
      'src/dev.ts',
      'src/main.ts',
      'src/program.ts',
      'test/api.test.ts',
      'test/controller.test.ts',
      'tsconfig.build.json',
      'tsconfig.json',
    ]);
    for (const file of files)
      expect(await read(`backups/${file}`), file).not.toMatch(/greeting|my-controller|example\.com/i);
    expect(await read('backups/src/controller.ts')).toContain(
      'export const cronTabController: Controller = controller(CronTab)',
    );
    expect(await read('backups/README.md')).toContain('kubectl get crontab,configmap');
    expect(await read('backups/Dockerfile')).not.toContain('vendor');
    expect(await read('backups/.dockerignore')).not.toContain('vendor');
  });

  it('has tests for the runner of its choice', async () => {
    await createProject(parent, { name: 'a', test: 'node' });
    const { scripts, devDependencies } = await manifest();
    expect(scripts).toMatchObject({ test: expect.stringContaining('--test') });
    expect(devDependencies).not.toHaveProperty('vitest');
    for (const file of ['api', 'controller']) {
      const text = await read(`a/test/${file}.test.ts`);
      expect(text).toContain("import { test } from 'node:test';");
      expect(text).not.toContain('vitest');
    }
    expect(await read('a/tsconfig.test.json')).toContain('.test');
  });

  it('brings packed packages along', async () => {
    const packages = await packedIn('packed', [...archives, 'create-kapstan-0.1.0.tgz', 'other-0.1.0.tgz', 'readme']);
    const { files } = await createProject(parent, { name: 'a', packages });
    expect(files.filter((file) => file.startsWith('vendor/'))).toEqual(
      ['create-kapstan-0.1.0.tgz', ...archives].map((file) => `vendor/${file}`).sort(),
    );
    expect(await read('a/vendor/kapstan-api-0.1.0.tgz')).toBe('kapstan-api-0.1.0.tgz');
    const { dependencies, devDependencies } = await manifest();
    expect(dependencies).toEqual({
      '@kapstan/api': 'file:vendor/kapstan-api-0.1.0.tgz',
      '@kapstan/controller': 'file:vendor/kapstan-controller-0.1.0.tgz',
      '@kapstan/kinds': 'file:vendor/kapstan-kinds-0.1.0.tgz',
      rxjs: '^7.8.2',
    });
    expect(devDependencies).toMatchObject({
      '@kapstan/client': 'file:vendor/kapstan-client-0.1.0.tgz',
      'create-kapstan': 'file:vendor/create-kapstan-0.1.0.tgz',
    });
    expect(await read('a/Dockerfile')).toContain('COPY vendor ./vendor\n');
  });

  it('takes the packages of its own version from the registry', async () => {
    await createProject(parent, { name: 'a' });
    const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'));
    const { dependencies, devDependencies } = await manifest();
    const own = Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) =>
      name.startsWith('@kapstan/'),
    );
    expect(own).toHaveLength(5);
    for (const [name, range] of own) expect(range, name).toBe(version);
  });

  it('is not made in a directory that has files, unless it is forced', async () => {
    await mkdir(join(parent, 'a'));
    await createProject(parent, { name: 'a' });
    await writeFile(join(parent, 'a/README.md'), 'mine');
    await writeFile(join(parent, 'a/notes'), 'mine');
    await expect(createProject(parent, { name: 'a' })).rejects.toThrow(
      'the directory a exists and is not empty; choose another name, or --force to replace files of the same name',
    );
    expect(await read('a/README.md')).toBe('mine');
    await createProject(parent, { name: 'a', force: true });
    expect(await read('a/README.md')).toContain('# a\n');
    expect(await read('a/notes')).toBe('mine');
  });

  it('is refused where it cannot be, before anything is written', async () => {
    await writeFile(join(parent, 'file'), '');
    await expect(createProject(parent, { name: 'file' })).rejects.toThrow('file exists and is not a directory');
    await symlink(join(parent, 'loop'), join(parent, 'loop'));
    await expect(createProject(parent, { name: 'loop' })).rejects.toThrow('cannot read loop: ELOOP');
    await expect(createProject(parent, { name: '../b' })).rejects.toThrow('name "../b"');
    const missing = join(parent, 'none');
    await expect(createProject(parent, { name: 'b', packages: missing })).rejects.toThrow(
      `cannot read the directory of packages ${missing}: ENOENT`,
    );
    const some = await packedIn('some', archives.slice(0, 3));
    await expect(createProject(parent, { name: 'b', packages: some })).rejects.toThrow(
      `${some} has no archive of @kapstan/control-plane, @kapstan/testing; make them in a clone of Kapstan with "npm pack`,
    );
    const twice = await packedIn('twice', [...archives, 'kapstan-api-0.2.0-rc.1.tgz']);
    await expect(createProject(parent, { name: 'b', packages: twice })).rejects.toThrow(
      'has two archives of @kapstan/api: kapstan-api-0.1.0.tgz and kapstan-api-0.2.0-rc.1.tgz; delete one of them',
    );
    await expect(read('b/package.json')).rejects.toThrow('ENOENT');
  });
});

describe('the image of a project', () => {
  it('runs Node itself, as a user that is not root and that the manifests name', async () => {
    await createProject(parent, { name: 'a' });
    const stages = (await read('a/Dockerfile')).split(/^FROM /m).slice(1);
    const last = stages.at(-1) ?? '';
    expect(stages).toHaveLength(2);
    // The exec form is required, because a shell would be process 1 and would not pass SIGTERM on.
    expect(last).toMatch(/^ENTRYPOINT \["\/nodejs\/bin\/node"\]$/m);
    expect(last).toMatch(/^CMD \[.*"dist\/main\.js"\]$/m);
    expect(last).not.toMatch(/^RUN /m);
    const [, user] = /^USER (\d+):\d+$/m.exec(last) ?? [];
    expect(Number(user)).toBeGreaterThan(0);
    const { scripts } = await manifest();
    expect(scripts['generate:manager']).toContain(`--run-as-user ${user}`);
  });

  it('copies only what is there, what .dockerignore lets through, and what the first stage makes', async () => {
    const packages = await packedIn('packed', archives);
    const { directory } = await createProject(parent, { name: 'a', packages });
    await writeFile(join(directory, 'package-lock.json'), '{}');
    const copies = [...(await read('a/Dockerfile')).matchAll(/^COPY (--from=build )?(.+) \S+$/gm)];
    const isPresent = (path: string) => stat(join(directory, path)).then(Boolean, () => false);
    const sources = copies.flatMap(([, from, paths = '']) => (from === undefined ? paths.split(' ') : []));
    const made = copies.flatMap(([, from, paths = '']) => (from === undefined ? [] : paths.split(' ')));
    expect(sources).toContain('vendor');
    expect(await Promise.all(sources.map(isPresent))).toEqual(sources.map(() => true));
    const allowed = (await read('a/.dockerignore')).match(/(?<=^!).+$/gm);
    expect(allowed).toEqual(expect.arrayContaining(sources));
    // The compiler writes src/main.ts to dist/main.js, which the image runs.
    const { compilerOptions } = JSON.parse(await read('a/tsconfig.build.json'));
    expect(compilerOptions).toMatchObject({ rootDir: 'src', outDir: 'dist' });
    expect(await isPresent('src/main.ts')).toBe(true);
    expect(made).toEqual(['/app/package.json', '/app/node_modules', '/app/dist']);
  });
});
