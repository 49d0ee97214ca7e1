// Calls a server over HTTP/1.1 and TLS with kept connections, at most `connections` at once.
import { Agent, request } from 'node:https';

/**
 * Returns `call(method, path, body?, accept?)`, which resolves to the number of bytes in the answer, `read(path)`,
 * which resolves to its text, and `close()`.
 */
export function httpCaller({ url, token, ca }, connections) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections, ca });
  const send = ({ method = 'GET', path, body, accept = 'application/json', onPiece }) =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, accept };
      if (body !== undefined) {
        headers['content-type'] = 'application/json';
        headers['content-length'] = Buffer.byteLength(body);
      }
      const sent = request(`${url}${path}`, { agent, method, headers }, (answer) => {
        answer.on('data', onPiece);
        answer.on('error', reject);
        answer.on('end', () => {
          if (answer.statusCode < 300) resolve();
          else reject(new Error(`${method} ${path}: status ${answer.statusCode}`));
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  const call = async (method, path, body, accept) => {
    let bytes = 0;
    const onPiece = (piece) => {
      bytes += piece.length;
    };
    await send({ method, path, body, accept, onPiece });
    return bytes;
  };
  const read = async (path) => {
    const pieces = [];
    await send({ path, onPiece: (piece) => pieces.push(piece) });
    return Buffer.concat(pieces).toString();
  };
  return { call, read, close: () => agent.destroy() };
}

/** Runs `work(index)` for 0 … count-1, `concurrency` at a time. */
export async function inParallel(count, concurrency, work) {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

/** Returns a ConfigMap whose answer has about 1 KB, the same as in the recorded runs of the peers. */
export function configMapBody(name, generation) {
  return JSON.stringify({
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name, namespace: 'bench', labels: { app: 'bench', 'one-in-100': `c${generation % 100}` } },
    data: { gen: String(generation).padStart(12, '0'), payload: '0123456789abcdef'.repeat(32) },
  });
}

export const namespaceBody = JSON.stringify({ kind: 'Namespace', apiVersion: 'v1', metadata: { name: 'bench' } });

/**
 * Returns a pod whose answer has about 2.4 KB with defaults and managed fields: the pod of the recorded runs, but on
 * one of 100 nodes.
 */
export function podBody(name, generation) {
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: 'rs-1',
    uid: '3f1e4b73-f287-4a45-8bbb-000000000000',
  };
  return JSON.stringify({
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      ...{ name, namespace: 'bench', labels: { app: 'bench', 'one-in-100': `c${generation % 100}` } },
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    },
    spec: {
      nodeName: `node-${generation % 100}`,
      volumes: [{ name: 'conf', configMap: { name: 'conf' } }],
      containers: [
        {
          ...{ name: 'main', image: 'registry.example/app:1.27', ports: [{ containerPort: 80, protocol: 'TCP' }] },
          volumeMounts: [{ name: 'conf', readOnly: true, mountPath: '/etc/conf' }],
          resources: { requests: { cpu: '100m', memory: '128Mi' } },
        },
      ],
    },
  });
}
