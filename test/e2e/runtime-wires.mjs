// A client over each wire (HTTP/1.1 and HTTP/2, plain and gzip), then a test cluster in the same runtime, in memory and on LMDB. It is
// started by runtimes.test.ts with the path of a kubeconfig and a namespace with 300 ConfigMaps, and prints one line of JSON.
import { connect } from '@kapstan/client';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { testCluster } from '@kapstan/testing';

const [kubeconfig, namespace] = process.argv.slice(-2);

/** Selects everything, and tells the server's side of the test which wire asks. */
const labelSelector = (wire) => `wire!=${wire}`;

async function over(wire, options) {
  const client = await connect({ kubeconfig, ...options });
  try {
    const { length } = await client.list(ConfigMap, { namespace, labelSelector: labelSelector(wire) });
    const events = client.watch(ConfigMap, { namespace, fieldSelector: 'metadata.name=map-0' });
    const added = await new Promise((resolve, reject) => {
      const seen = events.subscribe({
        next: ({ type }) => {
          seen.unsubscribe();
          resolve(type);
        },
        error: reject,
      });
    });
    return `${length} ${added}`;
  } catch (error) {
    return `${error.code ?? error.name}: ${error.message}`;
  } finally {
    await client.close();
  }
}

async function inside(options) {
  const cluster = await testCluster({ clock: 'real', ...options });
  try {
    await cluster.client.create(ConfigMap, { metadata: { name: 'one', namespace: 'default' } });
    // This client speaks HTTPS, and has a certificate.
    const client = await cluster.connect();
    return (await client.list(ConfigMap, { namespace: 'default' })).length;
  } finally {
    await cluster.close();
  }
}

const answers = {
  plain: await over('plain', { compression: false }),
  gzip: await over('gzip', { compression: true }),
  http2: await over('http2', { http2: true, compression: false }),
  'http2 and gzip': await over('http2-gzip', { http2: true, compression: true }),
  memory: await inside({ store: 'memory' }),
  lmdb: await inside({}),
};
process.stdout.write(`${JSON.stringify(answers)}\n`, () => process.exit(0));
