// npm run bench [name…] runs bench/<name>.mjs, or all of them, one after the other.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { build, root, run } from './set-up.mjs';

const folder = join(root, 'bench');
const wanted = process.argv.slice(2);
const files = (existsSync(folder) ? readdirSync(folder) : []).filter((file) => file.endsWith('.mjs')).sort();
const chosen = files.filter((file) => wanted.length === 0 || wanted.includes(file.replace(/\.mjs$/, '')));
if (chosen.length === 0) console.error(`no benchmark matches; there are: ${files.join(', ') || 'none'}`);
process.exitCode = chosen.length === 0 ? 1 : (await build()).code;
for (const file of process.exitCode ? [] : chosen) {
  console.log(`\n▶ ${file}`);
  const { code } = await run(process.execPath, ['--expose-gc', join(folder, file)]);
  if (code !== 0) process.exitCode = 1;
}
