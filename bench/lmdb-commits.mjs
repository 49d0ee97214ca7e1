// Measures creates in the embedded engine at concurrency 64: creates/s, transactions (each one fsync)/s, CPU per
// create, loop delay. For comparison it measures the same bytes as bare LMDB puts, 64 per transaction, through the same
// npm lmdb. Then it measures reads: a range of all keys, now and at an old revision, with the longest block of the
// event loop.
//   npm run bench lmdb-commits            KAPSTAN_BENCH_CREATES=100000 for a longer run
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { openLmdbEngine } from '@kapstan/storage-lmdb';

const creates = Number(process.env.KAPSTAN_BENCH_CREATES ?? 50_000);
const concurrency = 64;
const value = Buffer.alloc(1_000, 'v');
const keyOf = (index) => `/registry/pods/default/pod-${String(index).padStart(8, '0')}`;
const folder = mkdtempSync(join(tmpdir(), 'kapstan-bench-'));
const round = (number, digits = 0) => Number(number.toFixed(digits));

/** Runs the work. Resolves to seconds, CPU milliseconds (all threads) and the longest delay of the event loop. */
async function measure(work) {
  globalThis.gc?.();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const cpu = process.cpuUsage();
  const begin = performance.now();
  await work();
  const seconds = (performance.now() - begin) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  delay.disable();
  return { seconds, cpuMs: (user + system) / 1_000, maxDelayMs: round(delay.max / 1e6, 1) };
}

async function floor() {
  const require = createRequire(new URL('../packages/storage-lmdb/package.json', import.meta.url));
  const { open } = require('lmdb');
  const options = { encoding: 'binary', keyEncoding: 'binary' };
  const root = open(join(folder, 'floor'), { ...options, noSubdir: false, overlappingSync: false, maxDbs: 4 });
  const log = root.openDB('log', options);
  const current = root.openDB('current', options);
  let next = 0;
  const cost = await measure(async () => {
    while (next < creates) {
      await root.batch(() => {
        for (let index = 0; index < concurrency; index += 1) {
          next += 1;
          const revision = Buffer.alloc(8);
          revision.writeUInt32BE(next, 4);
          void log.put(revision, value);
          void current.put(Buffer.from(keyOf(next)), revision);
        }
      });
    }
  });
  await root.close();
  return {
    perSecond: round(next / cost.seconds),
    cpuMsPerCreate: round(cost.cpuMs / next, 4),
    maxDelayMs: cost.maxDelayMs,
  };
}

const engine = await openLmdbEngine({ dataDir: join(folder, 'engine') });
let next = 0;
const writer = async () => {
  while (next < creates) {
    next += 1;
    const result = await engine.commit({ key: keyOf(next), expectedRevision: 0, change: { type: 'put', value } });
    if (!result.succeeded) throw new Error('a create was refused');
  }
};
const cost = await measure(() => Promise.all(Array.from({ length: concurrency }, writer)));
const { transactions, revision } = await engine.stats();

const all = { start: '/registry/', end: '/registry0' };
const readNow = await measure(() => engine.range(all));
await engine.commit({ key: '/other', expectedRevision: 0, change: { type: 'put', value } });
const readPast = await measure(() => engine.range(all, { revision }));
const page = await measure(() => engine.range(all, { limit: 500 }));
await engine.close();

const bare = await floor();
rmSync(folder, { recursive: true });

const perSecond = round(next / cost.seconds);
const result = {
  machine: `${cpus().length} x ${cpus()[0]?.model}, Node ${process.versions.node}`,
  creates: next,
  concurrency,
  valueBytes: value.length,
  createsPerSecond: perSecond,
  transactionsPerSecond: round(transactions / cost.seconds),
  cpuMsPerCreate: round(cost.cpuMs / next, 4),
  maxDelayMs: cost.maxDelayMs,
  floor: bare,
  ratioToFloor: round(perSecond / bare.perSecond, 2),
  rangeNow: { ms: round(readNow.seconds * 1_000), maxDelayMs: readNow.maxDelayMs },
  rangePast: { ms: round(readPast.seconds * 1_000), maxDelayMs: readPast.maxDelayMs },
  firstPageOf500: { ms: round(page.seconds * 1_000, 1), maxDelayMs: page.maxDelayMs },
};
console.log(JSON.stringify(result, null, 2));
console.log(
  `lmdb-commits: ${perSecond} creates/s (${result.ratioToFloor} of bare LMDB), ${result.transactionsPerSecond} fsyncs/s, ` +
    `${result.cpuMsPerCreate} CPU ms a create, ${next} keys read in ${result.rangeNow.ms} ms`,
);
