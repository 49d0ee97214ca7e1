// Measures what many CustomResourceDefinitions of 50 KB cost: memory of each, CPU of one more, the start on a store that holds them, and
// the longest turn, including the time while the documents of discovery and OpenAPI are made. With KAPSTAN_KUBE_APISERVER and KAPSTAN_ETCD
// the peer's memory and CPU are measured in the same run.
//   KAPSTAN_BENCH_DEFINITIONS=1000 KAPSTAN_BENCH_PEER_DEFINITIONS=100 npm run bench definitions
import { definitionBody } from './parts/definition-body.mjs';
import { figure, median } from './parts/figures.mjs';
import { httpCaller, inParallel } from './parts/http-caller.mjs';
import { hasPeer, startPeer } from './parts/peer-server.mjs';
import { startServer, temporaryFolder } from './parts/server-process.mjs';

const count = Number(process.env.KAPSTAN_BENCH_DEFINITIONS ?? 1_000);
/** Only a few, because each takes about 13 MB of the peer's memory. */
const peerCount = Number(process.env.KAPSTAN_BENCH_PEER_DEFINITIONS ?? 100);
const bytes = 50_000;
/** Number of custom resources to create: first until the code is compiled, then to measure one create. */
const objects = 1_500;
/** Further definitions are created in rounds, because a collection of an idle server's garbage costs as much as some of them. */
const [rounds, perRound] = [5, 10];
const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const swaggerProtobuf = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
const openApiProtobuf = 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf';
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until the server has been idle for a while, because collectors and committers work on after the last answer. */
async function settled(server) {
  let last = await server.measure();
  let turnMs = last.turnMs;
  for (let calm = 0; calm < 3; ) {
    await sleep(500);
    const now = await server.measure();
    turnMs = Math.max(turnMs, now.turnMs ?? 0);
    calm = now.cpuUs - last.cpuUs < 50_000 ? calm + 1 : 0;
    last = now;
  }
  return { ...last, turnMs };
}

async function isServed(caller, index) {
  const { metadata } = definitionBody(index, { bytes: 1 });
  const [plural, ...group] = metadata.name.split('.');
  return caller.call('GET', `/apis/${group.join('.')}/v1/${plural}`).then(
    () => true,
    () => false,
  );
}

async function createAll(caller, from, to) {
  await inParallel(to - from, 4, (at) =>
    caller.call('POST', path, JSON.stringify(definitionBody(from + at, { bytes }))),
  );
  while (!(await isServed(caller, to - 1))) await sleep(20);
}

/** Returns memory per definition, and CPU per further one. */
async function fill(server, total) {
  const caller = httpCaller(server, 4);
  const before = await settled(server);
  await createAll(caller, 0, total);
  const filled = await settled(server);
  const nextMs = [];
  for (let round = 0, before = filled; round < rounds; round++) {
    const from = total + round * perRound;
    await createAll(caller, from, from + perRound);
    const after = await settled(server);
    nextMs.push((after.cpuUs - before.cpuUs) / 1_000 / perRound);
    before = after;
  }
  caller.close();
  return {
    rssMb: (filled.rssMb - before.rssMb) / total,
    fillMs: (filled.cpuUs - before.cpuUs) / 1_000 / total,
    nextMs,
    turnMs: filled.turnMs,
  };
}

/** Returns a schema whose objects are checked by `rules` rules each. */
function withRules(schema, rules) {
  const section = schema.properties.spec.properties.section0;
  section['x-kubernetes-validations'] = Array.from({ length: rules }, (_, index) => ({
    rule: `self.field0 + ${index} > 0 && (!has(self.field3) || self.field3 in ['Always', 'Never'])`,
    message: `rule ${index}`,
  }));
  return schema;
}

/** Returns the CPU per created object, in ms, for a definition with `rules` rules. */
async function createObjects(server, { index, rules }) {
  const caller = httpCaller(server, 4);
  const definition = definitionBody(index, { bytes: 2_000, change: (schema) => withRules(schema, rules) });
  await caller.call('POST', path, JSON.stringify(definition));
  while (!(await isServed(caller, index))) await sleep(20);
  const { group, names } = definition.spec;
  const create = (name) => {
    const spec = { section0: { field0: 5, field3: 'Always' } };
    const body = { apiVersion: `${group}/v1`, kind: names.kind, metadata: { name }, spec };
    const where = `/apis/${group}/v1/namespaces/default/${names.plural}`;
    return caller.call('POST', where, JSON.stringify(body));
  };
  await inParallel(objects, 4, (at) => create(`warm-${at}`));
  const before = await settled(server);
  await inParallel(objects, 4, (at) => create(`object-${at}`));
  const after = await server.measure();
  caller.close();
  return (after.cpuUs - before.cpuUs) / 1_000 / objects;
}

/** Returns the CPU of a create without rules, and with twenty. */
async function measureRules(server, first) {
  const none = await createObjects(server, { index: first, rules: 0 });
  const twenty = await createObjects(server, { index: first + 1, rules: 20 });
  return { none, twenty };
}

const documents = [
  ['/openapi/v2', '/openapi/v2', 'application/json'],
  ['/openapi/v2 as protobuf', '/openapi/v2', swaggerProtobuf],
  ['/openapi/v3', '/openapi/v3', 'application/json'],
  ['/openapi/v3 of a group', '/openapi/v3/apis/g0.example.com/v1', 'application/json'],
  ['/openapi/v3 of a group as protobuf', '/openapi/v3/apis/g1.example.com/v1', openApiProtobuf],
  ['discovery of a group', '/apis/g0.example.com/v1', 'application/json'],
  ['aggregated discovery', '/apis', aggregated],
];

async function measureDocuments(server) {
  const caller = httpCaller(server, 1);
  for (const [name, where, accept] of documents) {
    const before = await server.measure();
    const size = await caller.call('GET', where, undefined, accept);
    const { turnMs, cpuUs } = await server.measure();
    const what = `${count} definitions, ${name}`;
    figure({
      bench: 'definitions',
      what: `${what}: longest turn`,
      unit: 'ms',
      samples: [turnMs],
      target: { atMost: 50 },
    });
    figure({ bench: 'definitions', what: `${what}: CPU`, unit: 'ms', samples: [(cpuUs - before.cpuUs) / 1_000] });
    figure({ bench: 'definitions', what: `${what}: size`, unit: 'MB', samples: [size / 1e6] });
  }
  caller.close();
}

const dataDir = temporaryFolder();
let server = await startServer({ dataDir });
// The longest turn of a start with no definitions, which loads the scripts.
const { turnMs: loadingMs } = await server.measure();
const ours = await fill(server, count);
await measureDocuments(server);
Object.assign(ours, await measureRules(server, 100_000));
await server.close();

let peer;
if (hasPeer) {
  const rival = await startPeer();
  peer = await fill(rival, peerCount);
  Object.assign(peer, await measureRules(rival, 100_000));
  await rival.close();
}
const beside = (key) =>
  peer === undefined
    ? {}
    : { peer: { name: `kube-apiserver + etcd, ${peerCount} definitions`, value: median([peer[key]].flat()) } };
const row = (what, unit, key, target) =>
  figure({ bench: 'definitions', what, unit, samples: [ours[key]].flat(), ...beside(key), ...(target && { target }) });
row(`memory of each of ${count} definitions of 50 KB`, 'MB', 'rssMb', { atMost: 1 });
row('CPU to create one of them', 'ms', 'fillMs');
row('CPU to create one more', 'ms', 'nextMs', { atMost: 60 });
row('CPU to create a custom resource without rules', 'ms', 'none');
row(
  'CPU to create a custom resource with 20 rules',
  'ms',
  'twenty',
  peer && { atMost: peer.twenty, why: 'as the peer' },
);
figure({
  bench: 'definitions',
  what: 'longest turn while they are created',
  unit: 'ms',
  samples: [ours.turnMs],
  target: { atMost: 50 },
});

server = await startServer({ dataDir });
const ready = server.secondsToReady;
const caller = httpCaller(server, 1);
const began = performance.now();
while (!(await isServed(caller, count - 1))) await sleep(20);
const late = (performance.now() - began) / 1_000;
caller.close();
const { cpuUs, turnMs } = await server.measure();
const { rssMb } = await settled(server);
await server.close();
const start = `start on a store with ${count} definitions`;
figure({
  bench: 'definitions',
  what: `${start}: until all are served`,
  unit: 's',
  samples: [ready + late],
  target: { atMost: 15 },
});
figure({ bench: 'definitions', what: `${start}: CPU`, unit: 's', samples: [cpuUs / 1e6] });
figure({
  bench: 'definitions',
  what: `${start}: longest turn (${Math.round(loadingMs)} ms load the scripts)`,
  unit: 'ms',
  samples: [turnMs],
  target: { atMost: Math.max(50, loadingMs * 1.5) },
});
figure({ bench: 'definitions', what: `${start}: memory`, unit: 'MB', samples: [rssMb] });
