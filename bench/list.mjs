// Measures LISTs of 20,000 ConfigMaps of 1 KB at resourceVersion=0 from `kapstan serve` over HTTPS: the server's CPU
// per list, and the longest stall of its event loop meanwhile. The first list is measured separately, because it makes
// bytes that the later ones reuse.
import { figure } from './parts/figures.mjs';
import { configMapBody, httpCaller, inParallel, namespaceBody } from './parts/http-caller.mjs';
import { startServer } from './parts/server-process.mjs';

const objects = Number(process.env.KAPSTAN_BENCH_OBJECTS ?? 20_000);
const lists = Number(process.env.KAPSTAN_BENCH_RUNS ?? 9);
const path = '/api/v1/namespaces/bench/configmaps';
const peer = { name: 'kube-apiserver', value: 0.3, recorded: true };

async function fill(server) {
  const { call, close } = httpCaller(server, 64);
  await call('POST', '/api/v1/namespaces', namespaceBody);
  await inParallel(objects, 64, (index) =>
    call('POST', path, configMapBody(`o${String(index).padStart(6, '0')}`, index)),
  );
  close();
}

/** Returns the CPU seconds and the longest stall of one list. */
async function list(server, call, query) {
  const before = await server.measure();
  const bytes = await call('GET', `${path}?${query}`);
  const after = await server.measure();
  return { bytes, cpuSeconds: (after.cpuUs - before.cpuUs) / 1e6, stallMs: after.stallMs, rssMb: after.rssMb };
}

async function repeat(server, call, { name, query }) {
  const results = [];
  for (let run = 0; run < lists; run += 1) results.push(await list(server, call, query));
  const what = `LIST of ${objects} ConfigMaps, ${name} (${(results[0].bytes / 1e6).toFixed(1)} MB)`;
  figure({ bench: 'list', what, unit: 'CPU s', samples: results.map((one) => one.cpuSeconds), peer });
  figure({ bench: 'list', what: `longest stall, ${name}`, unit: 'ms', samples: results.map((one) => one.stallMs) });
  return results;
}

const filling = await startServer();
await fill(filling);
await filling.close();
// Start the server again, so that nothing is warm.
const server = await startServer({ dataDir: filling.dataDir });
const { call, close } = httpCaller(server, 1);
await call('GET', '/healthz');
await server.measure();
const first = await list(server, call, 'resourceVersion=0');
figure({ bench: 'list', what: 'first LIST, resourceVersion=0', unit: 'CPU s', samples: [first.cpuSeconds], peer });
figure({ bench: 'list', what: 'longest stall, first LIST', unit: 'ms', samples: [first.stallMs] });
await repeat(server, call, { name: 'resourceVersion=0', query: 'resourceVersion=0' });
const last = await repeat(server, call, { name: 'consistent', query: '' });
figure({
  bench: 'list',
  what: `RSS with ${objects} ConfigMaps, after the lists`,
  unit: 'MB',
  samples: [last.at(-1).rssMb],
});
close();
await server.close();
