// An informer's first sync of 20,000 pods from a server of prebuilt bytes: CPU of the client per object, ours beside
// @kubernetes/client-node's informer and beside JSON.parse of the same list, in turn.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { figure, median } from './parts/figures.mjs';

const objects = Number(process.env.KAPSTAN_BENCH_OBJECTS ?? 20_000);
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 5);
const part = (name) => fileURLToPath(new URL(`parts/${name}`, import.meta.url));

const canned = fork(part('canned-pods.mjs'), [String(objects)]);
const [{ port, bytesPerPod }] = await once(canned, 'message');
const url = `http://127.0.0.1:${port}`;

async function sync(library) {
  const child = fork(part('informer-sync.mjs'), [library, url, String(objects)], { execArgv: ['--expose-gc'] });
  const ended = once(child, 'exit');
  const result = await Promise.race([once(child, 'message'), ended.then(([code]) => [{ failed: code }])]);
  if (result[0].failed !== undefined) throw new Error(`${library} ended with ${result[0].failed}`);
  await ended;
  return result[0];
}

const libraries = ['kapstan', 'client-node', 'json-parse'];
const results = new Map(libraries.map((library) => [library, []]));
for (let run = 0; run < runs; run += 1) for (const library of libraries) results.get(library).push(await sync(library));
canned.disconnect();

const of = (library, key) => results.get(library).map((one) => one[key]);
const peer = (library, key) => ({ name: library, value: Number(median(of(library, key)).toFixed(1)) });
const clientGo = (value) => ({ name: 'client-go, typed JSON list', value, recorded: true });
const bench = 'informer';
console.log(`informer: ${objects} pods of ${Math.round(bytesPerPod)} bytes`);
const what = 'CPU per object';
figure({
  bench,
  what,
  unit: 'us',
  samples: of('kapstan', 'cpuUsPerObject'),
  peer: peer('client-node', 'cpuUsPerObject'),
});
figure({
  bench,
  what,
  unit: 'us',
  samples: of('kapstan', 'cpuUsPerObject'),
  peer: peer('json-parse', 'cpuUsPerObject'),
});
figure({ bench, what, unit: 'us', samples: of('kapstan', 'cpuUsPerObject'), peer: clientGo(65) });
figure({
  bench,
  what: 'heap when synced',
  unit: 'MB',
  samples: of('kapstan', 'heapMb'),
  peer: peer('client-node', 'heapMb'),
});
figure({
  bench,
  what: 'peak RSS',
  unit: 'MB',
  samples: of('kapstan', 'peakRssMb'),
  peer: peer('client-node', 'peakRssMb'),
});
