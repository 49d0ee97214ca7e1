// The clients that are compared, in one shape. Each is loaded and warm before it is told to sync: one small request has
// triggered one-time work such as compiling its HTTP parser. Used by sdk-client-process.mjs.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

// A folder in which `npm install kubernetes-fluent-client` was run; the library is not a dependency of this project.
const peersFolder = process.env.KAPSTAN_BENCH_PEERS;
export const hasFluent = peersFolder !== undefined;

/**
 * Each library is (url) => start; start({ onAdd, onUpdate }) begins to sync and returns the objects that must stay
 * referenced.
 */
export const libraries = {
  kapstan: (url) => kapstan(url, (factory, pods) => factory.informer(pods)),
  'kapstan-list': (url) => kapstan(url, (factory, pods) => factory.informer(pods), { useWatchList: false }),
  // The same client with equal parts shared, which shows the gain of sharing.
  'kapstan-shared': (url) => kapstan(url, (factory, pods) => factory.informer(pods), {}, { sharesEqualParts: true }),
  'kapstan-metadata': (url) => kapstan(url, (factory, pods) => factory.metadataInformer(pods)),
  'kapstan-metadata-list': (url) =>
    kapstan(url, (factory, pods) => factory.metadataInformer(pods), { useWatchList: false }),
  async 'client-node'(url) {
    const k8s = await import('@kubernetes/client-node');
    const config = new k8s.KubeConfig();
    config.loadFromClusterAndUser({ name: 'c', server: url, skipTLSVerify: true }, { name: 'u' });
    const api = config.makeApiClient(k8s.CoreV1Api);
    await api.readNamespace({ name: 'warm' }).catch(() => undefined);
    return ({ onAdd, onUpdate }) => {
      const informer = k8s.makeInformer(config, '/api/v1/pods', () => api.listPodForAllNamespaces());
      informer.on('add', onAdd);
      informer.on('update', onUpdate);
      informer.start();
      return informer;
    };
  },
  async fluent(url) {
    const folder = mkdtempSync(join(tmpdir(), 'kapstan-bench-'));
    const clusters = [{ name: 'c', cluster: { server: url, 'insecure-skip-tls-verify': true } }];
    const contexts = [{ name: 'c', context: { cluster: 'c', user: 'u' } }];
    const users = [{ name: 'u', user: {} }];
    const config = { apiVersion: 'v1', kind: 'Config', 'current-context': 'c', clusters, contexts, users };
    writeFileSync(join(folder, 'config'), JSON.stringify(config));
    process.env.KUBECONFIG = join(folder, 'config');
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
    const path = createRequire(resolve(peersFolder, 'package.json')).resolve('kubernetes-fluent-client');
    const { K8s, kind } = await import(path);
    return ({ onAdd, onUpdate }) => {
      const cache = new Map();
      const watcher = K8s(kind.Pod).Watch((object, phase) => {
        cache.set(object.metadata.uid, object);
        if (phase === 'ADDED') onAdd(object);
        else onUpdate(object);
      });
      for (const event of ['list_error', 'watch_error', 'data_error', 'network_error'])
        watcher.events.on(event, (error) => console.error(event, error));
      watcher.start();
      return [watcher, cache];
    };
  },
  // The minimum that any client needs: JSON.parse of the list and of each event. The second one keeps the parsed
  // values, as a cache does.
  'json-parse': (url) => jsonParse(url, () => undefined),
  async 'json-parse-kept'(url) {
    const cache = new Map();
    return await jsonParse(url, (object) => cache.set(`${object.metadata.namespace}/${object.metadata.name}`, object));
  },
};

async function jsonParse(url, keep) {
  const agent = new Agent({ keepAlive: true });
  await body(`${url}/warm`, agent);
  return async ({ onAdd, onUpdate }) => {
    const list = JSON.parse((await body(`${url}/api/v1/pods`, agent)).toString());
    for (const item of list.items) {
      keep(item);
      onAdd(item);
    }
    const onLine = (line) => {
      const { object } = JSON.parse(line);
      keep(object);
      onUpdate(object);
    };
    get(`${url}/api/v1/pods?watch=true`, { agent }, (answer) => eachLine(answer, onLine));
    return list;
  };
}

async function kapstan(url, informerOf, options = {}, clientOptions = {}) {
  const { connect } = await import('@kapstan/client');
  const { SharedInformerFactory } = await import('@kapstan/informers');
  const { Pod } = await import('@kapstan/kinds/core/v1');
  const client = await connect({ config: { server: url }, ...clientOptions });
  await client.raw({ path: '/warm' }).catch(() => undefined);
  return ({ onAdd, onUpdate }) => {
    const informer = informerOf(new SharedInformerFactory(client, options), Pod);
    informer.addEventHandler({ onAdd, onUpdate: (_before, after) => onUpdate(after) });
    informer.start();
    return informer;
  };
}

function body(url, agent) {
  return new Promise((done, fail) => {
    get(url, { agent }, async (answer) => {
      const pieces = [];
      for await (const piece of answer) pieces.push(piece);
      done(Buffer.concat(pieces));
    }).on('error', fail);
  });
}

function eachLine(answer, onLine) {
  let rest = Buffer.alloc(0);
  answer.on('data', (piece) => {
    let start = 0;
    for (let end = piece.indexOf(10); end !== -1; end = piece.indexOf(10, start)) {
      const line = rest.length === 0 ? piece.subarray(start, end) : Buffer.concat([rest, piece.subarray(start, end)]);
      onLine(line.toString());
      rest = Buffer.alloc(0);
      start = end + 1;
    }
    if (start < piece.length) rest = Buffer.concat([rest, piece.subarray(start)]);
  });
}
