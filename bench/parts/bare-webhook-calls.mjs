// Shows the minimum that a Node process pays for calls of a webhook: node:https with kept connections, the bytes of one review, and
// JSON.parse of the answer. Started by admission.mjs, with the webhook on its standard input.
//   node bare-webhook-calls.mjs CALLS        prints the CPU of one call in microseconds
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { configMapBody, inParallel } from './http-caller.mjs';

const calls = Number(process.argv[2]);
const warmUp = 1_000;
const { url, ca } = JSON.parse(await text(process.stdin));
const agent = new Agent({ keepAlive: true, maxSockets: 256, scheduling: 'lifo', ca });

/** Returns the review of one create. */
function reviewOf(index) {
  const object = JSON.parse(configMapBody(`bare-${index}`, index));
  const resource = { group: '', version: 'v1', resource: 'configmaps' };
  const kind = { group: '', version: 'v1', kind: 'ConfigMap' };
  const of = { uid: `uid-${index}`, kind, resource, requestKind: kind, requestResource: resource };
  const asked = {
    ...of,
    namespace: 'bench',
    operation: 'CREATE',
    userInfo: { username: 'admin' },
    object,
    oldObject: null,
  };
  return { kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', request: asked };
}

function call(index) {
  const body = Buffer.from(JSON.stringify(reviewOf(index)));
  const headers = { 'content-type': 'application/json', 'content-length': body.length };
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/validate?timeout=10s`, { method: 'POST', agent, headers }, (answer) => {
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('end', () => resolve(JSON.parse(Buffer.concat(parts).toString()).response.allowed));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

await inParallel(warmUp, 32, call);
const before = process.cpuUsage();
await inParallel(calls, 32, (index) => call(warmUp + index));
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ cpuUs: (user + system) / calls }));
agent.destroy();
