// Informers in the server's own process, directly on its watch cache: time per event and informer. An event goes to all
// of them in one synchronous section of one thread, so it is timed there, between two markers: a watch that is served
// right before them and one right after. The difference of CPU with and without informers would show nothing, because a
// write costs more than its event in twenty informers and varies more with the machine. The figure is the median of a
// run's sections, since a mean would include the pauses of a shared machine. The collector mostly works between
// sections; its total is printed beside the figure.
import { PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { SharedInformerFactory } from '@kapstan/informers';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { testCluster } from '@kapstan/testing';
import { figure, median } from './parts/figures.mjs';

// Numbers of informers: one, two sizes of real processes with controllers, and more than fit into the processor's
// caches.
const counts = (process.env.KAPSTAN_BENCH_INFORMERS ?? '1,20,100,500').split(',').map(Number);
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 7);
const objects = 50;
const rounds = Math.ceil(Number(process.env.KAPSTAN_BENCH_EVENTS ?? 1000) / objects);
const updates = rounds * objects;

const body = (index, generation) => ({
  metadata: { name: `c-${index}`, namespace: 'default', labels: { app: `app-${index % 10}` } },
  data: { gen: String(generation), payload: '0123456789abcdef'.repeat(32) },
});

let collectorMs = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) collectorMs += duration;
}).observe({ entryTypes: ['gc'] });

/** Subscribes a watch. When it resolves the watch is live, so watches that begin later get an event after it. */
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

/**
 * Returns for each run the median time between the two markers and the garbage collector's time per event, both in
 * microseconds.
 */
async function measure(client, informers) {
  let startMs = 0;
  let sections = [];
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
  const after = await watchFrom(client, () => sections.push((performance.now() - startMs) * 1000));
  const results = [];
  // The first run warms up.
  for (let run = 0; run <= runs; run += 1) {
    [sections, handled, collectorMs] = [[], 0, 0];
    for (let round = 0; round < rounds; round += 1)
      await Promise.all(
        Array.from({ length: objects }, (_, index) => client.update(ConfigMap, body(index, run * rounds + round))),
      );
    while (sections.length < updates) await sleep(1);
    if (handled !== updates * informers) throw new Error(`${handled} events instead of ${updates * informers}`);
    // The collector's work is reported a turn later.
    await sleep(10);
    if (run > 0) results.push({ sectionUs: median(sections), collectorUs: (collectorMs * 1000) / updates });
  }
  before.unsubscribe();
  after.unsubscribe();
  await Promise.all(all.map((informer) => informer.close()));
  return results;
}

const cluster = await testCluster({ http: 'off', clock: 'real' });
for (let index = 0; index < objects; index += 1) await cluster.client.create(ConfigMap, body(index, -1));
// Time of the markers and the writes alone.
const bare = await measure(cluster.client, 0);
const of = (results, key) => results.map((one) => one[key]);
for (const informers of counts) {
  const results = await measure(cluster.client, informers);
  const perEvent = (key) => of(results, key).map((us) => (us - median(of(bare, key))) / informers);
  const what = `time per event, ${informers} informer${informers === 1 ? '' : 's'} in process`;
  figure({ bench: 'sdk-in-process', what, unit: 'us', samples: perEvent('sectionUs'), target: { atMost: 5 } });
  // With fewer informers the collector's time for events cannot be separated from its time for the writes.
  if (informers < 100) continue;
  figure({ bench: 'sdk-in-process', what: 'the collector beside it', unit: 'us', samples: perEvent('collectorUs') });
}
await cluster.close();
