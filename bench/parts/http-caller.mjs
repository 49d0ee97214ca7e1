// Calls to a server over HTTP/1.1 and TLS with kept connections, at most `connections` at once.
import { Agent, request } from 'node:https';

/** Answers `call(method, path, body?)`, which resolves to the number of bytes of the answer, and `close()`. */
export function httpCaller({ url, token, ca }, connections) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections, ca });
  const call = (method, path, body) =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
      if (body !== undefined) {
        headers['content-type'] = 'application/json';
        headers['content-length'] = Buffer.byteLength(body);
      }
      const sent = request(`${url}${path}`, { agent, method, headers }, (answer) => {
        let bytes = 0;
        answer.on('data', (piece) => {
          bytes += piece.length;
        });
        answer.on('error', reject);
        answer.on('end', () => {
          if (answer.statusCode < 300) resolve(bytes);
          else reject(new Error(`${method} ${path}: status ${answer.statusCode}`));
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  return { call, close: () => agent.destroy() };
}

/** Runs `work(index)` for 0 … count-1, `concurrency` at a time. */
export async function inParallel(count, concurrency, work) {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

/** A ConfigMap whose answer is about 1 KB: the same as in the recorded runs of the peers. */
export function configMapBody(name, generation) {
  return JSON.stringify({
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name, namespace: 'bench', labels: { app: 'bench', 'one-in-100': `c${generation % 100}` } },
    data: { gen: String(generation).padStart(12, '0'), payload: '0123456789abcdef'.repeat(32) },
  });
}

export const namespaceBody = JSON.stringify({ kind: 'Namespace', apiVersion: 'v1', metadata: { name: 'bench' } });
