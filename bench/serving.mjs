// Measures the cost of `kapstan serve` and of kube-apiserver + etcd for each kind of work, over HTTPS: creates 64 at a time, GETs, lists of
// 20,000 pods in several forms, watches by the hundred, and the memory that 20,000 pods and 20,000 ConfigMaps take. During each measurement
// another process GETs a small object 50 times a second.
//   npm run bench serving          KAPSTAN_KUBE_APISERVER=path KAPSTAN_ETCD=path: the same work on the peer, in the same run
import { setTimeout as sleep } from 'node:timers/promises';
import { figure, median } from './parts/figures.mjs';
import { configMapBody, httpCaller, inParallel, namespaceBody, podBody } from './parts/http-caller.mjs';
import { hasPeer, startPeer } from './parts/peer-server.mjs';
import { startProber } from './parts/prober.mjs';
import { startBareServer, startServer } from './parts/server-process.mjs';
import { openWatches } from './parts/watch-client.mjs';

const objects = Number(process.env.KAPSTAN_BENCH_OBJECTS ?? 20_000);
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 1);
/** KAPSTAN_BENCH_BARE=1 also measures the lower bound, a bare node:https server on LMDB (parts/bare-server.mjs). */
const isBareWanted = process.env.KAPSTAN_BENCH_BARE === '1';
const only = (process.env.KAPSTAN_BENCH_ONLY ?? '').split(',').filter((key) => key !== '');
/** A list is repeated for this long, so that many GETs run at the same time. */
const listMs = 3_000;
const warmUp = 1_000;
const namespace = '/api/v1/namespaces/bench';
const bodies = { pods: podBody, configmaps: configMapBody };
const name = (index) => `o${String(index).padStart(6, '0')}`;
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

/**
 * A work has `prepare`, which is not measured and may return a state for `work`; `work`, which returns how many units
 * it did; and `cleanUp`.
 */
const create = (kind) => {
  const post = ({ call }, index) => call('POST', `${namespace}/${kind}`, bodies[kind](name(index), index));
  return {
    prepare: (caller) => inParallel(warmUp, 64, (index) => post(caller, index)),
    work: async (caller) => {
      await inParallel(objects - warmUp, 64, (index) => post(caller, warmUp + index));
      return objects - warmUp;
    },
  };
};

const get = {
  work: async ({ call }) => {
    const gets = 10_000;
    await inParallel(gets, 16, (index) => call('GET', `${namespace}/pods/${name((index * 7) % objects)}`));
    return gets;
  },
};

const list = (query, accept) => {
  const once = ({ call }) => call('GET', `${namespace}/pods?${query}`, undefined, accept);
  return {
    prepare: once,
    work: async (caller) => {
      const begin = performance.now();
      let lists = 0;
      for (; performance.now() - begin < listMs; lists += 1) await once(caller);
      return lists;
    },
  };
};

const watch = (count, protocol, writes) => {
  const update = ({ call }, index) =>
    call('PUT', `${namespace}/configmaps/${name(index % 100)}`, configMapBody(name(index % 100), objects + index));
  return {
    prepare: async (caller, server) => {
      await inParallel(warmUp, 16, (index) => update(caller, index));
      const { metadata } = JSON.parse(await caller.read(`${namespace}/configmaps?limit=1`));
      const path = `${namespace}/configmaps?watch=true&resourceVersion=${metadata.resourceVersion}`;
      const expected = count * writes;
      let delivered = 0;
      let allDelivered;
      const done = new Promise((resolve) => {
        allDelivered = resolve;
      });
      const onEvents = (events) => {
        delivered += events;
        if (delivered >= expected) allDelivered();
      };
      return { done, expected, end: await openWatches(server, { path, count, protocol, onEvents }) };
    },
    work: async (caller, { done, expected }) => {
      await inParallel(writes, 16, (index) => update(caller, warmUp + index));
      await done;
      return expected;
    },
    cleanUp: ({ end }) => end(),
  };
};

/** `recorded` is the CPU of kube-apiserver + etcd in the unit, `share` the fraction of it that our server may use. */
const works = {
  createPod: { what: 'create of a Pod, 64 at a time', unit: 'ms', recorded: 1.4, share: 1 / 2, ...create('pods') },
  createConfigMap: {
    ...{ what: 'create of a ConfigMap, 64 at a time', unit: 'ms', recorded: 0.85, share: 1 / 2 },
    ...create('configmaps'),
  },
  get: { what: 'GET of a pod, 16 at a time', unit: 'ms', recorded: 0.5, share: 1 / 4, ...get },
  list: { what: `LIST of ${objects} pods`, unit: 'ms', recorded: 690, share: 1 / 6, ...list('resourceVersion=0') },
  table: { what: 'the same as a Table', unit: 'ms', share: 1, ...list('resourceVersion=0', table) },
  label: {
    ...{ what: 'LIST of 1 % of the pods by label', unit: 'ms', recorded: 27, share: 1 },
    ...list('resourceVersion=0&labelSelector=one-in-100%3Dc7'),
  },
  field: {
    ...{ what: 'LIST of 1 % of the pods by node', unit: 'ms', share: 1 },
    ...list('resourceVersion=0&fieldSelector=spec.nodeName%3Dnode-7'),
  },
  h1few: {
    ...{ what: 'event delivered, 100 watches over HTTP/1.1', unit: 'us', recorded: 19.2, share: 1 / 2 },
    ...watch(100, 'h1', 3_000),
  },
  h1many: {
    ...{ what: 'event delivered, 1,000 watches over HTTP/1.1', unit: 'us', recorded: 8.7, share: 1 },
    ...watch(1_000, 'h1', 800),
  },
  h2many: {
    ...{ what: 'event delivered, 1,000 watches over HTTP/2', unit: 'us', recorded: 10.6, share: 1 / 2 },
    ...watch(1_000, 'h2', 800),
  },
};
const perUnit = { ms: 1e3, us: 1 };
const isWanted = (key) => only.length === 0 || only.includes(key) || key.startsWith('create');

async function measure(server, { caller, prober }, { prepare, work, cleanUp, unit }) {
  const state = await prepare?.(caller, server);
  let units = 0;
  let seconds = 0;
  const before = await server.measure();
  const { p99Ms } = await prober.beside(async () => {
    const begin = performance.now();
    units = await work(caller, state);
    seconds = (performance.now() - begin) / 1_000;
  });
  const { cpuUs, stallMs, turnMs } = await server.measure();
  cleanUp?.(state);
  return { cpu: (cpuUs - before.cpuUs) / units / perUnit[unit], rate: units / seconds, p99Ms, stallMs, turnMs };
}

async function measureAll(server, keys = Object.keys(works).filter(isWanted)) {
  const caller = httpCaller(server, 64);
  await caller.call('POST', '/api/v1/namespaces', namespaceBody);
  const prober = await startProber(server, namespace);
  const results = {};
  for (const key of keys) {
    results[key] = await measure(server, { caller, prober }, works[key]);
    if (key !== 'createConfigMap') continue;
    await sleep(5_000);
    results.rssMb = (await server.measure()).rssMb;
  }
  prober.close();
  caller.close();
  await server.close();
  return results;
}

/** Works that a server which only carries the bytes can do. */
const bareKeys = ['createPod', 'createConfigMap', 'get', 'h1few'].filter(isWanted);
const ours = [];
const peers = [];
const bare = [];
for (let run = 0; run < runs; run += 1) {
  const server = await startServer({ flags: ['--disable-admission-plugins=ServiceAccount'] });
  ours.push(await measureAll(server));
  if (hasPeer) peers.push(await measureAll(await startPeer()));
  if (isBareWanted) bare.push(await measureAll(await startBareServer(server), bareKeys));
}

const bench = 'serving';
const peerName = 'kube-apiserver + etcd';
/** Returns the peer's figure of this run, or else the recorded one, or else nothing. */
function peerOf(of, recorded) {
  if (hasPeer) return { name: peerName, value: median(peers.map(of)) };
  return recorded === undefined ? undefined : { name: peerName, value: recorded, recorded: true };
}
function tellBound(key) {
  const { what, unit, recorded } = works[key];
  const peer = peerOf((one) => one[key].cpu, recorded);
  figure({
    bench,
    what: `the bound, a bare server: CPU per ${what}`,
    unit,
    samples: bare.map((one) => one[key].cpu),
    peer,
  });
}
function tell({ what, unit, of, recorded, share, target }) {
  const peer = peerOf(of, recorded);
  const atMost = peer === undefined || share === undefined ? undefined : peer.value * share;
  const why = `${Number((share ?? 1).toPrecision(2))} of the peer`;
  figure({
    ...{ bench, what, unit, samples: ours.map(of), ...(peer === undefined ? {} : { peer }) },
    ...(atMost === undefined ? {} : { target: { atMost, why } }),
    ...(target === undefined ? {} : { target }),
  });
}
for (const [key, { what, unit, recorded, share }] of Object.entries(works).filter(([key]) => isWanted(key))) {
  tell({ what: `CPU per ${what}`, unit, of: (one) => one[key].cpu, recorded, share });
  tell({ what: `rate of ${what}`, unit: 'per s', of: (one) => one[key].rate });
  const waits = { what: `p99 of a GET beside: ${what}`, unit: 'ms', target: { atMost: 60 } };
  tell({ ...waits, of: (one) => one[key].p99Ms });
  const stalls = { samples: ours.map((one) => one[key].stallMs), unit: 'ms', target: { atMost: 50 } };
  figure({ bench, what: `longest stall: ${what}`, ...stalls });
  const turns = { samples: ours.map((one) => one[key].turnMs), unit: 'ms', target: { atMost: 50 } };
  figure({ bench, what: `most CPU in a turn: ${what}`, ...turns });
}
tell({
  ...{ what: `RSS with ${objects} pods and ${objects} ConfigMaps`, unit: 'MB', of: (one) => one.rssMb },
  ...{ recorded: 1_139, share: 1 / 2 },
});
if (isBareWanted) for (const key of bareKeys) tellBound(key);
