// A process that answers LIST and WATCH of pods with prebuilt bytes, so that the client under test is what takes the time.
// Started by informer.mjs; sends its port when it listens. Pods are about 2.3 KB, as a kube-apiserver answers them.
import { createServer } from 'node:http';
import { pod } from './pod.mjs';

const objects = Number(process.argv[2]);
const firstVersion = 1_000_000_000;

const version = String(firstVersion + objects);
const items = Array.from({ length: objects }, (_, index) => JSON.stringify(pod(index)));
const page = (from, to) => {
  const more = to < objects ? `,"continue":"${to}","remainingItemCount":${objects - to}` : '';
  const head = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"${version}"${more}},"items":[`;
  return Buffer.from(`${head}${items.slice(from, to).join(',')}]}\n`);
};
const whole = page(0, objects);
const initialEvents = Buffer.from(
  `${items.map((item) => `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1",${item.slice(1)}}\n`).join('')}` +
    `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"${version}",` +
    `"annotations":{"k8s.io/initial-events-end":"true"}}}}\n`,
);

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  response.setHeader('content-type', 'application/json');
  if (pathname !== '/api/v1/pods') return void response.writeHead(404).end('{}');
  if (['1', 'true'].includes(searchParams.get('watch') ?? '')) {
    response.flushHeaders();
    if (searchParams.get('sendInitialEvents') === 'true') response.write(initialEvents);
    return;
  }
  const limit = Number(searchParams.get('limit') ?? 0);
  const from = Number(searchParams.get('continue') ?? 0);
  const body = limit > 0 && limit < objects ? page(from, Math.min(from + limit, objects)) : whole;
  response.end(body);
});
server.listen(0, '127.0.0.1', () =>
  process.send?.({ port: server.address().port, bytesPerPod: whole.length / objects }),
);
process.on('disconnect', () => process.exit(0));
