// Tests a sender of long YAML that disconnects, through a whole server: reading its text must not block the thread for
// others.
import { once } from 'node:events';
import { request } from 'node:http';
import type { Worker } from 'node:worker_threads';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { expect, it } from 'vitest';
import { adminToken, startTestServer } from '../../testing/api-server-fixture.ts';
import { factDefinitions } from '../../testing/fact-kinds.ts';

it('a sender of YAML who goes while it is read ends the thread that reads it', async () => {
  const definitions = factDefinitions().filter(({ resource }) => resource === 'configmaps');
  const server = await startTestServer(openLmdbEngine, { definitions });
  const starts = once(process, 'worker');
  const sending = request(`${server.url}/api/v1/namespaces/default/configmaps`, {
    method: 'POST',
    headers: { 'content-type': 'application/yaml', authorization: `Bearer ${adminToken}` },
  });
  sending.on('error', () => undefined);
  sending.end('- a\n'.repeat(99_000));
  const [thread] = (await starts) as [Worker];
  const ended = once(thread, 'exit');
  sending.destroy();
  await ended;
  // The thread would also end when idle, but not within ten seconds.
  expect(thread.threadId).toBe(-1);
  await server.close();
});
