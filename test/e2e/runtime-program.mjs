// A controller with informer, own writes, events, leader election, metrics and webhooks, written so that Node, Bun and Deno run it.
// It is started by runtimes.test.ts with the path of a kubeconfig and the name of an object, and prints one line of JSON.
import { connect } from '@kapstan/client';
import { controller, Manager } from '@kapstan/controller';
import { SharedInformerFactory } from '@kapstan/informers';
import { ConfigMap, Secret } from '@kapstan/kinds/core/v1';

const [kubeconfig, name] = process.argv.slice(-2);
const target = { namespace: 'default', name };
const client = await connect({ kubeconfig });
const stop = new AbortController();
let finish;
const finished = new Promise((resolve) => {
  finish = resolve;
});

const copy = controller(ConfigMap, { name })
  .owns(Secret)
  .reconcile(async ({ metadata, data = {} }, { apply, event }) => {
    if (metadata.name !== name) return;
    await apply(Secret, { metadata: { name: `${name}-copy` }, stringData: data });
    event('Normal', 'Copied', `copied ${data.text}`);
    if (data.text === 'two') finish();
  });
const manager = new Manager([copy], {
  client,
  leaderElection: { name: `${name}-lease` },
  metrics: { port: 0 },
});
const running = manager.run(stop.signal);
await manager.whenReady();

const factory = new SharedInformerFactory(client);
const { lister } = factory.informer(ConfigMap);
factory.start();
await factory.waitForCacheSync();
await client.create(ConfigMap, { metadata: target, data: { text: 'one' } });
await client.patch(ConfigMap, target, { type: 'merge', body: { data: { text: 'two' } } });
await finished;
const { data = {} } = await client.get(Secret, { namespace: 'default', name: `${name}-copy` });
const metrics = await (await fetch(`http://127.0.0.1:${manager.probePort}/metrics`)).text();
const conflict = await client
  .update(ConfigMap, { metadata: { ...target, resourceVersion: '1' } })
  .catch((error) => error.reason);
console.log(
  JSON.stringify({
    copied: Buffer.from(data.text, 'base64').toString(),
    listed: lister.namespace('default').get(name).data.text,
    counted: metrics.includes(`controller_runtime_reconcile_total{controller="${name}"`),
    conflict,
  }),
);
stop.abort();
await running;
await factory.close();
await client.close();
