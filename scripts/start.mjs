// npm start installs and builds missing parts, then runs examples/start/dist/start.js with the given arguments.
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { build, checkNode, install, root, run } from './set-up.mjs';

function stop(text, code) {
  console.error(text);
  process.exit(code || 1);
}

const parent = process.ppid;
const isOfNpm = process.env.npm_lifecycle_event === 'start';
checkNode();
const installed = await install();
if (installed.code !== 0) stop(`npm ci ended with status ${installed.code}.`, installed.code);
console.log('Build …');
const built = await build();
if (built.code !== 0) stop(`The build ended with status ${built.code}.`, built.code);

const program = join(root, 'examples/start/dist/start.js');
if (!existsSync(program)) stop('examples/start/dist/start.js is missing: the build has no start program.', 1);

const forward = (child) => {
  // Control-C in a terminal reaches the whole process group, so the program already has it; a second signal would cut
  // its shutdown short.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'));
  const end = () => {
    clearInterval(look);
    child.kill('SIGTERM');
  };
  // SIGTERM to npm ends the shell between npm and this process. Some shells (dash) do not pass the signal on, so watch
  // the parent.
  const look = setInterval(() => isOfNpm && process.ppid !== parent && end(), 500).unref();
  process.on('SIGTERM', end);
};
const { code, signal } = await run(process.execPath, [program, ...process.argv.slice(2)], { onSpawn: forward });
process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0);
