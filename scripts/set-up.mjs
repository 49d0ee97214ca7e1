// The parts that npm start and npm test share: Node's version, dependencies, processes. It uses only Node's own
// modules, because it runs before anything is installed.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { BuildProgress } from './build-progress.mjs';

export const root = fileURLToPath(new URL('..', import.meta.url));

export function checkNode() {
  const floor = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).engines.node.replace('>=', '');
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [floorMajor, floorMinor] = floor.split('.').map(Number);
  if (major > floorMajor || (major === floorMajor && minor >= floorMinor)) return;
  console.error(`Kapstan needs Node ${floor} or newer; this is ${process.versions.node}.`);
  process.exit(1);
}

/** Runs a command with its output shown. Resolves to `{ code, signal, seconds }`. */
export function run(command, args, options = {}) {
  const begin = performance.now();
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: 'inherit', ...options });
    options.onSpawn?.(child);
    child.on('error', (error) => {
      console.error(`${command}: ${error.message}`);
      resolve({ code: 127, signal: null, seconds: 0 });
    });
    // The code waits for 'close' and not for 'exit', because output that is still in a pipe has to be read first.
    child.on('close', (code, signal) => resolve({ code, signal, seconds: (performance.now() - begin) / 1000 }));
  });
}

export const bin = (path) => join(root, 'node_modules', path);

/** Installs from the lock file unless node_modules is at least as new as the lock file. */
export async function install() {
  const stamp = bin('.package-lock.json');
  const lock = statSync(join(root, 'package-lock.json')).mtimeMs;
  if (existsSync(stamp) && statSync(stamp).mtimeMs >= lock) return { code: 0, seconds: 0 };
  console.log('npm ci installs what package-lock.json names; this takes up to a minute and prints nothing …');
  // Development tools are needed even if NODE_ENV says production.
  return run('npm', ['ci', '--include=dev', '--include=optional', '--loglevel=error'], {
    shell: process.platform === 'win32',
  });
}

/** Does the same as `npm run build`. */
export async function build() {
  const progress = new BuildProgress({
    write: (text) => process.stdout.write(text),
    isTty: process.stdout.isTTY === true,
    now: () => performance.now(),
  });
  const ticking = setInterval(() => progress.tick(), 1000);
  try {
    const compiled = await run(process.execPath, [bin('typescript/bin/tsc'), '-b', '--verbose'], {
      stdio: ['inherit', 'pipe', 'inherit'],
      onSpawn: ({ stdout }) => createInterface({ input: stdout }).on('line', (line) => progress.line(line)),
    });
    if (compiled.code !== 0) return compiled;
    const joined = await run(process.execPath, [join(root, 'scripts/join-modules.mjs')]);
    if (joined.code !== 0) return joined;
    const described = await run(process.execPath, [join(root, 'packages/kinds/scripts/write-descriptions.mjs')]);
    if (described.code !== 0) return described;
    progress.begin('the bundles of the command and @kapstan/testing');
    const bundled = await run(process.execPath, [join(root, 'scripts/bundle.mjs')]);
    return { ...bundled, seconds: compiled.seconds + bundled.seconds };
  } finally {
    clearInterval(ticking);
    progress.end();
  }
}
