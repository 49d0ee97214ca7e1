// Tests that memory of requests and watches is freed again: deleted large objects leave nothing behind, and data for
// clients that do not read is bounded per user, over all of the user's watches (I5).
import { once } from 'node:events';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Client, clientConfigOf, parseKubeconfig } from '@kapstan/client';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { type TestCluster, testCluster } from '@kapstan/testing';
import { expect, it } from 'vitest';

const mebibyte = 1_048_576;
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Returns the memory in use after a collection, in MiB. */
function heldMebibytes(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / mebibyte;
}

const large = (n: number, mark = ''): ConfigMap => ({
  metadata: { namespace: 'default', name: `large-${n}` },
  data: { text: `${mark}${'x'.repeat(900_000)}` },
});

async function churn(client: Client): Promise<void> {
  for (let n = 0; n < 30; n++) {
    await client.create(ConfigMap, large(n));
    const target = { namespace: 'default', name: `large-${n}` };
    await client.patch(ConfigMap, target, { type: 'merge', body: { data: { text: 'y'.repeat(900_000) } } });
    await client.delete(ConfigMap, target);
  }
}

it('30 objects of 0.9 MB that were made, changed and deleted leave nothing, though few others come after them', {
  timeout: 120_000,
}, async () => {
  const cluster = await testCluster();
  const client = await cluster.connect();
  try {
    // Whatever is made once for all requests is made before the measurement.
    await client.create(ConfigMap, large(100));
    await client.delete(ConfigMap, { namespace: 'default', name: 'large-100' });
    await cluster.advance(150_000);
    const before = heldMebibytes();
    await churn(client);
    const at = heldMebibytes() - before;
    // A watch may resume for 75 s; the cache checks the time every 30 s.
    await cluster.advance(150_000);
    const after = heldMebibytes() - before;
    process.stdout.write(`81 MB of states: ${Math.round(at)} MiB held at once, ${Math.round(after)} MiB later\n`);
    expect(at).toBeLessThan(60);
    expect(after).toBeLessThan(15);
  } finally {
    await cluster.close();
  }
});

/** Starts a watch and reads only the head of its answer. */
async function lazyWatch(cluster: TestCluster, resourceVersion: string): Promise<TLSSocket> {
  const { tls } = clientConfigOf(parseKubeconfig(cluster.kubeconfig));
  const { port } = cluster.proxy;
  const socket = connectTls({ ...tls, port, host: '127.0.0.1', ALPNProtocols: ['http/1.1'] });
  await once(socket, 'secureConnect');
  const target = `/api/v1/configmaps?watch=1&resourceVersion=${resourceVersion}`;
  socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  await once(socket, 'data');
  socket.on('error', () => undefined);
  return socket.pause();
}

it('watches that nobody reads are ended when those of their user hold too much, and others get everything', {
  timeout: 120_000,
}, async () => {
  const controlPlane = { maxUserWatchBufferBytes: 2 * mebibyte };
  const cluster = await testCluster({ clock: 'real', controlPlane });
  const client = await cluster.connect();
  const ended = async (reason: string): Promise<number> => {
    const { body } = await client.raw({ path: '/metrics' });
    const line = new RegExp(`^kapstan_slow_watches_ended_total\\{.*reason="${reason}"\\} (\\d+)$`, 'm');
    return Number(line.exec(body)?.[1] ?? 0);
  };
  try {
    const { resourceVersion } = await client.listPage(ConfigMap);
    const lazy = await Promise.all(Array.from({ length: 20 }, () => lazyWatch(cluster, resourceVersion)));
    let seen = 0;
    let sent = 0;
    const subscription = client.watch(ConfigMap, { resourceVersion }).subscribe(({ type }) => {
      if (type !== 'BOOKMARK') seen++;
    });
    // Sockets take some MiB before they are full.
    while ((await ended('user')) + (await ended('stuck')) < lazy.length && sent < 400) {
      await client.create(ConfigMap, {
        metadata: { namespace: 'default', name: `m-${sent++}` },
        data: { text: 'x'.repeat(200_000) },
      });
    }
    expect(await ended('user')).toBeGreaterThan(0);
    expect((await ended('user')) + (await ended('stuck'))).toBe(lazy.length);
    while (seen < sent) await new Promise((resolve) => setImmediate(resolve));
    subscription.unsubscribe();
    for (const socket of lazy) socket.destroy();
  } finally {
    await cluster.close();
  }
});
