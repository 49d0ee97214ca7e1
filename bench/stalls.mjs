// Measures the longest stall of the event loop during long work of the embedded engine: ranges and lists of 20,000
// pods, now and at an old revision, a watch that replays 100,000 changes, and a compaction of them while 64 writers
// continue. For comparison the same writers also run alone. Each has two figures: the stall itself, and the CPU of the
// longest turn, which an otherwise idle machine would see.
//   npm run bench stalls
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { everyField, everyLabel } from '@kapstan/api';
import { defaultAttributes, jsonCodec, ObjectStore } from '@kapstan/storage';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { figure } from './parts/figures.mjs';
import { inParallel } from './parts/http-caller.mjs';
import { pod } from './parts/pod.mjs';
import { measureTurns } from './parts/turns.mjs';

const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 5);
const objects = Number(process.env.KAPSTAN_BENCH_OBJECTS ?? 20_000);
/** Rewrites of each object, which leave rows to compact. */
const rewrites = 5;
const writers = 64;
const pods = { start: '/registry/pods/', end: '/registry/pods0' };
const keyOf = (index) => `/registry/pods/default/pod-${String(index).padStart(6, '0')}`;
const values = Array.from({ length: 100 }, (_, index) => Buffer.from(`${JSON.stringify(pod(index))}\n`));

const folder = mkdtempSync(join(tmpdir(), 'kapstan-bench-'));
const engine = await openLmdbEngine({ dataDir: join(folder, 'data') });
const revisions = new Map();
const samples = new Map();

function note(what, value) {
  samples.set(what, [...(samples.get(what) ?? []), value]);
}

async function put(key, value) {
  const expectedRevision = revisions.get(key) ?? 0;
  const { succeeded, revision } = await engine.commit({ key, expectedRevision, change: { type: 'put', value } });
  if (!succeeded) throw new Error(`a write of ${key} was refused`);
  revisions.set(key, revision);
}

const rewriteAll = () => inParallel(objects, 1_000, (index) => put(keyOf(index), values[index % values.length]));

const groupResource = { group: '', resource: 'pods' };
const store = new ObjectStore({ engine, codec: jsonCodec(), resourcePrefix: '/pods', groupResource });
const predicate = { labels: everyLabel, fields: everyField, getAttributes: defaultAttributes, limit: 0, continue: '' };
const inPods = { predicate, recursive: true };

async function list(resourceVersion) {
  const match = resourceVersion === '' ? {} : { resourceVersion, resourceVersionMatch: 'Exact' };
  const { items } = await store.getList('/registry/pods/', { ...inPods, ...match });
  if (items.length !== objects) throw new Error(`the list has ${items.length} pods`);
}

function replay(resourceVersion, changes) {
  return new Promise((resolve, reject) => {
    let left = changes;
    const onEvent = () => {
      left -= 1;
      if (left > 0) return;
      watch.close();
      resolve();
    };
    const watch = store.watch('/registry/pods/', { ...inPods, resourceVersion }, { onEvent, onEnd: reject });
  });
}

/**
 * Runs the writers, each with its own key, until the work is done. Resolves to the longest wait of a write, the writes
 * per second and the stalls.
 */
async function writersBeside(work) {
  let isDone = false;
  let longestMs = 0;
  let count = 0;
  const writer = async (_, index) => {
    while (!isDone) {
      const begin = performance.now();
      await put(`/registry/other/${index}`, values[0]);
      longestMs = Math.max(longestMs, performance.now() - begin);
      count += 1;
    }
  };
  const { stallMs, turnMs, tookMs } = await measureTurns(async () => {
    const writing = Promise.all(Array.from({ length: writers }, writer));
    await work();
    isDone = true;
    await writing;
  });
  return { stallMs, turnMs, tookMs, longestMs, perSecond: count / (tookMs / 1_000) };
}

function noteWriters(name, { stallMs, turnMs, longestMs, perSecond }) {
  note(`longest stall, ${name}|ms`, stallMs);
  note(`most CPU in a turn, ${name}|ms`, turnMs);
  note(`longest wait of a writer, ${name}|ms`, longestMs);
  note(`writes, ${name}|per s`, perSecond);
}

await rewriteAll();
for (let run = 0; run < runs; run += 1) {
  const past = await engine.currentRevision();
  for (let rewrite = 0; rewrite < rewrites; rewrite += 1) await rewriteAll();
  const works = {
    'a range': () => engine.range(pods),
    'a range at an old revision': () => engine.range(pods, { revision: past }),
    'a list': () => list(''),
    'a list at an old revision': () => list(String(past)),
    'a watch from an old revision': () => replay(String(past), objects * rewrites),
  };
  for (const [name, work] of Object.entries(works)) {
    const { stallMs, turnMs } = await measureTurns(work);
    note(`longest stall, ${name}|ms`, stallMs);
    note(`most CPU in a turn, ${name}|ms`, turnMs);
  }
  const rows = objects * rewrites;
  const newest = await engine.currentRevision();
  const compacting = await writersBeside(() => engine.compact(newest));
  noteWriters(`compaction of ${rows} rows with ${writers} writers`, compacting);
  note(`compaction of ${rows} rows|ms`, compacting.tookMs);
  const alone = await writersBeside(() => new Promise((resolve) => setTimeout(resolve, 1_500)));
  noteWriters(`${writers} writers alone`, alone);
}
await engine.close();
rmSync(folder, { recursive: true });

console.log(`load average of the last minute: ${loadavg()[0].toFixed(1)}`);
for (const [name, measured] of samples) {
  const [what, unit] = name.split('|');
  figure({ bench: 'stalls', what, unit, samples: measured });
}
