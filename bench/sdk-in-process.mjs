// Measures informers in the server's own process, directly on its watch cache: time per event and informer. An event
// goes to all of them in one synchronous section of one thread, so it is timed there, between two markers: a watch that
// is served right before them and one right after. The difference of CPU with and without informers would show nothing,
// because a write costs more than its event in twenty informers and varies more with the machine. The figure is the
// median of a run's sections, since a mean would include the pauses of a shared machine. The collector mostly works
// between sections; its total is printed beside the figure. The objects are first ConfigMaps that are alike, then a
// cluster's pods.
import { PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { SharedInformerFactory } from '@kapstan/informers';
import { ConfigMap, Namespace, Pod, ServiceAccount } from '@kapstan/kinds/core/v1';
import { testCluster } from '@kapstan/testing';
import { clusterPopulation } from './parts/cluster-population.mjs';
import { controlledPod } from './parts/controlled-pod.mjs';
import { figure, median } from './parts/figures.mjs';
import { populations } from './parts/populations.mjs';

// Numbers of informers: one, two sizes of real processes with controllers, and more than fit into the processor's
// caches.
const counts = (process.env.KAPSTAN_BENCH_INFORMERS ?? '1,20,100,500').split(',').map(Number);
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 7);
const objects = 50;
const rounds = Math.ceil(Number(process.env.KAPSTAN_BENCH_EVENTS ?? 1000) / objects);
const updates = rounds * objects;

const configMap = (index, generation) => ({
  metadata: { name: `c-${index}`, namespace: 'default', labels: { app: `app-${index % 10}` } },
  data: { gen: String(generation), payload: '0123456789abcdef'.repeat(32) },
});

const owners = clusterPopulation(20_000);

/** Returns a pod of the cluster's list, as a controller writes it; only its annotation differs between generations. */
function clusterPod(index, generation) {
  const { metadata, spec } = controlledPod(index, owners[index]);
  const { name, namespace, labels, ownerReferences } = metadata;
  const annotations = { generation: String(generation) };
  return { metadata: { name, namespace, labels, annotations, ownerReferences }, spec };
}

const kinds = {
  alike: { kind: ConfigMap, body: configMap, name: 'ConfigMaps that are all alike' },
  cluster: { kind: Pod, body: clusterPod, name: "a cluster's pods" },
};

let collectorMs = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) collectorMs += duration;
}).observe({ entryTypes: ['gc'] });

/** Subscribes a watch. When it resolves the watch is live, so watches that begin later get an event after it. */
async function watchFrom(client, kind, onEvent) {
  let subscription;
  await new Promise((resolve) => {
    subscription = client
      .listerWatcher(kind)
      .watch({ sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: true })
      .subscribe((event) => (event.type === 'BOOKMARK' ? resolve() : onEvent()));
  });
  return subscription;
}

/**
 * Returns for each run the median time between the two markers and the garbage collector's time per event, both in
 * microseconds.
 */
async function measure(client, { kind, bodies }, informers) {
  let startMs = 0;
  let sections = [];
  let handled = 0;
  const before = await watchFrom(client, kind, () => {
    startMs = performance.now();
  });
  const all = Array.from({ length: informers }, () => new SharedInformerFactory(client).informer(kind));
  for (const informer of all) {
    informer.addEventHandler({ onUpdate: () => (handled += 1) });
    informer.start();
  }
  await Promise.all(all.map((informer) => informer.whenSynced()));
  const after = await watchFrom(client, kind, () => sections.push((performance.now() - startMs) * 1000));
  const results = [];
  // The first run warms up.
  for (let run = 0; run <= runs; run += 1) {
    [sections, handled, collectorMs] = [[], 0, 0];
    for (let round = 0; round < rounds; round += 1)
      await Promise.all(bodies(run * rounds + round).map((object) => client.update(kind, object)));
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

/** Creates the namespaces of pods, with the service account that the admission of pods looks for. */
async function prepareNamespaces(client, pods) {
  for (const namespace of new Set(pods.map(({ metadata }) => metadata.namespace))) {
    if (namespace !== 'kube-system') await client.create(Namespace, { metadata: { name: namespace } });
    await client.create(ServiceAccount, { metadata: { namespace, name: 'default' } });
  }
}

const cluster = await testCluster({ http: 'off', clock: 'real' });
const { client } = cluster;
const of = (results, key) => results.map((one) => one[key]);
for (const { population } of populations) {
  const { kind, body, name } = kinds[population];
  const bodies = (generation) => Array.from({ length: objects }, (_, index) => body(index, generation));
  if (kind === Pod) await prepareNamespaces(client, bodies(-1));
  for (const object of bodies(-1)) await client.create(kind, object);
  const written = { kind, bodies };
  // Time of the markers and the writes alone.
  const bare = await measure(client, written, 0);
  for (const informers of counts) {
    const results = await measure(client, written, informers);
    const perEvent = (key) => of(results, key).map((us) => (us - median(of(bare, key))) / informers);
    const what = `time per event of ${name}, ${informers} informer${informers === 1 ? '' : 's'} in process`;
    figure({ bench: 'sdk-in-process', what, unit: 'us', samples: perEvent('sectionUs'), target: { atMost: 5 } });
    // With fewer informers the collector's time for events cannot be separated from its time for the writes.
    if (informers < 100) continue;
    const beside = `the collector beside it, ${name}`;
    figure({ bench: 'sdk-in-process', what: beside, unit: 'us', samples: perEvent('collectorUs') });
  }
}
await cluster.close();
