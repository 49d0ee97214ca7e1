// npm run test:growth runs the whole growth test. `-- --grep X` runs the cases with X in their names, `-- --grep "X|Y"` those with
// X or Y.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const args = process.argv.slice(2);
const at = args.indexOf('--grep');
const [, grep = ''] = at === -1 ? [] : args.splice(at, 2);
const vitest = fileURLToPath(new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url));
const env = { ...process.env, KAPSTAN_GROWTH: process.env.KAPSTAN_GROWTH ?? 'whole', KAPSTAN_GROWTH_GREP: grep };
const { status } = spawnSync(process.execPath, [vitest, 'run', '--project', 'load', ...args], {
  ...{ cwd: root, env, stdio: 'inherit' },
});
process.exitCode = status ?? 1;
