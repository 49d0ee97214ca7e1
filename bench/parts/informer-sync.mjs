// One client syncs once against the canned server: node --expose-gc informer-sync.mjs LIBRARY URL OBJECTS. Prints one JSON line.
// A process each, so that the libraries do not share a heap. Started by informer.mjs.
import { get } from 'node:http';

const [library, url, count] = process.argv.slice(2);
const objects = Number(count);

/** Each starts a library's work and resolves to what must stay referenced when all objects are there. */
const libraries = {
  async kapstan() {
    const { connect } = await import('@kapstan/client');
    const { SharedInformerFactory } = await import('@kapstan/informers');
    const { Pod } = await import('@kapstan/kinds/core/v1');
    const client = await connect({ config: { server: url } });
    const informer = new SharedInformerFactory(client).informer(Pod);
    return () => synced(informer, objects);
  },
  async 'client-node'() {
    const k8s = await import('@kubernetes/client-node');
    const config = new k8s.KubeConfig();
    config.loadFromClusterAndUser({ name: 'c', server: url, skipTLSVerify: true }, { name: 'u' });
    const api = config.makeApiClient(k8s.CoreV1Api);
    const informer = k8s.makeInformer(config, '/api/v1/pods', () => api.listPodForAllNamespaces());
    return () =>
      new Promise((resolve, reject) => {
        let adds = 0;
        informer.on('add', () => {
          adds += 1;
          if (adds === objects) resolve(informer);
        });
        informer.on('error', reject);
        informer.start();
      });
  },
  async 'json-parse'() {
    return () =>
      new Promise((resolve, reject) => {
        get(`${url}/api/v1/pods`, async (answer) => {
          const pieces = [];
          for await (const piece of answer) pieces.push(piece);
          resolve(JSON.parse(Buffer.concat(pieces).toString()));
        }).on('error', reject);
      });
  },
};

function synced(informer, expected) {
  return new Promise((resolve) => {
    let adds = 0;
    informer.addEventHandler({
      onAdd: () => {
        adds += 1;
        if (adds === expected) resolve(informer);
      },
    });
    informer.start();
  });
}

const work = await libraries[library]();
globalThis.gc?.();
const before = process.cpuUsage();
const kept = await work();
const { user, system } = process.cpuUsage(before);
const peakRssMb = process.resourceUsage().maxRSS / 1024;
globalThis.gc?.();
const heapMb = process.memoryUsage().heapUsed / 1048576;
process.send({ cpuUsPerObject: (user + system) / objects, peakRssMb, heapMb, kept: typeof kept });
process.exit(0);
