// scripts/parity.mjs must be able to fail: these tests break each rule of docs/parity/README.md once.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const root = new URL('../..', import.meta.url).pathname;
const head = ['# A table', '', '| Inventory item | Our test | Note |', '| --- | --- | --- |'];
const file = 'packages/a/src/a.test.ts';
const etcdFile = 'packages/storage-etcd/src/b.test.ts';

/** Returns a report's tests from "name: state". */
const tests = (path: string, states: Readonly<Record<string, string>>) =>
  Object.entries(states).map(([name, state]) => ({ file: `${path} [unit]`, name, state, errors: [] }));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kapstan-parity-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Outcome {
  readonly lines: readonly string[];
  readonly status: number | null;
}

/** Checks one table with these rows against a report of these tests. */
function check(rows: readonly string[], states: Readonly<Record<string, string>> = {}): Outcome {
  return checkText([...head, ...rows, ''].join('\n'), tests(file, states));
}

function checkText(text: string, reported: readonly unknown[]): Outcome {
  writeFileSync(join(folder, 'a.md'), text);
  writeFileSync(join(folder, 'README.md'), 'not a table');
  writeFileSync(join(folder, 'report.json'), JSON.stringify({ tests: reported }));
  const args = ['scripts/parity.mjs', '--docs', folder, '--report', join(folder, 'report.json')];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  expect(stderr).toBe('');
  return { lines: stdout.trimEnd().split('\n'), status };
}

const row = (item: string, test: string): string => `| ${item} | ${test} | |`;
const four = (test: string): string[] => ['A', 'B', 'C', 'D'].map((item) => row(item, test));
const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `does ${index}`);
const passing = (count: number) => Object.fromEntries(names(count).map((name) => [name, 'passed']));
const rowsOf = (count: number): string[] => names(count).map((name) => row(name, `${file} › ${name}`));

describe('npm run parity', () => {
  it('holds rows whose tests ran and passed, with names of several parts, in backticks and with bars', () => {
    const { lines, status } = check([row('A', `${file} › part > does A`), row('B', `\`${file} › 'a' \\| "b" › c\``)], {
      'part > does A': 'passed',
      '\'a\' | "b" › c': 'passed',
    });
    expect(lines).toEqual(['parity: 2 rows held, 0 n/a, 0 not checked, 0 problems']);
    expect(status).toBe(0);
  });

  it.each<[string, readonly string[], Readonly<Record<string, string>>, string]>([
    ['a test that did not run', [row('A', `${file} › gone`)], {}, `A: ${file} › gone: is not a test of this run`],
    ['a test that failed', [row('A', `${file} › x`)], { x: 'failed' }, `A: ${file} › x: failed`],
    ['a test that was skipped', [row('A', `${file} › x`)], { x: 'skipped' }, `A: ${file} › x: did not pass: skipped`],
    ['a fourth row of one test', four(`${file} › x`), { x: 'passed' }, `D: ${file} › x holds 3 rows already`],
    ['an unknown reason', [row('A', 'n/a: too hard')], {}, 'A: "n/a: too hard" gives none of the reasons'],
    ['no reason', [row('A', 'n/a')], {}, 'A: "n/a" gives none of the reasons'],
    ['a cell that names no test', [row('A', file)], {}, `A: "${file}" is neither`],
    ['an empty cell', [row('A', '')], {}, 'A: "" is neither'],
    ['a row without an item', [row('', `${file} › x`)], { x: 'passed' }, 'names no item'],
    [
      'an item with two rows',
      four(`${file} › x`)
        .map(() => row('A', `${file} › x`))
        .slice(2),
      { x: 'passed' },
      'A has a row already',
    ],
    ['a missing column', [`| A | ${file} › x |`], { x: 'passed' }, 'has 2 columns, not 3'],
    ['an empty table', [], {}, 'docs/parity/a.md: has no rows'],
    ['one row in five without a test', [...rowsOf(4), row('E', 'n/a: Go-only')], passing(4), '1 of 5 items are n/a'],
    [
      'rows that hold several items without a test',
      [...rowsOf(7), row('TestA, TestB', 'n/a: by design')],
      passing(7),
      '2 of 9 items are n/a',
    ],
  ])('refuses %s', (_what, rows, states, problem) => {
    const { lines, status } = check(rows, states);
    expect(lines.filter((line) => line.startsWith('✗'))).toEqual([expect.stringContaining(problem)]);
    expect(lines.at(-1)).toMatch(/, 1 problems$/);
    expect(status).toBe(1);
  });

  it('names the line of a broken row', () => {
    expect(check([row('A', `${file} › x`)]).lines[0]).toMatch(/^✗ docs\/parity\/a\.md:5: /);
  });

  it.each(['Go-only', 'by design', 'alpha gate', 'removed upstream', 'other issue'])(
    'takes the reason %j, in few rows',
    (reason) => {
      const { lines, status } = check([...rowsOf(5), row('F', `n/a: ${reason}`)], passing(5));
      expect(lines).toEqual(['parity: 5 rows held, 1 n/a, 0 not checked, 0 problems']);
      expect(status).toBe(0);
    },
  );

  it('counts an item with several rows once, and as held when one of them is', () => {
    const cases = row('TestA: one case', `${file} › does 0`);
    const rest = Array.from({ length: 6 }, (_, index) => row(`TestA: case ${index}`, 'n/a: Go-only'));
    expect(check([cases, ...rest], passing(1)).status).toBe(0);
  });

  it('refuses a table with other columns, and a folder without tables', () => {
    const text = '| Item | Test |\n| --- | --- |\n| A | n/a: Go-only |\n';
    expect(checkText(text, []).lines[0]).toBe(
      '✗ docs/parity/a.md:1: a table begins with | Inventory item | Our test | Note |',
    );
    rmSync(join(folder, 'a.md'));
    const args = ['scripts/parity.mjs', '--docs', folder, '--report', join(folder, 'report.json')];
    const { stdout, status } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
    expect([stdout.split('\n')[0], status]).toEqual(['✗ no tables in docs/parity', 1]);
  });

  it('accepts one pass in two runs of a name, and refuses one failure in two', () => {
    const twice = (...states: string[]) => states.flatMap((state) => tests(file, { x: state }));
    const text = [...head, row('A', `${file} › x`)].join('\n');
    expect(checkText(text, twice('skipped', 'passed')).status).toBe(0);
    expect(checkText(text, twice('failed', 'passed')).status).toBe(1);
  });

  it('reports the rows that it cannot check without etcd, and refuses them when etcd is there', () => {
    const rows = [row('A', `${etcdFile} › on etcd > x`), row('B', `${etcdFile} › on etcd > y`)];
    const text = [...head, ...rows].join('\n');
    const without = checkText(text, tests(etcdFile, { 'on etcd > needs etcd': 'skipped' }));
    expect(without).toEqual({
      lines: [
        '  2 rows not checked here: their tests need etcd (set KAPSTAN_ETCD, or install etcd-server)',
        'parity: 0 rows held, 0 n/a, 2 not checked, 0 problems',
      ],
      status: 0,
    });
    const withEtcd = checkText(text, tests(etcdFile, { 'on etcd > x': 'passed' }));
    expect(withEtcd.lines[0]).toMatch(/on etcd > y: is not a test of this run$/);
    expect(withEtcd.status).toBe(1);
    expect(checkText(text, []).lines[0]).toMatch(/on etcd > x: is not a test of this run$/);
  });
});

describe('docs/parity/client.md', () => {
  const read = (name: string): string => readFileSync(join(root, 'docs/parity', name), 'utf8');
  const [intro = '', ...sections] = read('client.md').split(/^## /m);
  const tables = sections.map((section) => {
    const [, name = '', sum = ''] = /^\[(.*?)\]\(\1\): (\d+)$/m.exec(section) ?? [];
    const items = [...read(name).matchAll(/^\| (.*?) \| /gm)].map(([, item = '']) => item);
    const parts = [...section.matchAll(/^\| (.*) \| (\d+) \| (.*) \|$/gm)].map(
      ([, part = '', count = '', names = '']) => ({
        part,
        count: Number(count),
        names: names.split(', '),
      }),
    );
    return { name, sum: Number(sum), items, parts };
  });

  /**
   * Returns the names without a row in the table. If rows name the package, because others have such a test too, only
   * those count.
   */
  const without = ({ items, parts }: (typeof tables)[number]): readonly string[] =>
    parts.flatMap(({ part, names }) => {
      const own = items.filter((item) => item.startsWith(`${part} Test`));
      const rows = own.length > 0 ? own : items;
      return names.filter((name) => !rows.some((item) => new RegExp(`(?<!\\w)Test${name}(?!\\w)`).test(item)));
    });

  it.each(tables)('names tests that have a row in $name, and all that there are', (table) => {
    expect(without(table)).toEqual([]);
    expect(without({ ...table, parts: [{ part: 'x', count: 1, names: ['NobodyWroteThis'] }] })).toHaveLength(1);
    const counted = ({ names }: { readonly names: readonly string[] }): number => new Set(names).size;
    expect(table.parts.map(({ part, count }) => [part, count])).toEqual(
      table.parts.map((one) => [one.part, counted(one)]),
    );
    expect(table.parts.reduce((sum, { count }) => sum + count, 0)).toBe(table.sum);
  });

  it('holds the whole inventory: 522 tests and TestMain', () => {
    expect(tables.map(({ name }) => name)).toEqual([
      'client-reflector.md',
      'client-informers.md',
      'client-transport.md',
      'controller.md',
    ]);
    expect(tables.reduce((all, { sum }) => all + sum, 0)).toBe(523);
    expect(intro).toContain('522 and TestMain');
  });
});

describe('docs/parity/README.md', () => {
  it('lists the reasons that the tool accepts', () => {
    const tool = readFileSync(join(root, 'scripts/parity-table.mjs'), 'utf8');
    const [, list = ''] = /const reasons = \[(.*)\];/.exec(tool) ?? [];
    const text = readFileSync(join(root, 'docs/parity/README.md'), 'utf8');
    for (const reason of list.replaceAll("'", '').split(', ')) expect(text).toContain(`\`n/a: ${reason}\``);
  });
});
