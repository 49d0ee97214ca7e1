// Informers in the server's own process, straight on its watch cache: CPU per event and informer, from what updates cost with and
// without them. No bytes, no sockets: what is left is the watch cache's delivery and the informer.
import { SharedInformerFactory } from '@kapstan/informers';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { testCluster } from '@kapstan/testing';
import { figure } from './parts/figures.mjs';

// Many, so that what the writes cost, which moves with the machine, is the smaller part.
const informers = 500;
const updates = Number(process.env.KAPSTAN_BENCH_EVENTS ?? 600);
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 5);
const objects = 50;

const body = (index, generation) => ({
  metadata: { name: `c-${index}`, namespace: 'default', labels: { app: `app-${index % 10}` } },
  data: { gen: String(generation), payload: '0123456789abcdef'.repeat(32) },
});

async function cpuUsOfUpdates(client, awaited) {
  globalThis.gc();
  const before = process.cpuUsage();
  for (let done = 0; done < updates; done += 50)
    await Promise.all(
      Array.from({ length: 50 }, (_, index) => client.update(ConfigMap, body((done + index) % objects, done + index))),
    );
  await awaited();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

async function withInformers(client) {
  let events = 0;
  let told = () => undefined;
  const factory = () => new SharedInformerFactory(client);
  const all = Array.from({ length: informers }, () => factory().informer(ConfigMap));
  for (const informer of all) {
    informer.addEventHandler({
      onUpdate: () => {
        events += 1;
        if (events === updates * informers) told();
      },
    });
    informer.start();
  }
  await Promise.all(all.map((informer) => informer.whenSynced()));
  const cpuUs = await cpuUsOfUpdates(client, async () => {
    if (events < updates * informers) await new Promise((resolve) => (told = resolve));
  });
  await Promise.all(all.map((informer) => informer.close()));
  return cpuUs;
}

const cluster = await testCluster({ http: 'off', clock: 'real' });
const { client } = cluster;
for (let index = 0; index < objects; index += 1) await client.create(ConfigMap, body(index, 0));
const samples = [];
await cpuUsOfUpdates(client, async () => undefined);
await withInformers(client);
for (let run = 0; run < runs; run += 1) {
  const bare = await cpuUsOfUpdates(client, async () => undefined);
  samples.push(((await withInformers(client)) - bare) / (updates * informers));
}
await cluster.close();
const what = `CPU per event, ${informers} informers in process`;
const peers = [{ name: 'client-node over HTTP', value: 18.5, recorded: true }];
figure({ bench: 'sdk-in-process', what, unit: 'us', samples, peers, target: { atMost: 5 } });
