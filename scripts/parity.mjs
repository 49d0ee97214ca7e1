// npm run parity checks the tables of docs/parity against the tests. Each row must name a test that ran and passed.
//   npm run parity                                runs the test files that the tables name, then checks
//   npm run parity -- docs/parity/storage.md      one table
//   npm run parity -- --report reports/vitest.json   checks against an earlier run (--docs: other tables)
// npm test checks all tables against its own run.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { checkParity, namedFiles } from './parity-table.mjs';
import { bin, build, root, run } from './set-up.mjs';

const reportOfOwnRun = 'reports/parity.json';

/** Pages of docs/parity that only list the tables. */
const indexes = ['README.md', 'client.md'];

/** Returns [path, text] of each table in docs/parity. */
export function readTables(folder = join(root, 'docs/parity')) {
  const names = readdirSync(folder).filter((name) => name.endsWith('.md') && !indexes.includes(name));
  return names.sort().map((name) => [`docs/parity/${name}`, readFileSync(join(folder, name), 'utf8')]);
}

/** Prints a line for each broken row and a summary. Returns true when all rows hold. */
export function reportParity(files, report) {
  const { problems, counts, unseen } = checkParity(files, report);
  for (const problem of problems) console.log(`✗ ${problem}`);
  for (const [needs, rows] of unseen) console.log(`  ${rows} rows not checked here: their tests need ${needs}`);
  const notChecked = [...unseen.values()].reduce((sum, rows) => sum + rows, 0);
  const { held, without } = counts;
  console.log(`parity: ${held} rows held, ${without} n/a, ${notChecked} not checked, ${problems.length} problems`);
  return problems.length === 0;
}

async function runNamed(files) {
  const named = namedFiles(files);
  if (named.some((file) => file.startsWith('test/'))) await build();
  const args = [bin('vitest/vitest.mjs'), 'run', '--reporter=dot', '--reporter=./scripts/notes-reporter.mjs', ...named];
  await run(process.execPath, args, { env: { ...process.env, KAPSTAN_TEST_REPORT: reportOfOwnRun } });
  return join(root, reportOfOwnRun);
}

async function main() {
  const { values, positionals } = parseArgs({
    options: { report: { type: 'string' }, docs: { type: 'string' } },
    allowPositionals: true,
  });
  const tables = readTables(values.docs);
  const unknown = positionals.filter((path) => !tables.some(([name]) => name === path));
  if (unknown.length > 0) throw new Error(`no table: ${unknown.join(', ')}`);
  const files = tables.filter(([path]) => positionals.length === 0 || positionals.includes(path));
  const report = JSON.parse(readFileSync(values.report ?? (await runNamed(files)), 'utf8'));
  process.exitCode = reportParity(files, report) ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
