// Informers in the server's own process, straight on its watch cache: time per event and informer. An event goes to all of them in
// one synchronous section of one thread, so it is timed where it is: between a watch that is told right before them and one right
// after. A write costs more than the event in twenty informers, and moves more with the machine, so no difference of CPU would tell.
import { SharedInformerFactory } from '@kapstan/informers';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { testCluster } from '@kapstan/testing';
import { figure, median } from './parts/figures.mjs';

// One; as many as a process of controllers has, and more; so many that they do not fit into the processor's caches.
const counts = (process.env.KAPSTAN_BENCH_INFORMERS ?? '1,20,100,500').split(',').map(Number);
const updates = Number(process.env.KAPSTAN_BENCH_EVENTS ?? 1000);
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 7);
const objects = 50;

const body = (index, generation) => ({
  metadata: { name: `c-${index}`, namespace: 'default', labels: { app: `app-${index % 10}` } },
  data: { gen: String(generation), payload: '0123456789abcdef'.repeat(32) },
});

/** Live when this resolves: others that begin later are told of an event after it. */
async function watchFrom(client, onEvent) {
  let subscription;
  await new Promise((resolve) => {
    subscription = client
      .listerWatcher(ConfigMap)
      .watch({ sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: true })
      .subscribe((event) => (event.type === 'BOOKMARK' ? resolve() : onEvent()));
  });
  return subscription;
}

/** Microseconds per event between the two watches: the mean of all events of each run, what the collector takes in between included. */
async function measure(client, informers) {
  let startMs = 0;
  let spentMs = 0;
  let told = 0;
  let handled = 0;
  const before = await watchFrom(client, () => {
    startMs = performance.now();
  });
  const all = Array.from({ length: informers }, () => new SharedInformerFactory(client).informer(ConfigMap));
  for (const informer of all) {
    informer.addEventHandler({ onUpdate: () => (handled += 1) });
    informer.start();
  }
  await Promise.all(all.map((informer) => informer.whenSynced()));
  const after = await watchFrom(client, () => {
    spentMs += performance.now() - startMs;
    told += 1;
  });
  const samples = [];
  // The first run warms up.
  for (let run = 0; run <= runs; run += 1) {
    [spentMs, told, handled] = [0, 0, 0];
    for (let done = 0; done < updates; done += 50)
      await Promise.all(
        Array.from({ length: 50 }, (_, index) => client.update(ConfigMap, body(index % objects, run * updates + done))),
      );
    while (told < updates) await new Promise((resolve) => setImmediate(resolve));
    if (handled !== updates * informers) throw new Error(`${handled} events instead of ${updates * informers}`);
    if (run > 0) samples.push((spentMs * 1000) / updates);
  }
  before.unsubscribe();
  after.unsubscribe();
  await Promise.all(all.map((informer) => informer.close()));
  return samples;
}

const cluster = await testCluster({ http: 'off', clock: 'real' });
for (let index = 0; index < objects; index += 1) await cluster.client.create(ConfigMap, body(index, -1));
// The second watch is told within that time.
const bareUs = median(await measure(cluster.client, 0));
for (const informers of counts) {
  const samples = (await measure(cluster.client, informers)).map((us) => (us - bareUs) / informers);
  const what = `time per event, ${informers} informer${informers === 1 ? '' : 's'} in process`;
  const peers = [{ name: 'client-node over HTTP', value: 18.5, recorded: true }];
  figure({ bench: 'sdk-in-process', what, unit: 'us', samples, peers, target: { atMost: 5 } });
}
await cluster.close();
