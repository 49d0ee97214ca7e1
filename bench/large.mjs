// Starts a server on a store of many objects: 100,000 ConfigMaps of 1 KB, or 100,000 pods of 2.3 KB. Measures the time
// from the start of its process until it is ready, and until it has answered a LIST of everything, and the memory at
// both times. The engine alone fills the store, with the data that the server would have written.
//   npm run bench large            KAPSTAN_BENCH_OBJECTS=20000 for a shorter run
import { join } from 'node:path';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { figure } from './parts/figures.mjs';
import { configMapBody, httpCaller, inParallel } from './parts/http-caller.mjs';
import { pod } from './parts/pod.mjs';
import { startServer, temporaryFolder } from './parts/server-process.mjs';

const objects = Number(process.env.KAPSTAN_BENCH_OBJECTS ?? 100_000);
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 3);
const peer = { name: 'kube-apiserver', recorded: true };

const kinds = {
  configmaps: {
    bytesOf: (index) => Buffer.from(configMapBody(`o${index}`, index)),
    nameOf: (index) => `bench/o${index}`,
  },
  pods: {
    bytesOf: (index) => {
      const { metadata, ...rest } = pod(index);
      const { resourceVersion: _, ...kept } = metadata;
      return Buffer.from(JSON.stringify({ kind: 'Pod', apiVersion: 'v1', metadata: kept, ...rest }));
    },
    nameOf: (index) => `ns-${index % 50}/pod-${String(index).padStart(6, '0')}`,
    peers: { rssMb: 3_200 },
  },
};

async function fill(dataDir, resource, { bytesOf, nameOf }) {
  const engine = await openLmdbEngine({ dataDir: join(dataDir, 'store') });
  await inParallel(objects, 256, async (index) => {
    const key = `/registry/${resource}/${nameOf(index)}`;
    await engine.commit({ key, expectedRevision: 0, change: { type: 'put', value: bytesOf(index) } });
  });
  await engine.close();
}

async function startOn(dataDir, resource) {
  const server = await startServer({ dataDir });
  const ready = await server.measure();
  const { call, close } = httpCaller(server, 1);
  const begin = performance.now();
  const bytes = await call('GET', `/api/v1/${resource}?resourceVersion=0`);
  const listSeconds = (performance.now() - begin) / 1_000;
  const listed = await server.measure();
  close();
  await server.close();
  return { seconds: server.secondsToReady, ready, listed, bytes, listSeconds };
}

for (const [resource, kind] of Object.entries(kinds)) {
  const dataDir = temporaryFolder();
  await fill(dataDir, resource, kind);
  const starts = [];
  for (let run = 0; run < runs; run += 1) starts.push(await startOn(dataDir, resource));
  const bench = 'large';
  const tell = (what, unit, of, peerValue) =>
    figure({
      ...{ bench, what: `${objects} ${resource}: ${what}`, unit, samples: starts.map(of) },
      ...(peerValue === undefined ? {} : { peer: { ...peer, value: peerValue } }),
    });
  tell('start to ready', 's', (one) => one.seconds);
  tell('CPU until ready', 's', (one) => one.ready.cpuUs / 1e6);
  tell('longest stall until ready', 'ms', (one) => one.ready.stallMs);
  tell('RSS when ready', 'MB', (one) => one.ready.rssMb);
  tell(`first LIST (${(starts[0].bytes / 1e6).toFixed(0)} MB)`, 's', (one) => one.listSeconds);
  tell('longest stall in the first LIST', 'ms', (one) => one.listed.stallMs);
  tell('RSS after the first LIST', 'MB', (one) => one.listed.rssMb, kind.peers?.rssMb);
}
