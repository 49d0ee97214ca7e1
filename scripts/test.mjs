// npm test installs, builds, lints, type-checks and runs every test project; the last line counts all checks.
//   npm test                          everything
//   npm test -- --project wire        one vitest project, without lint and type check
//   npm test -- packages/cacher       the tests whose path matches, without lint and type check
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readTables, reportParity } from './parity.mjs';
import { bin, build, checkNode, install, root, run } from './set-up.mjs';

const filters = process.argv.slice(2);
const isWhole = filters.length === 0;
const node = process.execPath;
/** Minutes for mutants of recently changed packages. 0 = none are tried. */
const mutantMinutes = Number(process.env.KAPSTAN_TEST_MUTANT_MINUTES ?? 0);
const report = join(root, 'reports/vitest.json');
const outcome = { passed: 0, failed: 0, skipped: [], failures: [] };

function progress(text) {
  console.log(`\n▶ ${text}`);
}

function finish() {
  if (outcome.skipped.length > 0) console.log('\nSkipped:');
  for (const { name, note } of outcome.skipped) console.log(`  ${name}\n    ${note}`);
  if (outcome.failures.length > 0) console.log('\nFailed:');
  for (const { name, note } of outcome.failures)
    console.log(`  ${name}${note ? `\n    ${note.replaceAll('\n', '\n    ')}` : ''}`);
  const ran = outcome.passed + outcome.failed;
  process.exitCode = outcome.failed > 0 || ran === 0 ? 1 : 0;
  console.log(`\n${outcome.passed} passed, ${outcome.failed} failed, ${outcome.skipped.length} skipped`);
}

function fail(name, note = '') {
  outcome.failed += 1;
  outcome.failures.push({ name, note });
}

/** Runs one step, which counts as one check. */
async function step(name, work) {
  progress(name);
  const { code, signal, seconds } = await work();
  if (code === 0) outcome.passed += 1;
  else fail(name, `ended with ${signal ?? `status ${code}`}`);
  console.log(`${code === 0 ? '✓' : '✗'} ${name} (${seconds.toFixed(1)} s)`);
  return code === 0;
}

function readReport() {
  try {
    return JSON.parse(readFileSync(report, 'utf8'));
  } catch {
    return undefined;
  }
}

function countTests(result, code) {
  for (const test of result.tests) {
    const name = `${test.file} › ${test.name}`;
    if (test.state === 'passed') outcome.passed += 1;
    else if (test.state === 'skipped') outcome.skipped.push({ name, note: test.note });
    else fail(name, test.errors.join('\n'));
  }
  for (const error of result.errors) fail(error.file ?? 'outside any test', error.message);
  const ran = result.tests.filter((test) => test.state !== 'skipped').length;
  if (ran === 0) fail('tests', 'not one test ran');
  else if (code !== 0 && outcome.failed === 0) fail('tests', `vitest ended with status ${code}`);
}

async function runTests() {
  progress('tests');
  rmSync(report, { force: true });
  mkdirSync(join(root, 'reports'), { recursive: true });
  const reporters = ['--reporter=default', '--reporter=./scripts/notes-reporter.mjs'];
  const { code, signal } = await run(node, [bin('vitest/vitest.mjs'), 'run', ...reporters, ...filters]);
  const result = readReport();
  if (result === undefined) fail('tests', `vitest crashed: ${signal ?? `status ${code}`}`);
  else countTests(result, code ?? signal);
  return result;
}

function checkParity(result) {
  progress('parity (docs/parity)');
  if (reportParity(readTables(), result)) outcome.passed += 1;
  else fail('parity', 'the rows are named above; npm run parity runs their tests alone');
}

async function main() {
  checkNode();
  progress('dependencies');
  const installed = await install();
  if (installed.code !== 0) return fail('dependencies', `npm ci ended with status ${installed.code}`);
  await step('build', build);
  if (isWhole) {
    await step('lint: style (biome)', () => run(node, [bin('@biomejs/biome/bin/biome'), 'check', '.']));
    const cruise = [
      bin('dependency-cruiser/bin/dependency-cruise.mjs'),
      '--config',
      '.dependency-cruiser.cjs',
      'packages',
    ];
    await step('lint: layers (dependency-cruiser)', () => run(node, cruise));
    await step('lint: unused (knip)', () => run(node, [bin('knip/bin/knip.js')]));
    await step('types, tests included', () => run(node, [bin('typescript/bin/tsc'), '-p', 'tsconfig.check.json']));
  }
  const result = await runTests();
  if (isWhole && result !== undefined) checkParity(result);
  if (isWhole && mutantMinutes > 0) {
    const args = [join(root, 'test/mutants/run.mjs'), '--changed', `--minutes=${mutantMinutes}`];
    await step('mutants of the packages that changed', () => run(node, args));
  }
}

await main().catch((error) => fail('npm test itself', String(error?.stack ?? error)));
finish();
