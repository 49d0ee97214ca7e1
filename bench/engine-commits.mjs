// Measures creates at concurrency 64 in both engines, in turn in one run, on one disk: the embedded one, and etcd 3.4+
// through gRPC. Only the CPU of this process is counted; etcd uses additional CPU in its own process.
//   KAPSTAN_ETCD=path npm run bench engine-commits            KAPSTAN_BENCH_CREATES=100000 for a longer run
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { openEtcdEngine } from '@kapstan/storage-etcd';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { figure, median } from './parts/figures.mjs';
import { inParallel } from './parts/http-caller.mjs';
import { temporaryFolder } from './parts/server-process.mjs';

const creates = Number(process.env.KAPSTAN_BENCH_CREATES ?? 20_000);
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 5);
const concurrency = 64;
const value = Buffer.alloc(1_000, 'v');
const binary = process.env.KAPSTAN_ETCD;
const clockTicks = 100;

/** Returns the CPU time of another process in microseconds, as Linux reports it. */
function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1e6) / clockTicks;
}

async function measure(engine, run, pid) {
  globalThis.gc?.();
  const create = async (index) => {
    const key = `/registry/run-${run}/${String(index).padStart(8, '0')}`;
    const { succeeded } = await engine.commit({ key, expectedRevision: 0, change: { type: 'put', value } });
    if (!succeeded) throw new Error('a create was refused');
  };
  const other = pid === undefined ? 0 : cpuOf(pid);
  const cpu = process.cpuUsage();
  const begin = performance.now();
  await inParallel(creates, concurrency, create);
  const seconds = (performance.now() - begin) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  const otherCpuUs = pid === undefined ? 0 : (cpuOf(pid) - other) / creates;
  return { perSecond: creates / seconds, cpuUs: (user + system) / creates, otherCpuUs };
}

async function freePorts(count) {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

async function startEtcd() {
  const [client, peer] = (await freePorts(2)).map((port) => `http://127.0.0.1:${port}`);
  const args = [
    `--data-dir=${temporaryFolder()}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
  ];
  const peers = [
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
  ];
  const child = spawn(binary, [...args, ...peers], { stdio: 'ignore' });
  process.on('exit', () => child.kill('SIGKILL'));
  const engine = await openEtcdEngine({ endpoints: [client] });
  return { engine, child };
}

const lmdb = await openLmdbEngine({ dataDir: join(temporaryFolder(), 'store') });
const etcd = binary === undefined ? undefined : await startEtcd();
if (etcd === undefined) console.log('engine-commits: no etcd; set KAPSTAN_ETCD to its path to have both in one run');
const results = { lmdb: [], etcd: [] };
// The first run warms both up and does not count.
for (let run = 0; run <= runs; run += 1) {
  const ours = await measure(lmdb, run);
  const theirs = etcd === undefined ? undefined : await measure(etcd.engine, run, etcd.child.pid);
  if (run === 0) continue;
  results.lmdb.push(ours);
  if (theirs !== undefined) results.etcd.push(theirs);
}
await lmdb.close();
await etcd?.engine.close();
etcd?.child.kill('SIGKILL');

const bench = 'engine-commits';
const peerOf = (key) =>
  etcd === undefined
    ? {}
    : {
        peer: {
          name: 'etcd through grpc-js',
          value: Number(median(results.etcd.map((one) => one[key])).toPrecision(3)),
        },
      };
const tell = (what, unit, key) =>
  figure({ bench, what, unit, samples: results.lmdb.map((one) => one[key]), ...peerOf(key) });
tell('creates of 1 KB, 64 at a time', 'per s', 'perSecond');
tell('CPU of this process per create', 'µs', 'cpuUs');
if (etcd !== undefined) {
  figure({
    bench,
    what: "CPU of etcd's process per create",
    unit: 'µs',
    samples: results.etcd.map((one) => one.otherCpuUs),
  });
  const ratio = (key) => median(results.lmdb.map((one) => one[key])) / median(results.etcd.map((one) => one[key]));
  console.log(
    `engine-commits: ${ratio('perSecond').toFixed(1)} × the creates, ${ratio('cpuUs').toFixed(2)} × the CPU of Node`,
  );
}
