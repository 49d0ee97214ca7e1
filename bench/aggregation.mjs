// Compares GETs that are passed on to another API server with GETs of a ConfigMap that this server answers: CPU of this server for each,
// and how long each takes for its client. The other server runs in its own process.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { figure, median } from './parts/figures.mjs';
import { httpCaller } from './parts/http-caller.mjs';
import { startServer } from './parts/server-process.mjs';

const requests = Number(process.env.KAPSTAN_BENCH_REQUESTS ?? 5_000);
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 5);
const concurrency = 8;

const program = fileURLToPath(new URL('parts/extension-process.mjs', import.meta.url));
const extension = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
const lines = createInterface(extension.stdout)[Symbol.asyncIterator]();
const { port, ca } = JSON.parse((await lines.next()).value);
const server = await startServer({ stalls: false });
const { call, close } = httpCaller(server, concurrency);
const services = '/api/v1/namespaces/default/services';
const create = (path, object) => call('POST', path, JSON.stringify(object));
await create(services, { metadata: { name: 'api' }, spec: { type: 'ExternalName', externalName: 'localhost' } });
await create('/apis/apiregistration.k8s.io/v1/apiservices', {
  metadata: { name: 'v1.example.com' },
  spec: {
    ...{ group: 'example.com', version: 'v1', groupPriorityMinimum: 2000, versionPriority: 10 },
    service: { namespace: 'default', name: 'api', port },
    caBundle: Buffer.from(ca).toString('base64'),
  },
});
await create('/api/v1/namespaces/default/configmaps', { metadata: { name: 'a' }, data: { text: 'x'.repeat(300) } });
const paths = {
  proxied: '/apis/example.com/v1/namespaces/default/books/a',
  direct: '/api/v1/namespaces/default/configmaps/a',
};
while (
  !(await call('GET', paths.proxied).then(
    () => true,
    () => false,
  ))
)
  await sleep(50);

/** Returns the CPU of the server for one request in µs, and the median and the 99th percentile of their times in ms. */
async function measure(path) {
  const times = [];
  const before = (await server.measure()).cpuUs;
  let left = requests;
  const client = async () => {
    while (left-- > 0) {
      const begin = performance.now();
      await call('GET', path);
      times.push(performance.now() - begin);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, client));
  const cpu = ((await server.measure()).cpuUs - before) / requests;
  times.sort((a, b) => a - b);
  return { cpu, p50: times[Math.floor(times.length / 2)], p99: times[Math.floor(times.length * 0.99)] };
}

const found = { proxied: [], direct: [] };
for (const path of Object.values(paths)) await measure(path);
for (let run = 0; run < runs; run++)
  for (const [name, path] of Object.entries(paths)) found[name].push(await measure(path));
for (const [key, what, unit] of [
  ['cpu', 'CPU of the server for a GET', 'µs'],
  ['p50', `median time of a GET, ${concurrency} at once`, 'ms'],
  ['p99', `99th percentile of the time of a GET, ${concurrency} at once`, 'ms'],
])
  figure({
    ...{ bench: 'aggregation', what: `${what} that another API server answers`, unit },
    samples: found.proxied.map((sample) => sample[key]),
    peer: { name: 'answered by this server', value: median(found.direct.map((sample) => sample[key])) },
  });
close();
await server.close();
extension.stdin.end();
