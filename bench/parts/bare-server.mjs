// Shows the minimum that a Node server can cost for the work of serving.mjs: node:https, the same bytes, JSON.parse and
// JSON.stringify, and one LMDB put whose commit is awaited. It checks nothing and knows nothing, so the difference to
// Kapstan is Kapstan's own work.
//   node bare-server.mjs CERTIFICATE KEY FOLDER       prints its port
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { createRequire } from 'node:module';

const [, , certificate, key, folder] = process.argv;
const require = createRequire(new URL('../../packages/storage-lmdb/package.json', import.meta.url));
const { open } = require('lmdb');
const options = { encoding: 'binary', keyEncoding: 'binary' };
const root = open(folder, { ...options, noSubdir: false, overlappingSync: false, maxDbs: 4 });
const log = root.openDB('log', options);
const current = root.openDB('current', options);
const objects = new Map();
const watches = new Set();
let revision = 0;

/** Writes like the engine: the value by revision, and the revision by key. Resolves when both are on disk. */
function write(name, bytes) {
  revision += 1;
  const at = Buffer.alloc(8);
  at.writeUInt32BE(revision, 4);
  void log.put(at, bytes);
  objects.set(name, bytes);
  return current.put(Buffer.from(`/registry/bench/${name}`), at);
}

function send(response, status, bytes) {
  response.writeHead(status, {
    'Audit-Id': randomUUID(),
    'Cache-Control': 'no-cache, private',
    'Content-Type': 'application/json',
    'Content-Length': bytes.length,
  });
  response.end(bytes);
}

function put(request, response) {
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('end', async () => {
    const object = JSON.parse(Buffer.concat(pieces).toString());
    object.metadata.uid ??= randomUUID();
    object.metadata.creationTimestamp ??= new Date().toISOString();
    object.metadata.resourceVersion = String(revision + 1);
    const bytes = Buffer.from(JSON.stringify(object));
    await write(object.metadata.name, bytes);
    send(response, request.method === 'POST' ? 201 : 200, bytes);
    if (watches.size === 0) return;
    const event = Buffer.concat([Buffer.from('{"type":"MODIFIED","object":'), bytes, Buffer.from('}\n')]);
    for (const watch of watches) watch.write(event);
  });
}

function get(request, response) {
  const [path, query = ''] = request.url.split('?');
  if (query.includes('watch=true')) {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.flushHeaders();
    watches.add(response);
    request.on('close', () => watches.delete(response));
    return;
  }
  const bytes = objects.get(path.slice(path.lastIndexOf('/') + 1));
  if (bytes === undefined) send(response, 200, Buffer.from('{"metadata":{"resourceVersion":"1"}}'));
  else send(response, 200, bytes);
}

const server = createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, (request, response) => {
  if (request.method === 'GET') get(request, response);
  else put(request, response);
});
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
