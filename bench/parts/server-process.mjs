// Runs `kapstan serve` in its own process on a data directory in the temp folder, and measures its cost.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const command = fileURLToPath(new URL('../../packages/control-plane/bin/kapstan.js', import.meta.url));
const probe = new URL('probe.mjs', import.meta.url).href;

const folders = new Set();
const children = new Set();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Returns a folder for a data directory, which is removed when this process ends. */
export function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'kapstan-bench-'));
  folders.add(folder);
  return folder;
}

/** Makes sure that a process does not outlive this one. `end(signal)` waits for its end. */
export function startedProcess(child) {
  children.add(child);
  const ended = once(child, 'exit');
  const end = async (signal) => {
    child.kill(signal);
    await ended;
    children.delete(child);
  };
  return { child, end };
}

// KAPSTAN_BENCH_NODE_FLAGS="--cpu-prof --cpu-prof-dir=DIR" profiles the servers.
const nodeFlags = (process.env.KAPSTAN_BENCH_NODE_FLAGS ?? '').split(' ').filter((flag) => flag !== '');

/**
 * Starts the server and waits until it is ready; `secondsToReady` counts from the start of its process. `stalls`: watch
 * its event loop. `flags`: more flags for `kapstan serve`.
 */
export async function startServer({ dataDir = temporaryFolder(), stalls = true, flags = [] } = {}) {
  const readyFile = join(dataDir, 'ready.json');
  rmSync(readyFile, { force: true });
  const begin = performance.now();
  const { child, end } = startedProcess(
    spawn(
      process.execPath,
      [
        ...[
          '--import',
          stalls ? `${probe}?stalls` : probe,
          ...nodeFlags,
          command,
          'serve',
          '--secure-port=0',
          '--control-loops=none',
        ],
        ...[`--data-dir=${dataDir}`, `--ready-file=${readyFile}`],
        ...flags,
      ],
      { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] },
    ),
  );
  let log = '';
  child.stderr.on('data', (text) => {
    log += text;
  });
  while (!existsSync(readyFile)) {
    if (child.exitCode !== null) throw new Error(`kapstan serve ended with ${child.exitCode}: ${log}`);
    await sleep(2);
  }
  const secondsToReady = (performance.now() - begin) / 1_000;
  const measure = async () => {
    child.send('measure');
    return (await once(child, 'message'))[0];
  };
  const { url, token, caFile, pid } = JSON.parse(readFileSync(readyFile, 'utf8'));
  return {
    ...{ url, token, pid, dataDir, secondsToReady, measure },
    ca: readFileSync(caFile, 'utf8'),
    close: () => end('SIGTERM'),
  };
}

/** Starts bare-server.mjs with the certificate of a server that ran before. It is measured in the same way. */
export async function startBareServer({ dataDir, ca }) {
  const program = fileURLToPath(new URL('bare-server.mjs', import.meta.url));
  const pki = ['apiserver.crt', 'apiserver.key'].map((file) => join(dataDir, 'pki', file));
  const flags = ['--import', `${probe}?stalls`, ...nodeFlags, program, ...pki, temporaryFolder()];
  const { child, end } = startedProcess(
    spawn(process.execPath, flags, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }),
  );
  const [{ port }] = await once(child, 'message');
  const measure = async () => {
    child.send('measure');
    return (await once(child, 'message'))[0];
  };
  return { url: `https://127.0.0.1:${port}`, token: 'none', ca, measure, close: () => end('SIGKILL') };
}
