// Measures a controller's work queue through its public API, without metrics: keys added, got and done, per second of
// CPU. client-go's figures are recorded, per second of wall time on as many threads as it wanted. The keys are those of
// pods in both populations: short names that are alike, and the longer ones of a cluster.
import { RateLimitingQueue } from '@kapstan/controller/workqueue';
import { clusterPopulation } from './parts/cluster-population.mjs';
import { podKeys } from './parts/controlled-pod.mjs';
import { figure } from './parts/figures.mjs';
import { populations } from './parts/populations.mjs';

const count = 1_000_000;
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 5);
let keys;

function keysOf(population) {
  if (population === 'cluster') return podKeys(clusterPopulation(count));
  return Array.from({ length: count }, (_, index) => `ns-${index % 50}/pod-${String(index).padStart(6, '0')}`);
}

async function work(queue) {
  for (let key = await queue.get(); key !== undefined; key = await queue.get()) queue.done(key);
}

/** Adds keys while `workers` work. The adder yields after every `burst` keys, as events arrive in pieces of a watch. */
async function pipeline(workers, burst) {
  const queue = new RateLimitingQueue();
  const ended = Array.from({ length: workers }, () => work(queue));
  for (let index = 0; index < count; index += 1) {
    queue.add(keys[index]);
    if (index % burst === burst - 1) await new Promise((resolve) => setImmediate(resolve));
  }
  queue.shutDown();
  await Promise.all(ended);
}

async function oneLoop() {
  const queue = new RateLimitingQueue();
  for (const key of keys) {
    queue.add(key);
    queue.done(await queue.get());
  }
}

/** Measures bare Maps with as many keys in them: the floor of the last row. */
function bareMap() {
  const map = new Map();
  for (const key of keys) if (map.get(key) === undefined) map.set(key, 0);
  for (const key of keys) if (map.get(key) !== undefined) map.delete(key);
}

async function millionsPerCpuSecond(section) {
  globalThis.gc();
  const before = process.cpuUsage();
  await section();
  const { user, system } = process.cpuUsage(before);
  return count / (user + system);
}

const target = { atLeast: 1 };
const rows = [
  { what: 'add, get, done in one loop', section: oneLoop, clientGo: 7.2, target },
  { what: 'an adder in bursts of 100, 1 worker', section: () => pipeline(1, 100), clientGo: 1.3, target },
  { what: 'an adder in bursts of 100, 8 workers', section: () => pipeline(8, 100), clientGo: 1.6, target },
  { what: 'all keys added before any is got, 1 worker', section: () => pipeline(1, count), clientGo: 1.3, target },
  { what: 'a bare Map with all keys: get, set, get, delete', section: bareMap },
];
for (const { population, of } of populations) {
  keys = keysOf(population);
  for (const { what, section, clientGo, target: goal } of rows) {
    const samples = [];
    for (let run = 0; run < runs; run += 1) samples.push(await millionsPerCpuSecond(section));
    const peers = clientGo === undefined ? [] : [{ name: 'client-go', value: clientGo, recorded: true }];
    const line = { bench: 'sdk-workqueue', what: `${what}, keys of ${of}`, unit: 'M/s of CPU', samples, peers };
    figure({ ...line, ...(goal ? { target: goal } : {}) });
  }
}
