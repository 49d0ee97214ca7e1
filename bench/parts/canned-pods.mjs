// A process that answers LIST and WATCH of pods with prebuilt bytes, so that the client under test is what takes the time.
// node canned-pods.mjs OBJECTS [EVENTS]; sends its port when it listens. Pods are about 2.3 KB, as a kube-apiserver answers them;
// who asks for metadata alone gets that. Each watch gets EVENTS MODIFIED events as fast as it takes them. Started by sdk-client.mjs.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { pod } from './pod.mjs';

const objects = Number(process.argv[2]);
const events = Number(process.argv[3] ?? 0);
const firstVersion = 1_000_000_000;
const version = firstVersion + objects;

function answers({ kind, apiVersion, itemOf }) {
  const items = Array.from({ length: objects }, (_, index) => JSON.stringify(itemOf(index)));
  const page = (from, to) => {
    const more = to < objects ? `,"continue":"${to}","remainingItemCount":${objects - to}` : '';
    const head = `{"kind":"${kind}List","apiVersion":"${apiVersion}","metadata":{"resourceVersion":"${version}"${more}},"items":[`;
    return Buffer.from(`${head}${items.slice(from, to).join(',')}]}\n`);
  };
  const typed = `{"kind":"${kind}","apiVersion":"${apiVersion}",`;
  const event = (type, item) => Buffer.from(`{"type":"${type}","object":${typed}${item.slice(1)}}\n`);
  const end = { resourceVersion: String(version), annotations: { 'k8s.io/initial-events-end': 'true' } };
  const bookmark = Buffer.from(`{"type":"BOOKMARK","object":${typed}"metadata":${JSON.stringify(end)}}}\n`);
  const initial = Buffer.concat([...items.map((item) => event('ADDED', item)), bookmark]);
  return { page, whole: page(0, objects), initial, changed: items.map((item) => event('MODIFIED', item)) };
}

const pods = answers({ kind: 'Pod', apiVersion: 'v1', itemOf: pod });
const metadataOnly = answers({
  ...{ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' },
  itemOf: (index) => ({ metadata: pod(index).metadata }),
});

/** Sends the events, each with a version of its own, in pieces of about 1 MB. */
async function sendEvents(response, changed) {
  const at = changed.map((event) => event.indexOf('"resourceVersion":"') + '"resourceVersion":"'.length);
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const { signal } = gone;
  for (let sent = 0; sent < events && !signal.aborted; ) {
    const piece = [];
    for (let bytes = 0; bytes < 1 << 20 && sent < events; sent += 1) {
      const event = changed[sent % objects];
      event.write(String(version + 1 + sent), at[sent % objects], 'latin1');
      piece.push(event);
      bytes += event.length;
    }
    if (!response.write(Buffer.concat(piece))) await once(response, 'drain', { signal }).catch(() => undefined);
  }
}

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  response.setHeader('content-type', 'application/json');
  if (pathname !== '/api/v1/pods') return void response.writeHead(404).end('{}');
  const set = request.headers.accept?.includes('as=PartialObjectMetadata') ? metadataOnly : pods;
  if (['1', 'true'].includes(searchParams.get('watch') ?? '')) {
    response.flushHeaders();
    if (searchParams.get('sendInitialEvents') === 'true') response.write(set.initial);
    // The client finishes its sync before the first event.
    if (events > 0) await sleep(1000);
    return void (await sendEvents(response, set.changed));
  }
  const limit = Number(searchParams.get('limit') ?? 0);
  const from = Number(searchParams.get('continue') ?? 0);
  response.end(limit > 0 && limit < objects ? set.page(from, Math.min(from + limit, objects)) : set.whole);
});
server.listen(0, '127.0.0.1', () =>
  process.send?.({ port: server.address().port, bytesPerPod: pods.whole.length / objects }),
);
process.on('disconnect', () => process.exit(0));
