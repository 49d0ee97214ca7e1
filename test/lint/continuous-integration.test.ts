// What CI runs, what turbo caches, and what CONTRIBUTING.md says about both.
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const text = (path: string): string => readFileSync(join(root, path), 'utf8');

it('CONTRIBUTING.md says for how long CI tries mutants', () => {
  const minutes = /KAPSTAN_TEST_MUTANT_MINUTES=(\d+)/.exec(text('.ci/run'))?.[1];
  expect(text('CONTRIBUTING.md')).toContain(`as CI does for ${minutes} minute`);
});

it('turbo lints again when a file changes that biome reads outside the packages', () => {
  const { scripts } = JSON.parse(text('package.json')) as { readonly scripts: Readonly<Record<string, string>> };
  const { tasks } = JSON.parse(text('turbo.json')) as {
    readonly tasks: Readonly<Record<string, { readonly inputs: readonly string[] }>>;
  };
  const read = (scripts['lint:rest'] ?? '').split(' ').slice(2);
  const inputs = tasks['//#lint:rest']?.inputs ?? [];
  expect(read.length).toBeGreaterThan(5);
  expect(
    read.map((name) => (/^[a-z]+$/.test(name) ? `${name}/**` : name)).filter((name) => !inputs.includes(name)),
  ).toEqual([]);
});

describe('scripts/provide-etcd.mjs', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kapstan-provide-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const program = (name: string, lines: string): void => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${lines}\n`);
    chmodSync(join(folder, name), 0o755);
  };
  const provide = (...args: readonly string[]) =>
    spawnSync(process.execPath, [join(root, 'scripts/provide-etcd.mjs'), ...args], {
      encoding: 'utf8',
      env: { PATH: folder, HOME: folder, TMPDIR: folder },
    });

  it('prints the path of the etcd that is there', () => {
    program('etcd', 'exit 0');
    expect(provide().stdout).toBe(`${join(folder, 'etcd')}\n`);
  });

  it('builds one with Go where no package can be installed, and keeps it', () => {
    program('apt-get', 'exit 100');
    program('go', `echo "$@" >> ${folder}/asked\n[ "$1" = build ] && echo binary > "$3"\nexit 0`);
    const kept = join(folder, '.cache/kapstan/etcd-v3.6.14');
    expect([provide().stdout, provide().stdout]).toEqual([`${kept}\n`, `${kept}\n`]);
    expect(
      readFileSync(join(folder, 'asked'), 'utf8')
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toEqual([...['mod', 'get', 'build', '']]);
  });

  it('builds none where time is bounded', () => {
    program('go', `echo "$@" >> ${folder}/asked`);
    expect(provide('--no-build').stdout).toBe('');
    expect(existsSync(join(folder, 'asked'))).toBe(false);
  });

  it('says so where there is none, and does not fail', () => {
    const { status, stdout, stderr } = provide();
    expect([status, stdout]).toEqual([0, '']);
    expect(stderr).toContain('its tests are skipped');
  });

  it('is what CI calls', () => {
    const files = execFileSync('git', ['grep', '-l', 'provide-etcd.mjs', '--', '.ci', '.github'], { cwd: root });
    expect(files.toString().trim().split('\n')).toEqual(['.ci/run', '.github/workflows/release.yml']);
  });
});
