// SIGTERM at any time in the life of `kapstan serve`, even long before it is ready: it ends with status 0 and leaves a
// directory on which the next server starts.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { delay, systemClock } from '@kapstan/api';
import { expect, it } from 'vitest';
import { type ServeProcess, startServeProcess } from '../kapstan/serve-process.ts';

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

it('kapstan serve with a delay is not ready at once, serves on, and ends in peace', async () => {
  const server = await startServeProcess({ flags: ['--shutdown-delay-duration=2s', '--shutdown-send-retry-after'] });
  const ca = await readFile(server.caFile, 'utf8');
  expect(await statusOf(server, '/readyz', ca)).toBe(200);
  const closed = server.close();
  while ((await statusOf(server, '/readyz', ca)) !== 500) await delay(systemClock, 5);
  expect(server.process.exitCode).toBe(null);
  expect(await statusOf(server, '/livez', ca)).toBe(200);
  expect(await statusOf(server, '/api/v1/namespaces', ca)).toBe(200);
  await closed;
});

/** Sends the request over its own connection. */
function statusOf({ url, adminToken }: ServeProcess, path: string, ca: string): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${adminToken}` };
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, url), { ca, headers, agent: false }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode));
    });
    sent.once('error', reject).end();
  });
}
