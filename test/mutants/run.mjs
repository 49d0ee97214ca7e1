// npm run test:mutants applies each mutant of mutants.json to a private copy of the packages and runs the test that
// must notice it. A mutant that its test does not notice survives, which is a failure. The sources themselves are never
// changed.
//   npm run test:mutants                 all of them, which takes hours
//   npm run test:mutants -- committer    those whose file, test or description contains the text; select.mjs has more
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
import { readOptions, select } from './select.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const longestRunMs = 90_000;

/** An example whose parts tests pin, and these tests. */
const sampleController = [
  'examples/03-sample-controller',
  ...['sample-controllers.test.ts', 'sample-controller-parts.test.ts'].map((file) => join('test/e2e', file)),
];

/** Copies the packages' sources so that they import each other and not the repository's; everything else is shared. */
function copyPackages() {
  const copy = mkdtempSync(join(tmpdir(), 'kapstan-mutants-'));
  const hooks = ['test/source-threads.mjs', 'test/source-hooks.mjs', 'test/mutants/test-process.mjs'];
  const lint = ['walk.test.ts', 'walk-table.ts', 'walk-sources.ts'].map((file) => join('test/lint', file));
  const walks = ['ARCHITECTURE.md', 'docs/walks.md'];
  const files = ['package.json', 'vitest.config.ts', 'tsconfig.base.json', ...hooks, ...lint, ...walks];
  // The example's tsconfig.json refers to others, which the copy does not have.
  const filter = (path) => !/\/(dist|tsconfig\.json)$/.test(path);
  for (const file of [...files, ...sampleController])
    cpSync(join(root, file), join(copy, file), { recursive: true, filter });
  const modules = join(copy, 'node_modules');
  mkdirSync(join(modules, '@kapstan'), { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '@kapstan') symlinkSync(join(root, 'node_modules', name), join(modules, name));
  for (const name of readdirSync(join(root, 'packages'))) {
    const [from, to] = [join(root, 'packages', name), join(copy, 'packages', name)];
    for (const part of ['package.json', 'src', 'proto', 'facts', 'fixtures', 'template'].filter((each) =>
      existsSync(join(from, each)),
    ))
      cpSync(join(from, part), join(to, part), { recursive: true });
    symlinkSync(to, join(modules, '@kapstan', name));
  }
  return copy;
}

function parseTest(id) {
  const [file, name] = id.split(' › ');
  // A " > " separates the groups, or is part of a name that contains a CEL expression.
  return { file, pattern: name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(' > ', '(?: > | )') };
}

/** Runs tests in the copy, in a process that is started again when a test does not end. */
class TestRuns {
  #copy;
  #child;
  /** Sources that the process may have read before they were changed. */
  #changed = new Set();

  constructor(copy) {
    this.#copy = copy;
  }

  noteChange(file) {
    this.#changed.add(file);
  }

  /** Returns the states of the tests that ran: "passed", "failed", or "hangs" when they do not end. */
  async run(ids) {
    this.#child ??= await this.#start();
    const tests = ids.map(parseTest);
    const pattern = `^(${tests.map((test) => test.pattern).join('|')})$`;
    const files = [...new Set(tests.map(({ file }) => file))];
    const changed = [...this.#changed];
    this.#changed.clear();
    this.#child.send({ files, pattern, changed });
    return this.#answer();
  }

  async #start() {
    const options = { cwd: this.#copy, stdio: ['ignore', 'ignore', 'ignore', 'ipc'], detached: true };
    this.#child = spawn(process.execPath, [join(this.#copy, 'test/mutants/test-process.mjs')], options);
    this.#changed.clear();
    if ((await this.#answer()).includes('hangs')) throw new Error('vitest does not start in the copy');
    return this.#child;
  }

  #answer() {
    const child = this.#child;
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.close();
        resolve(['hangs']);
      }, longestRunMs);
      child.once('message', ({ states }) => {
        clearTimeout(timer);
        child.removeAllListeners('exit');
        resolve(states);
      });
      child.once('exit', () => {
        clearTimeout(timer);
        this.#child = undefined;
        resolve(['failed']);
      });
    });
  }

  /** Also kills vitest's workers, which are in its process group. */
  close() {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    child.removeAllListeners();
    process.kill(-child.pid, 'SIGKILL');
  }
}

/** Applies one mutant to the copy. Returns a function that reverts it. */
function mutate({ copy, runs }, { file, search, replace }) {
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  const found = source.split(search).length - 1;
  if (found !== 1) throw new Error(`${file}: found ${found} times, not once: ${search}`);
  const write = (text) => {
    writeFileSync(path, text);
    runs.noteChange(file);
  };
  write(source.replace(search, () => replace));
  return () => write(source);
}

async function judge({ copy, runs }, mutant) {
  const restore = mutate({ copy, runs }, mutant);
  try {
    const states = await runs.run([mutant.test]);
    if (states.length === 0) return 'not tested: the file did not load';
    return states.includes('passed') && !states.includes('failed') ? 'SURVIVED' : 'killed';
  } finally {
    restore();
  }
}

/** Returns whether the tests of a file pass without a mutant. Each file is checked once. */
function unmutatedChecker(runs, mutants) {
  const checks = new Map();
  const check = async (file) => {
    const ids = [...new Set(mutants.filter(({ test }) => fileOf(test) === file).map(({ test }) => test))];
    const states = await runs.run(ids);
    if (states.length !== ids.length || states.some((state) => state !== 'passed'))
      throw new Error(`of ${ids.length} tests of ${file} without a mutant ${states.length} ran: ${states.join(', ')}`);
  };
  return ({ test }) => {
    const file = fileOf(test);
    if (!checks.has(file)) checks.set(file, check(file));
    return checks.get(file);
  };
}

const fileOf = (test) => test.split(' › ')[0];

function report(rows, left) {
  console.log('\n| Mutant | File | Killed by | |\n| --- | --- | --- | --- |');
  for (const { verdict, mutant } of rows)
    console.log(`| ${mutant.what} | ${mutant.file} | ${mutant.test.split(' › ')[1]} | ${verdict} |`);
  const alive = rows.filter(({ verdict }) => verdict !== 'killed').length;
  const rest = left === 0 ? '' : `; the time was over before ${left} more`;
  console.log(`\n${rows.length - alive} of ${rows.length} mutants killed${rest}`);
  process.exitCode = alive > 0 ? 1 : 0;
}

async function main(args) {
  const options = readOptions(args);
  const all = JSON.parse(readFileSync(new URL('mutants.json', import.meta.url), 'utf8'));
  const mutants = select(all, options);
  if (mutants.length === 0 && options.changed === undefined) throw new Error(`no mutant holds "${options.filter}"`);
  const endMs = performance.now() + options.minutes * 60_000;
  const copy = copyPackages();
  const runs = new TestRuns(copy);
  const passesUnmutated = unmutatedChecker(runs, mutants);
  const rows = [];
  try {
    for (const mutant of mutants) {
      if (performance.now() > endMs) break;
      const verdict = await passesUnmutated(mutant)
        .then(() => judge({ copy, runs }, mutant))
        .catch((error) => error.message);
      rows.push({ verdict, mutant });
      console.log(`${verdict === 'killed' ? '✓' : '✗'} ${mutant.file}: ${mutant.what}: ${verdict}`);
    }
  } finally {
    runs.close();
    rmSync(copy, { recursive: true, force: true });
  }
  report(rows, mutants.length - rows.length);
}

await main(process.argv.slice(2));
