// Answers LIST and WATCH of pods with prebuilt bytes, so that the client under test takes nearly all the time. Started
// by sdk-client.mjs:
//   node canned-pods.mjs OBJECTS EVENTS CHANGES REPLICAS       sends its port when it listens
// Pods have about 2.3 KB, as a kube-apiserver answers them. With REPLICAS it sends the pods of controlled-pod.mjs, that
// many per ReplicaSet, updated in random order; "cluster" selects the pods of cluster-population.mjs. A client that
// asks for metadata alone gets metadata. Each watch gets EVENTS MODIFIED events as fast as it takes them. CHANGES says
// how two events of a pod differ: "status", in what a kubelet's status update changes (version, times); "version", in
// the version alone; "all", also in labels, owner, node and address.
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import { clusterPopulation } from './cluster-population.mjs';
import { controlledPod } from './controlled-pod.mjs';
import { pod } from './pod.mjs';

const objects = Number(process.argv[2]);
const events = Number(process.argv[3]);
const changes = process.argv[4];
const replicas = process.argv[5] ?? '0';
const isControlled = replicas !== '0';
const owners = replicas === 'cluster' ? clusterPopulation(objects) : undefined;
const firstVersion = 1_000_000_000;
const version = firstVersion + objects;
const firstTimeMs = Date.UTC(2026, 10, 20);

function ownerOf(index) {
  return owners?.[index] ?? { set: Math.floor(index / Number(replicas)), kind: 'ReplicaSet' };
}

function madePod(index) {
  return isControlled ? controlledPod(index, ownerOf(index)) : pod(index);
}

/** Returns pod `index` with everything but its identity taken from the pod `from` places further on. */
function podOf(index, from = 0) {
  const own = madePod(index);
  if (from === 0) return own;
  const { name, namespace, uid } = own.metadata;
  const { metadata, ...other } = madePod((index + from) % objects);
  return { metadata: { ...metadata, name, namespace, uid }, ...other };
}

/** Returns an event and a function that writes version and times into it. */
function stamped(event) {
  const after = (text, from = event.indexOf(text)) => (from < 0 ? [] : [from + text.length]);
  const versionAt = after('"resourceVersion":"');
  const ready = '"lastTransitionTime":"';
  const timesAt = changes === 'version' ? [] : [...after('"time":"'), ...after(ready, event.lastIndexOf(ready))];
  return (number) => {
    for (const at of versionAt) event.write(String(version + number), at, 'latin1');
    const time = new Date(firstTimeMs + number * 1000).toISOString().slice(0, 19);
    for (const at of timesAt) event.write(time, at, 'latin1');
    return event;
  };
}

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
  const modified = (from) =>
    Array.from({ length: objects }, (_, index) => event('MODIFIED', JSON.stringify(itemOf(index, from))));
  const changed = events === 0 ? [] : changes === 'all' ? [...modified(1), ...modified(0)] : modified(0);
  return { page, whole: page(0, objects), initial, changed: changed.map(stamped) };
}

const pods = answers({ kind: 'Pod', apiVersion: 'v1', itemOf: podOf });
const metadataOnly = answers({
  ...{ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' },
  itemOf: (index, from) => ({ metadata: podOf(index, from).metadata }),
});

// A prime, so that the events cover all objects and consecutive ones are far apart.
const stride = isControlled ? 7919 : 1;

/** Sends the events, each with its own version, in pieces of about 1 MB. */
async function sendEvents(response, changed) {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const { signal } = gone;
  for (let sent = 0; sent < events && !signal.aborted; ) {
    const piece = [];
    for (let bytes = 0; bytes < 1 << 20 && sent < events; sent += 1) {
      const event = changed[(sent * stride) % changed.length](sent + 1);
      piece.push(event);
      bytes += event.length;
    }
    if (!response.write(Buffer.concat(piece))) await once(response, 'drain', { signal }).catch(() => undefined);
  }
}

const synced = new EventEmitter();

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  response.setHeader('content-type', 'application/json');
  if (pathname === '/synced') synced.emit('synced');
  if (pathname !== '/api/v1/pods') return void response.writeHead(404).end('{}');
  const set = request.headers.accept?.includes('as=PartialObjectMetadata') ? metadataOnly : pods;
  if (['1', 'true'].includes(searchParams.get('watch') ?? '')) {
    response.flushHeaders();
    if (searchParams.get('sendInitialEvents') === 'true') response.write(set.initial);
    // Events that come before the client has finished its sync would be merged in its queue, which costs less.
    if (events > 0) await Promise.race([once(synced, 'synced'), once(response, 'close')]);
    return void (await sendEvents(response, set.changed));
  }
  const limit = Number(searchParams.get('limit') ?? 0);
  const from = Number(searchParams.get('continue') ?? 0);
  response.end(limit > 0 && limit < objects ? set.page(from, Math.min(from + limit, objects)) : set.whole);
});
// A client that parses on a busy machine may not ask for longer than the usual 5 s.
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () =>
  process.send?.({ port: server.address().port, bytesPerPod: pods.whole.length / objects }),
);
process.on('disconnect', () => process.exit(0));
