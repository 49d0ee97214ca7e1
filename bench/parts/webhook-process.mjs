// An admission webhook. It runs in its own process, so that its CPU is not counted. It allows everything under /validate, adds a label
// under /mutate, and is faulty in several ways under other paths. Started by webhook-process-start.mjs.
import { createServer } from 'node:https';
import { createIssuer } from '@kapstan/controller/certificates';

const nowMs = Date.now();
const issuer = await createIssuer(undefined, { nowMs, lifetimeMs: 3_600_000 });
const leaf = { commonName: 'webhook', hosts: ['127.0.0.1'], usage: 'server', nowMs, lifetimeMs: 3_600_000 };
const { cert, key } = await issuer.issue(leaf);

/** Adds a label, whether the object has labels or not. */
function patchFor({ metadata }) {
  const operation =
    metadata.labels === undefined
      ? { op: 'add', path: '/metadata/labels', value: { by: 'webhook' } }
      : { op: 'add', path: '/metadata/labels/by', value: 'webhook' };
  return Buffer.from(JSON.stringify([operation])).toString('base64');
}

function answer(response, { uid, ...rest }) {
  const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' };
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ ...review, response: { uid, allowed: true, ...rest } }));
}

const tenMegabytes = 'x'.repeat(10_000_000);
const answers = {
  '/validate': (response, { uid }) => answer(response, { uid }),
  '/mutate': (response, { uid, object }) => answer(response, { uid, patchType: 'JSONPatch', patch: patchFor(object) }),
  '/hangs': () => undefined,
  '/slow': (response, { uid }) => setTimeout(() => answer(response, { uid }), 1_000),
  '/large': (response, { uid }) => answer(response, { uid, warnings: [tenMegabytes] }),
  '/wrong-uid': (response) => answer(response, { uid: 'another' }),
  '/closes': (response) => response.socket.destroy(),
};

const server = createServer({ cert, key }, async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const { request: asked } = JSON.parse(Buffer.concat(parts).toString());
  answers[new URL(request.url, 'https://hook').pathname](response, asked);
});
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ url: `https://127.0.0.1:${server.address().port}`, ca: issuer.authority.cert }));
});
// It ends with the program that started it.
process.stdin.on('end', () => process.exit()).resume();
