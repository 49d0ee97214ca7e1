// Tests 300 watches that nobody reads, on a namespace of 4 MB whose objects change: what the server holds for them is
// bounded while they are open and freed when they close, their CPU is bounded, and others are served meanwhile (I5).
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { delay, systemClock } from '@kapstan/api';
import { Client, clientConfigOf, parseKubeconfig } from '@kapstan/client';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { expect, it } from 'vitest';
import { type ServeProcess, startServeProcess } from '../kapstan/serve-process.ts';

const probe = new URL('../kapstan/memory-probe.mjs', import.meta.url).href;
const namespace = 'default';
const objects = 300;
const textBytes = 13_000;
const unread = 300;
/** Lists of the namespace whose CPU is the unit in which that of a watch is counted. */
const lists = 10;
/** CPU of a read beside the watches, in seconds; it is not theirs. */
const cpuOfRead = 0.001;

interface Measured {
  readonly heldMebibytes: number;
  readonly cpuSeconds: number;
}

async function measure({ process }: ServeProcess): Promise<Measured> {
  const answered = once(process, 'message');
  process.send('measure');
  return (await answered)[0] as Measured;
}

const named = (index: number) => ({ namespace, name: `object-${index}` });
const textOf = (round: number) => ({ text: String(round).padEnd(textBytes, 'x') });

/** Runs `work` for each object, eight at a time. */
async function forEachObject(work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < objects) await work(next++);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

const changeAll = (client: Client, round: number): Promise<void> =>
  forEachObject((index) => client.patch(ConfigMap, named(index), { type: 'merge', body: { data: textOf(round) } }));

/** Starts a watch of the whole namespace and reads only the beginning of its answer. */
async function openUnread({ url, adminToken }: ServeProcess): Promise<TLSSocket> {
  const socket = connectTls({ port: Number(new URL(url).port), host: '127.0.0.1', rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const target = `/api/v1/namespaces/${namespace}/configmaps?watch=1`;
  socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${adminToken}\r\n\r\n`);
  const [head] = (await once(socket, 'data')) as [Buffer];
  expect(head.toString('latin1', 0, 12)).toBe('HTTP/1.1 200');
  socket.on('error', () => undefined);
  return socket.pause();
}

async function openAll(server: ServeProcess): Promise<readonly TLSSocket[]> {
  const sockets: TLSSocket[] = [];
  let next = 0;
  const opener = async (): Promise<void> => {
    while (next++ < unread) sockets.push(await openUnread(server));
  };
  await Promise.all(Array.from({ length: 16 }, opener));
  return sockets;
}

async function openWatches(client: Client): Promise<number> {
  const { body } = await client.raw({ path: '/metrics' });
  const counts = body.matchAll(/^apiserver_longrunning_requests\{.*resource="configmaps".*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Reads one object after the other until `work` is done, and returns how many were read. */
async function readMeanwhile(client: Client, work: Promise<unknown>): Promise<number> {
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  let reads = 0;
  for (; !isDone; reads++) await client.get(ConfigMap, named(reads % objects));
  await done;
  return reads;
}

it('300 watches that nobody reads hold a bounded part of 4 MB that change, nothing once closed, and delay nobody', {
  timeout: 180_000,
}, async () => {
  const server = await startServeProcess({ imports: [probe] });
  const kubeconfig = parseKubeconfig(readFileSync(server.kubeconfig, 'utf8'));
  const client = new Client({ ...clientConfigOf(kubeconfig), proxyUrl: '' });
  const other = new Client({ ...clientConfigOf(kubeconfig), proxyUrl: '' });
  try {
    await forEachObject((index) => client.create(ConfigMap, { metadata: named(index), data: textOf(0) }));
    const { resourceVersion } = await client.listPage(ConfigMap, { namespace });
    let seen = 0;
    const subscription = client.watch(ConfigMap, { namespace, resourceVersion }).subscribe(({ type }) => {
      if (type === 'MODIFIED') seen++;
    });
    const created = await measure(server);
    await changeAll(client, 1);
    const changed = await measure(server);
    for (let n = 0; n < lists; n++) await client.listPage(ConfigMap, { namespace });
    const before = await measure(server);
    const cpuOfList = (before.cpuSeconds - changed.cpuSeconds) / lists;

    const opening = openAll(server);
    const reads = await readMeanwhile(other, opening);
    const open = await measure(server);
    const changing = changeAll(client, 2);
    const readsWhileChanging = await readMeanwhile(other, changing);
    const flooded = await measure(server);
    for (const socket of await opening) socket.destroy();
    // The watch of the client that reads stays.
    while ((await openWatches(client)) > 1) await delay(systemClock, 20);
    const after = await measure(server);
    while (seen < 2 * objects) await delay(systemClock, 5);
    subscription.unsubscribe();

    // The history of the watch cache keeps both rounds of changes.
    const history = Math.max(0, changed.heldMebibytes - created.heldMebibytes);
    const more = (measured: Measured): number => measured.heldMebibytes - before.heldMebibytes;
    const listsPerWatch = (open.cpuSeconds - before.cpuSeconds - reads * cpuOfRead) / cpuOfList / unread;
    const held = [more(open), more(flooded) - history, more(after) - history].map(Math.round);
    process.stdout.write(
      `300 unread watches of 4 MB: ${held[0]} MiB more held, ${held[1]} while all changes, ${held[2]} when closed; each opened for the CPU of ${listsPerWatch.toFixed(2)} lists; ${reads} and ${readsWhileChanging} reads meanwhile\n`,
    );
    expect(Math.min(reads, readsWhileChanging)).toBeGreaterThan(20);
    // Each watch alone would hold 4 MB.
    expect(held[0]).toBeLessThan(50);
    expect(held[1]).toBeLessThan(80);
    expect(held[2]).toBeLessThan(15);
    expect(listsPerWatch).toBeLessThan(2);
  } finally {
    await other.close();
    await client.close();
    await server.close();
  }
});
