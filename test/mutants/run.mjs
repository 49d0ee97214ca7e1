// npm run test:mutants: applies each mutant of mutants.json to a private copy of the packages and runs the test that must
// notice it. A mutant that its test does not notice survives: that is a failure. The sources themselves are never touched.
//   npm run test:mutants                 all of them, some minutes
//   npm run test:mutants -- committer    those whose file, test or description holds the text
import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const longestRunMs = 90_000;

/** The packages' sources, importing each other and not those of the repository; everything else is shared. */
function copyPackages() {
  const copy = mkdtempSync(join(tmpdir(), 'kapstan-mutants-'));
  const hooks = ['test/source-threads.mjs', 'test/source-hooks.mjs'];
  for (const file of ['package.json', 'vitest.config.ts', 'tsconfig.base.json', ...hooks])
    cpSync(join(root, file), join(copy, file));
  const modules = join(copy, 'node_modules');
  mkdirSync(join(modules, '@kapstan'), { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '@kapstan') symlinkSync(join(root, 'node_modules', name), join(modules, name));
  for (const name of readdirSync(join(root, 'packages'))) {
    const [from, to] = [join(root, 'packages', name), join(copy, 'packages', name)];
    for (const part of ['package.json', 'src', 'proto', 'facts', 'fixtures'].filter((each) =>
      existsSync(join(from, each)),
    ))
      cpSync(join(from, part), join(to, part), { recursive: true });
    symlinkSync(to, join(modules, '@kapstan', name));
  }
  return copy;
}

function parseTest(id) {
  const [file, name] = id.split(' › ');
  return { file, pattern: name.replaceAll(' > ', ' ').replace(/[.*+?^${}()|[\]\\]/g, '\\$&') };
}

/** Runs these tests in the copy; the states of those that ran: "passed", "failed", or "hangs" when there is no end. */
async function runTests(copy, ids) {
  const tests = ids.map(parseTest);
  const report = join(copy, 'report.json');
  rmSync(report, { force: true });
  const files = [...new Set(tests.map(({ file }) => file))];
  const pattern = `^(${tests.map((test) => test.pattern).join('|')})$`;
  const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--project', 'unit', ...files, '-t', pattern];
  args.push('--reporter=json', `--outputFile=${report}`);
  const child = spawn(process.execPath, args, { cwd: copy, stdio: 'ignore', detached: true });
  let hangs = false;
  const timer = setTimeout(() => {
    hangs = true;
    // The workers of vitest too: they are of its process group.
    process.kill(-child.pid, 'SIGKILL');
  }, longestRunMs);
  await new Promise((resolve) => child.once('exit', resolve));
  clearTimeout(timer);
  if (hangs) return ['hangs'];
  const results = JSON.parse(readFileSync(report, 'utf8')).testResults.flatMap((file) => file.assertionResults);
  return results.map((result) => result.status).filter((status) => status === 'passed' || status === 'failed');
}

/** Applies one mutant to the copy; gives what takes it back. */
function mutate(copy, { file, search, replace }) {
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  const found = source.split(search).length - 1;
  if (found !== 1) throw new Error(`${file}: found ${found} times, not once: ${search}`);
  writeFileSync(
    path,
    source.replace(search, () => replace),
  );
  return () => writeFileSync(path, source);
}

async function judge(copy, mutant) {
  const restore = mutate(copy, mutant);
  try {
    const states = await runTests(copy, [mutant.test]);
    if (states.length === 0) return 'not tested: the file did not load';
    return states.includes('passed') && !states.includes('failed') ? 'SURVIVED' : 'killed';
  } finally {
    restore();
  }
}

async function checkUnmutated(copy, mutants) {
  for (const [file, those] of groupByFile(mutants)) {
    const ids = [...new Set(those.map((mutant) => mutant.test))];
    const states = await runTests(copy, ids);
    if (states.length !== ids.length || states.some((state) => state !== 'passed'))
      throw new Error(`${file}: of ${ids.length} tests without a mutant ${states.length} ran: ${states.join(', ')}`);
    console.log(`✓ ${ids.length} tests pass unmutated: ${file}`);
  }
}

function groupByFile(mutants) {
  const files = new Map();
  for (const mutant of mutants) {
    const [file] = mutant.test.split(' › ');
    files.set(file, [...(files.get(file) ?? []), mutant]);
  }
  return files;
}

async function main(filter = '') {
  const all = JSON.parse(readFileSync(new URL('mutants.json', import.meta.url), 'utf8'));
  const mutants = all.filter(({ what, file, test }) => `${what} ${file} ${test}`.includes(filter));
  if (mutants.length === 0) throw new Error(`no mutant holds "${filter}"`);
  const copy = copyPackages();
  const rows = [];
  try {
    await checkUnmutated(copy, mutants);
    for (const mutant of mutants) {
      const verdict = await judge(copy, mutant).catch((error) => error.message);
      rows.push({ verdict, mutant });
      console.log(`${verdict === 'killed' ? '✓' : '✗'} ${mutant.file}: ${mutant.what}: ${verdict}`);
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
  console.log('\n| Mutant | File | Killed by | |\n| --- | --- | --- | --- |');
  for (const { verdict, mutant } of rows)
    console.log(`| ${mutant.what} | ${mutant.file} | ${mutant.test.split(' › ')[1]} | ${verdict} |`);
  const alive = rows.filter(({ verdict }) => verdict !== 'killed').length;
  console.log(`\n${rows.length - alive} of ${rows.length} mutants killed`);
  process.exitCode = alive > 0 ? 1 : 0;
}

await main(process.argv[2]);
