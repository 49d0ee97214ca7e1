// Measures what sharing the equal parts of cached objects saves (decision 0016). An informer lists 20,000 pods of 5 KB
// and gets updates of them in random order: pods of ReplicaSets of 1 to 40 replicas, and a population like a real
// cluster's (parts/cluster-population.mjs). For comparison it measures JSON.parse of the same bytes with the objects
// kept, and client-node.
import { figure, median } from './parts/figures.mjs';
import { measureClients } from './parts/sdk-client.mjs';

const objects = Number(process.env.KAPSTAN_BENCH_OBJECTS ?? 20_000);
const events = Number(process.env.KAPSTAN_BENCH_EVENTS ?? 100_000);
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 3);
const libraries = ['kapstan', 'kapstan-shared', 'json-parse-kept', 'client-node'];
const names = [
  ['kapstan-shared', 'the same with sharesEqualParts: true'],
  ['json-parse-kept', 'http.get and JSON.parse, each object kept in a Map'],
  ['client-node', 'client-node 1.4'],
];

async function measure(what, key, unit, call) {
  const { results } = await measureClients({ libraries, objects, runs, ...call });
  const samples = (library) => results.get(library).map((one) => one[key]);
  const peers = names.map(([library, name]) => ({ name, value: median(samples(library)) }));
  figure({ bench: 'sdk-alike', what: `${what}, ${call.replicas} replicas`, unit, samples: samples('kapstan'), peers });
  return results;
}

const chosen = process.env.KAPSTAN_BENCH_REPLICAS?.split(',') ?? ['cluster', '1', '3', '5', '10', '40'];
for (const replicas of chosen) {
  const synced = await measure('CPU per object of a sync', 'cpuUsPerObject', 'us', { replicas });
  const heap = (library) => synced.get(library).map((one) => one.heapMb);
  const peers = names.map(([library, name]) => ({ name, value: median(heap(library)) }));
  figure({
    bench: 'sdk-alike',
    what: `heap when synced, ${replicas} replicas`,
    unit: 'MB',
    samples: heap('kapstan'),
    peers,
  });
  await measure('CPU per update', 'cpuUsPerEvent', 'us', { replicas, events });
}
