// Creates of 1 KB ConfigMaps by `kapstan serve`, 64 at a time, over HTTP/1.1 with kept TLS connections: creates and
// commits (each one fsync) per second, and the server's CPU per create. Then the same for updates, 16 at a time.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { figure } from './parts/figures.mjs';
import { configMapBody, httpCaller, inParallel, namespaceBody } from './parts/http-caller.mjs';
import { startServer } from './parts/server-process.mjs';

const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 3);
const creates = Number(process.env.KAPSTAN_BENCH_CREATES ?? 10_000);
const warmUp = 2_000;
const concurrency = 64;
const path = '/api/v1/namespaces/bench/configmaps';

const require = createRequire(new URL('../packages/storage-lmdb/package.json', import.meta.url));
const { open } = require('lmdb');

/** Returns the number of the last transaction in the server's store, read from a second process, which LMDB allows. */
async function lastTransaction({ dataDir }) {
  const root = open(join(dataDir, 'store'), { readOnly: true, noSubdir: false });
  const { lastTxnId } = root.getStats();
  await root.close();
  return lastTxnId;
}

const name = (index) => `o${String(index).padStart(6, '0')}`;

async function measure(server, work) {
  const transaction = await lastTransaction(server);
  const before = await server.measure();
  const begin = performance.now();
  await work();
  const seconds = (performance.now() - begin) / 1_000;
  const after = await server.measure();
  const commits = (await lastTransaction(server)) - transaction;
  return {
    perSecond: creates / seconds,
    commitsPerSecond: commits / seconds,
    cpuMs: (after.cpuUs - before.cpuUs) / 1_000 / creates,
    stallMs: after.stallMs,
  };
}

async function run() {
  const server = await startServer();
  const { call, close } = httpCaller(server, concurrency);
  await call('POST', '/api/v1/namespaces', namespaceBody);
  const create = (index) => call('POST', path, configMapBody(name(index), index));
  const update = (index) => call('PUT', `${path}/${name(index)}`, configMapBody(name(index), creates + index));
  await inParallel(warmUp, concurrency, create);
  const created = await measure(server, () => inParallel(creates, concurrency, (index) => create(warmUp + index)));
  await inParallel(warmUp, 16, update);
  const updated = await measure(server, () => inParallel(creates, 16, (index) => update(warmUp + index)));
  close();
  await server.close();
  return { created, updated };
}

const results = [];
for (let count = 0; count < runs; count += 1) results.push(await run());
const peer = (value) => ({ name: 'kube-apiserver + etcd', value, recorded: true });
for (const { what, key, cpu, rate } of [
  { what: 'create, 64 at a time', key: 'created', cpu: 0.85, rate: 1978 },
  { what: 'update, 16 at a time', key: 'updated', cpu: 1.26, rate: 1308 },
]) {
  const of = (field) => results.map((one) => one[key][field]);
  figure({ bench: 'creates', what: `CPU per ${what}`, unit: 'ms', samples: of('cpuMs'), peer: peer(cpu) });
  figure({ bench: 'creates', what: `rate of ${what}`, unit: 'per s', samples: of('perSecond'), peer: peer(rate) });
  figure({ bench: 'creates', what: `commits, ${what}`, unit: 'per s', samples: of('commitsPerSecond') });
  figure({ bench: 'creates', what: `longest stall, ${what}`, unit: 'ms', samples: of('stallMs') });
}
