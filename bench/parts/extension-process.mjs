// An API server behind a Service. It runs in its own process, so that its CPU is not counted, and answers every request with one object.
// Started by aggregation.mjs; ends with its input.
import { createServer } from 'node:https';
import { createIssuer } from '@kapstan/controller/certificates';

const nowMs = Date.now();
const issuer = await createIssuer(undefined, { nowMs, lifetimeMs: 3_600_000 });
const leaf = { commonName: 'extension', hosts: ['api.default.svc'], usage: 'server', nowMs, lifetimeMs: 3_600_000 };
const { cert, key } = await issuer.issue(leaf);
const object = { kind: 'Book', apiVersion: 'example.com/v1', metadata: { name: 'a' }, data: { text: 'x'.repeat(300) } };
const body = JSON.stringify(object);
const server = createServer({ cert, key }, (_request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(body);
});
server.listen(0, '127.0.0.1', () =>
  console.log(JSON.stringify({ port: server.address().port, ca: issuer.authority.cert })),
);
process.stdin.resume().once('end', () => process.exit());
