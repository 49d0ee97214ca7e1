// Measures the cost of an event for each of its watchers: 1, 100 and 1,000 watches of `kapstan serve` over HTTPS with
// updates of ConfigMaps at full speed (writes included, as in the recorded peer), and 10,000 watches in the same
// process, without HTTP.
import { startControlPlane } from '@kapstan/control-plane';
import { ConfigMap, Namespace } from '@kapstan/kinds/core/v1';
import { figure } from './parts/figures.mjs';
import { configMapBody, httpCaller, inParallel, namespaceBody } from './parts/http-caller.mjs';
import { startServer, temporaryFolder } from './parts/server-process.mjs';
import { openWatches } from './parts/watch-client.mjs';

const path = '/api/v1/namespaces/bench/configmaps';
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 3);
const name = (index) => `o${String(index % 100).padStart(6, '0')}`;
/** Measures `writes` updates by 16 writers, which all watchers receive. */
async function overHttp(watchers, writes) {
  const server = await startServer();
  const { call, close } = httpCaller(server, 16);
  await call('POST', '/api/v1/namespaces', namespaceBody);
  await inParallel(100, 16, (index) => call('POST', path, configMapBody(name(index), index)));
  const update = (index) => call('PUT', `${path}/${name(index)}`, configMapBody(name(index), 1_000 + index));
  await inParallel(1_000, 16, update);
  let delivered = 0;
  let allDelivered;
  const onEvents = (events) => {
    delivered += events;
    if (delivered >= watchers * writes) allDelivered?.();
  };
  const watch = { path: `${path}?watch=true`, count: watchers, protocol: 'h1', onEvents };
  const endWatches = await openWatches(server, watch);
  // A watch without a version first gets the existing objects as ADDED; those are not counted.
  const before = await server.measure();
  const begin = performance.now();
  const done = new Promise((resolve) => {
    allDelivered = resolve;
  });
  await inParallel(writes, 16, (index) => update(1_000 + index));
  await done;
  const seconds = (performance.now() - begin) / 1_000;
  const after = await server.measure();
  endWatches();
  close();
  await server.close();
  return { cpuUs: (after.cpuUs - before.cpuUs) / delivered, perSecond: delivered / seconds, stallMs: after.stallMs };
}

async function inProcess(watchers, writes) {
  const controlPlane = await startControlPlane({ dataDir: temporaryFolder(), http: 'off' });
  const { client } = controlPlane;
  await client.create(Namespace, { metadata: { name: 'bench' } });
  for (let index = 0; index < 100; index += 1)
    await client.create(ConfigMap, JSON.parse(configMapBody(name(index), index)));
  let generation = 1_000;
  const write = (count) =>
    inParallel(count, 16, (index) => client.update(ConfigMap, JSON.parse(configMapBody(name(index), generation++))));
  const cost = async (work) => {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  await write(2_000);
  const writesAlone = await cost(() => write(writes));
  const listerWatcher = client.listerWatcher(ConfigMap, { namespace: 'bench' });
  const { resourceVersion } = await listerWatcher.list({});
  let delivered = 0;
  let allDelivered;
  let expected = watchers * 16;
  const next = () => {
    delivered += 1;
    if (delivered === expected) allDelivered?.();
  };
  const error = (reason) => {
    throw reason;
  };
  const subscriptions = Array.from({ length: watchers }, () =>
    listerWatcher.watch({ resourceVersion }).subscribe({ next, error }),
  );
  const writeAndWait = async (count) => {
    const done = new Promise((resolve) => {
      allDelivered = resolve;
    });
    await write(count);
    await done;
  };
  await writeAndWait(16);
  expected += watchers * writes;
  const cpuUs = await cost(() => writeAndWait(writes));
  for (const subscription of subscriptions) subscription.unsubscribe();
  await controlPlane.close();
  return (cpuUs - writesAlone) / (watchers * writes);
}

const bench = 'dispatch';
const httpCases = [
  { watchers: 1, writes: 4_000, peer: 1361 },
  { watchers: 100, writes: 2_000, peer: 19.2 },
  { watchers: 1_000, writes: 400, peer: 8.7 },
];
for (const { watchers, writes, peer } of httpCases) {
  const results = [];
  for (let run = 0; run < runs; run += 1) results.push(await overHttp(watchers, writes));
  const of = (key) => results.map((one) => one[key]);
  const beside = { name: 'kube-apiserver + etcd', value: peer, recorded: true };
  const what = `CPU per delivered event, ${watchers} watches over HTTPS, writes included`;
  figure({ bench, what, unit: 'us', samples: of('cpuUs'), peer: beside });
  figure({ bench, what: `delivered, ${watchers} watches over HTTPS`, unit: 'events/s', samples: of('perSecond') });
  figure({ bench, what: `longest stall, ${watchers} watches over HTTPS`, unit: 'ms', samples: of('stallMs') });
}
const samples = [];
for (let run = 0; run < runs; run += 1) samples.push(await inProcess(10_000, 1_000));
figure({ bench, what: 'CPU per delivered event, 10000 watches in process, writes not included', unit: 'us', samples });
