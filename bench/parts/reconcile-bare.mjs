// The least that the controller of reconcile.mjs can cost in Node: two watches and two patches for each change with undici, JSON.parse and
// JSON.stringify, one object of each kind and name in a Map. It has no queue, no retries, no resume and no metrics, so the difference to
// reconcile-client.mjs is the SDK's own work. Arguments and lines are those of reconcile-client.mjs.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const { Pool } = createRequire(new URL('../../packages/client/package.json', import.meta.url))('undici');
const [kubeconfig, expected, batch] = process.argv.slice(2);
const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8'));
const [{ cluster }] = clusters;
const [{ user }] = users;
const ca = Buffer.from(cluster['certificate-authority-data'], 'base64');
const pool = new Pool(cluster.server, { connect: { ca }, bodyTimeout: 0 });
const authorization = `Bearer ${user.token}`;
const echos = '/apis/demo.dev/v1/namespaces/default/echos';
const configMaps = '/api/v1/namespaces/default/configmaps';
const maps = new Map();
const present = new Map();
const running = new Set();
const seen = new Set();
let written = 0;

async function send(path, contentType, body) {
  const headers = { authorization, accept: 'application/json', 'content-type': contentType };
  const answer = await pool.request({ path, method: 'PATCH', headers, body: JSON.stringify(body) });
  const object = JSON.parse(await answer.body.text());
  if (answer.statusCode >= 300) throw new Error(object.message);
  return object;
}

async function reconcile(name) {
  const { metadata, spec, status } = present.get(name);
  const { uid } = metadata;
  if (maps.get(name)?.data?.text !== spec.text) {
    const owner = { apiVersion: 'demo.dev/v1', kind: 'Echo', name, uid, controller: true, blockOwnerDeletion: true };
    await send(`${configMaps}/${name}?fieldManager=echo&force=true`, 'application/apply-patch+yaml', {
      ...{
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, ownerReferences: [owner] },
        data: { text: spec.text },
      },
    });
  }
  if (status?.text !== spec.text) {
    await send(`${echos}/${name}/status`, 'application/merge-patch+json', { status: { text: spec.text } });
    written++;
    if (written % Number(batch) === 0) console.log('written');
  }
  const before = seen.size;
  seen.add(name);
  if (before < seen.size && seen.size === Number(expected)) console.log('seen');
}

/** Reconciles a name at most once at a time; a change meanwhile is seen by the next event. */
async function wake(name) {
  if (running.has(name) || !present.has(name)) return;
  running.add(name);
  try {
    await reconcile(name);
  } finally {
    running.delete(name);
  }
  if (present.get(name).status?.text !== present.get(name).spec.text) await wake(name);
}

async function follow(path, objects) {
  const headers = { authorization, accept: 'application/json' };
  const list = await pool.request({ path: `${path}?resourceVersion=0`, method: 'GET', headers });
  const { metadata, items } = JSON.parse(await list.body.text());
  for (const item of items) objects.set(item.metadata.name, item);
  const query = `watch=true&resourceVersion=${metadata.resourceVersion}`;
  const watch = await pool.request({ path: `${path}?${query}`, method: 'GET', headers });
  createInterface({ input: watch.body }).on('line', (line) => {
    const { object } = JSON.parse(line);
    objects.set(object.metadata.name, object);
    void wake(object.metadata.name);
  });
}

await follow(configMaps, maps);
await follow(echos, present);
for (const name of present.keys()) await wake(name);
process.once('SIGTERM', () => process.exit());
