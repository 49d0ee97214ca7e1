// Tests that the server ends a watcher that does not read at its limit of bytes, without effect on other clients (I5).
import { once } from 'node:events';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Client } from '@kapstan/client';
import { clientConfigOf, parseKubeconfig } from '@kapstan/client';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { type TestCluster, testCluster } from '@kapstan/testing';
import type { Subscription } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const mebibyte = 1_048_576;
const eventBytes = 64 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Returns the memory in use after a collection, in MiB. */
function heldMebibytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / mebibyte;
}

describe('a watcher that does not read', () => {
  let cluster: TestCluster;
  let client: Client;
  let subscription: Subscription | undefined;
  let seen: number[] = [];
  let wake: () => void = () => undefined;

  beforeEach(async () => {
    cluster = await testCluster({ clock: 'real', maxWatchBufferBytes: mebibyte });
    client = await cluster.connect();
    seen = [];
  });
  afterEach(async () => {
    subscription?.unsubscribe();
    await cluster.close();
  });

  /** Starts a watch and reads only the head of its answer. */
  async function lazyWatch(resourceVersion: string): Promise<TLSSocket> {
    const { tls } = clientConfigOf(parseKubeconfig(cluster.kubeconfig));
    const port = cluster.proxy.port;
    const socket = connectTls({ ...tls, port, host: '127.0.0.1', ALPNProtocols: ['http/1.1'] });
    await once(socket, 'secureConnect');
    const target = `/api/v1/configmaps?watch=1&resourceVersion=${resourceVersion}`;
    socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    const [head] = (await once(socket, 'data')) as [Buffer];
    expect(head.toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    socket.on('error', () => undefined);
    return socket.pause();
  }

  async function write(from: number, to: number): Promise<void> {
    const target = { name: 'a', namespace: 'default' };
    for (let n = from; n < to; n++) {
      const body = { data: { n: String(n), filler: 'x'.repeat(eventBytes) } };
      if (n === 0) await client.create(ConfigMap, { metadata: target, ...body });
      else await client.patch(ConfigMap, target, { type: 'merge', body });
    }
    while (seen.length < to) await new Promise<void>((resolve) => (wake = resolve));
  }

  const ended = async (): Promise<number> => {
    const { body } = await client.raw({ path: '/metrics' });
    return Number(/^apiserver_terminated_watchers_total\{.*resource="configmaps"\} (\d+)$/m.exec(body)?.[1] ?? 0);
  };

  it('is ended at its bound, while others get everything and memory stays bounded', async () => {
    const { resourceVersion } = await client.listPage(ConfigMap);
    subscription = client.watch(ConfigMap, { resourceVersion }).subscribe((event) => {
      if (event.type !== 'BOOKMARK') seen.push(Number(event.object.data?.n));
      wake();
    });
    // The history of the watch cache, 75 s of events, is measured first, without the stalled watchers.
    await write(0, 200);
    const atFirst = heldMebibytes();
    await write(200, 400);
    const before = heldMebibytes();
    const lazy = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(() => lazyWatch(resourceVersion)));
    await write(400, 650);
    const more = heldMebibytes() - before - (before - atFirst);

    expect(seen).toEqual(Array.from({ length: 650 }, (_, n) => n));
    expect(await ended()).toBe(lazy.length);
    process.stdout.write(`6 stalled watchers, 16 MiB of events for each: ${Math.round(more)} MiB more held\n`);
    // Without a limit, their sockets alone would hold 90 MiB.
    expect(more).toBeLessThan(45);
    for (const socket of lazy) expect(await rest(socket)).toBeLessThan(500 * eventBytes);
  });

  it('is not ended for initial events, however many: they wait without being encoded', async () => {
    for (let n = 0; n < 120; n++) {
      const metadata = { name: `b-${n}`, namespace: 'default' };
      await client.create(ConfigMap, { metadata, data: { filler: 'x'.repeat(eventBytes) } });
    }
    const socket = await lazyWatch('0');
    await cluster.settle();
    expect(await ended()).toBe(0);
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    socket.resume();
    while (bytes < 119 * eventBytes) await once(socket, 'data');
    socket.destroy();
  });
});

/** Returns the number of bytes until the answer's last chunk, which is empty. The connection stays open. */
async function rest(socket: TLSSocket): Promise<number> {
  let bytes = 0;
  await new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (chunk.subarray(-5).toString() === '0\r\n\r\n') resolve();
    });
    socket.once('close', () => resolve());
    socket.resume();
  });
  socket.destroy();
  return bytes;
}
