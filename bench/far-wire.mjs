// Measures the wire to a far cluster: a list of 20,000 pods and 50 watches, over HTTP/1.1 and HTTP/2, with gzip and without. Bytes are
// counted in a relay between client and server; the relay runs in this process, whose CPU is not part of the figures.
//   npm run bench far-wire      KAPSTAN_KUBE_APISERVER=path KAPSTAN_ETCD=path: the same work with a kube-apiserver as well
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { figure } from './parts/figures.mjs';
import { httpCaller, inParallel, namespaceBody, podBody } from './parts/http-caller.mjs';
import { hasPeer, startPeer } from './parts/peer-server.mjs';
import { startServer } from './parts/server-process.mjs';

const objects = Number(process.env.KAPSTAN_BENCH_OBJECTS ?? 20_000);
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 3);
const watches = 50;
const updates = 200;
const bench = 'far-wire';
const wires = {
  h1: {},
  'h1+gzip': { compression: true },
  h2: { http2: true },
  'h2+gzip': { http2: true, compression: true },
};
const program = fileURLToPath(new URL('parts/far-client.mjs', import.meta.url));
const name = (index) => `o${String(index).padStart(6, '0')}`;

/** Passes bytes on to the server, and counts those that come back, and the connections. */
async function startRelay(url) {
  const { hostname, port } = new URL(url);
  const counted = { bytes: 0, sockets: 0 };
  const relay = createServer((socket) => {
    counted.sockets += 1;
    const server = connect(Number(port), hostname);
    server.on('data', (piece) => {
      counted.bytes += piece.length;
    });
    const end = () => {
      socket.destroy();
      server.destroy();
    };
    for (const one of [socket, server]) one.on('error', end).on('close', end);
    socket.pipe(server).pipe(socket);
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  return { counted, url: `https://127.0.0.1:${relay.address().port}`, close: () => relay.close() };
}

/** Starts a client process; `ask` resolves to its next message. */
function startClient(target, library, wire) {
  const child = fork(program, [JSON.stringify({ ...target, library, wire, objects, watches, updates })], {
    execArgv: ['--expose-gc'],
  });
  const ask = async (what) => {
    if (what !== undefined) child.send(what);
    const [answer] = await once(child, 'message');
    return answer;
  };
  return { ask, end: () => child.kill() };
}

async function measureWire({ server, caller, library, wire, run }) {
  const relay = await startRelay(server.url);
  const client = startClient({ url: relay.url, token: server.token, ca: server.ca }, library, wire);
  await client.ask();
  const begin = { server: (await server.measure()).cpuUs, bytes: relay.counted.bytes };
  const list = await client.ask('list');
  const serverList = (await server.measure()).cpuUs - begin.server;
  const bytes = relay.counted.bytes - begin.bytes;
  await client.ask('watch');
  const sockets = relay.counted.sockets;
  const before = (await server.measure()).cpuUs;
  const delivered = client.ask('deliver');
  await inParallel(updates, 8, (index) =>
    caller.call('POST', '/api/v1/namespaces/bench/pods', podBody(name(objects + run * updates + index), index)),
  );
  const watch = await delivered;
  const serverWatch = (await server.measure()).cpuUs - before;
  client.end();
  relay.close();
  return {
    'MB of a list': bytes / 1e6,
    'ms of client CPU for a list': list.cpuUs / 1e3,
    'ms of server CPU for a list': serverList / 1e3,
    'longest turn of the client in a list, ms': list.turnMs,
    'connections of 50 watches and a list': sockets,
    'µs of client CPU per event': watch.cpuUs / (watches * updates),
    'µs of server CPU per event and its share of the write': serverWatch / (watches * updates),
  };
}

async function measureServer(label, server, libraries) {
  const caller = httpCaller(server, 64);
  await caller.call('POST', '/api/v1/namespaces', namespaceBody).catch(() => undefined);
  await inParallel(objects, 64, (index) =>
    caller.call('POST', '/api/v1/namespaces/bench/pods', podBody(name(index), index)),
  );
  const results = new Map();
  let round = 0;
  for (let run = 0; run < runs; run++)
    for (const [library, chosen] of libraries)
      for (const wireName of chosen) {
        const measured = await measureWire({ server, caller, library, wire: wires[wireName], run: round++ });
        const key = library === 'kapstan' ? wireName : library;
        const all = results.get(key) ?? [];
        all.push(measured);
        results.set(key, all);
      }
  for (const [key, all] of results)
    for (const unit of Object.keys(all[0]))
      figure({ bench, what: `${label}, ${key}`, unit, samples: all.map((one) => one[unit]) });
  caller.close();
}

const libraries = [
  ['kapstan', Object.keys(wires)],
  ['client-node', ['h1']],
];
const own = await startServer({ flags: ['--disable-admission-plugins=ServiceAccount'] });
await measureServer('kapstan serve', own, libraries);
await own.close();
if (hasPeer) {
  const peer = await startPeer();
  await measureServer('kube-apiserver', peer, libraries);
  await peer.close();
}
process.exit(0);
