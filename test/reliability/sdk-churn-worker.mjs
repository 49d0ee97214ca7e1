// An SDK program under churn, for sdk-churn.test.ts: an informer with a work queue and a loop, a manager with a
// controller, and an informer whose connection breaks, all over HTTP. It needs --expose-gc, prints a line of JSON
// after each round, and ends by itself unless something is left open.
import { readdirSync, writeFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { delay, isNotFound, resource, systemClock } from '@kapstan/api';
import { Client } from '@kapstan/client';
import { controller, Manager, ReconcileLoop } from '@kapstan/controller';
import { ExponentialFailureRateLimiter, RateLimitingQueue } from '@kapstan/controller/workqueue';
import { SharedInformerFactory } from '@kapstan/informers';
import { ByteProxy } from '@kapstan/testing';

const [server, token, objects, rounds, reconnects] = process.argv.slice(2);
const ConfigMap = resource({ group: '', version: 'v1', kind: 'ConfigMap' });
const namespace = 'default';
const labels = { churn: 'yes' };
const warnings = [];
process.on('warning', ({ message }) => warnings.push(message));

const connect = (url) => new Client({ server: url, token, tls: { insecureSkipVerify: true } });
const say = (line) => writeFileSync(1, `${JSON.stringify(line)}\n`);

async function until(isSo) {
  while (!isSo()) await delay(systemClock, 5);
}

async function measure(name) {
  for (let times = 0; times < 3; times++) {
    await turn();
    globalThis.gc();
  }
  const { heapUsed, external } = process.memoryUsage();
  const open = readdirSync('/proc/self/fd').length;
  say({ name, heap: heapUsed, external, open, resources: process.getActiveResourcesInfo().length, warnings });
}

/** Runs the calls, 64 at a time. */
async function each(count, call) {
  let next = 0;
  const work = async () => {
    while (next < count) await call(next++);
  };
  await Promise.all(Array.from({ length: 64 }, work));
}

/** Starts a loop that fails once for every tenth key, so that backoff and its memory are used too. */
function startLoop(client, stop) {
  const factory = new SharedInformerFactory(client, {
    namespace,
    tweakListOptions: () => ({ labelSelector: 'churn' }),
  });
  const informer = factory.informer(ConfigMap);
  const queue = new RateLimitingQueue({ rateLimiter: new ExponentialFailureRateLimiter({ baseMs: 1, maxMs: 100 }) });
  const enqueue = ({ metadata }) => queue.add(`${metadata.namespace}/${metadata.name}`);
  informer.addEventHandler({ onAdd: enqueue, onUpdate: (_, object) => enqueue(object), onDelete: enqueue });
  const seen = new Set();
  const reconcile = async ({ key }, { attempt }) => {
    if (key.endsWith('3') && attempt === 0) throw new Error('not yet');
    if (informer.indexer.getByKey(key) === undefined) seen.delete(key);
    else seen.add(key);
  };
  const running = new ReconcileLoop({ queue, reconcile, workers: 4 }).run(stop);
  factory.start();
  const close = async () => {
    await running;
    await factory.close();
  };
  return { informer, queue, seen, factory, close };
}

function startManager(client, stop) {
  const marked = new Set();
  const marker = controller(ConfigMap, { name: 'marker' })
    .when(({ object, oldObject }) => (object ?? oldObject)?.metadata?.labels?.churn === 'yes')
    .settings({ workers: 8 })
    .reconcile(async ({ metadata, data }, { client: own, signal }) => {
      if (!metadata.name.endsWith('7') || data.mark === data.round) return;
      const patch = { type: 'merge', body: { data: { mark: data.round } } };
      await own.patch(ConfigMap, { namespace, name: metadata.name }, patch, { signal }).catch((error) => {
        if (!isNotFound(error)) throw error;
      });
      marked.add(`${data.round} ${metadata.name}`);
    });
  const manager = new Manager([marker], { client, namespaces: [namespace] });
  return { marked, manager, running: manager.run(stop) };
}

async function churn() {
  const client = connect(server);
  const stop = new AbortController();
  const loop = startLoop(client, stop.signal);
  const { marked, manager, running } = startManager(client, stop.signal);
  await Promise.all([loop.informer.whenSynced(), manager.whenReady()]);
  for (let round = 1; round <= Number(rounds); round++) {
    const name = (index) => `churn-${round}-${index}`;
    const data = { round: String(round), text: 'x'.repeat(500) };
    await each(Number(objects), (index) =>
      client.create(ConfigMap, { metadata: { namespace, name: name(index), labels }, data }),
    );
    await each(Number(objects), (index) =>
      client.patch(ConfigMap, { namespace, name: name(index) }, { type: 'merge', body: { data: { more: 'y' } } }),
    );
    await until(() => loop.seen.size === Number(objects) && marked.size === Number(objects) / 10);
    await each(Number(objects), (index) => client.delete(ConfigMap, { namespace, name: name(index) }));
    await until(() => loop.informer.indexer.list().length === 0 && loop.queue.length === 0 && loop.seen.size === 0);
    marked.clear();
    await measure('churn');
  }
  stop.abort();
  await Promise.all([running, loop.close()]);
  await client.close();
}

/** Breaks the connection again and again. Each break is followed by a write, which the informer must see. */
async function reconnect() {
  const writer = connect(server);
  const proxy = await ByteProxy.start({ targetPort: () => Number(new URL(server).port) });
  const client = connect(`https://127.0.0.1:${proxy.port}`);
  const factory = new SharedInformerFactory(client, { namespace, onWatchError: () => undefined });
  const informer = factory.informer(ConfigMap);
  factory.start();
  await informer.whenSynced();
  const target = { namespace, name: 'beat' };
  await writer.create(ConfigMap, { metadata: target });
  const steps = 4;
  for (let count = 1; count <= Number(reconnects); count++) {
    const { metadata } = await writer.patch(ConfigMap, target, {
      type: 'merge',
      body: { data: { count: String(count) } },
    });
    await until(() => informer.indexer.getByKey('default/beat')?.metadata.resourceVersion === metadata.resourceVersion);
    proxy.cut();
    if (count % (Number(reconnects) / steps) === 0) await measure('reconnect');
  }
  await factory.close();
  await Promise.all([client.close(), writer.close()]);
  await proxy.close();
}

await measure('start');
await churn();
await measure('stopped');
await reconnect();
await measure('end');
