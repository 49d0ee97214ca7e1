// SIGTERM at any time in the life of `kapstan serve`, also long before it is ready: it ends with status 0 and leaves a
// directory that the next one starts on.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { delay, systemClock } from '@kapstan/api';
import { expect, it } from 'vitest';
import { startServeProcess } from '../kapstan/serve-process.ts';

const command = fileURLToPath(new URL('../../packages/control-plane/bin/kapstan.js', import.meta.url));

it.each([
  ['its directory is made', ''],
  ['its store is made', 'store/data.mdb'],
  ['its authority is made', 'pki/ca.crt'],
])('kapstan serve that is stopped when %s ends in peace', async (_when, file) => {
  const work = await mkdtemp(join(tmpdir(), 'kapstan-stop-'));
  try {
    const dataDir = join(work, 'data');
    const flags = ['--secure-port=0', `--data-dir=${dataDir}`, `--ready-file=${join(work, 'ready')}`];
    const child = spawn(process.execPath, [command, 'serve', ...flags], { stdio: 'ignore' });
    const exited = once(child, 'exit');
    while (!existsSync(join(dataDir, file)) && child.exitCode === null) await delay(systemClock, 1);
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    expect(existsSync(join(work, 'ready'))).toBe(false);
    await (await startServeProcess({ dataDir })).close();
  } finally {
    await rm(work, { recursive: true });
  }
});
