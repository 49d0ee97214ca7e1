// One client that syncs once with the canned server and takes its events, and sends the result as a message: node
// --expose-gc sdk-client-process.mjs LIBRARY URL OBJECTS EVENTS. Each client has its own process, so that the libraries
// do not share a heap. Started by sdk-client.mjs.
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { libraries } from './sdk-libraries.mjs';

const [library, url] = process.argv.slice(2);
const [objects, events] = process.argv.slice(4).map(Number);

const cpuUs = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};
let adds = 0;
let updates = 0;
// Versions by uid: a client that falls behind may report several changes of one object before those of others.
const lastVersions = new Map();
let outOfOrder = 0;
let firstUpdateUs = 0;
let told;
const synced = new Promise((resolve) => {
  told = resolve;
});
let ended;
const finished = new Promise((resolve) => {
  ended = resolve;
});

const start = await libraries[library](url);
// Threads that compile code of the first request finish their work.
await sleep(300);
globalThis.gc();
const before = cpuUs();
const kept = start({
  onAdd() {
    adds += 1;
    if (adds === objects) told(cpuUs() - before);
  },
  onUpdate({ metadata }) {
    const version = Number(metadata.resourceVersion);
    if (version < (lastVersions.get(metadata.uid) ?? 0)) outOfOrder += 1;
    lastVersions.set(metadata.uid, version);
    if (updates === 0) firstUpdateUs = cpuUs();
    updates += 1;
    if (updates === events) ended((cpuUs() - firstUpdateUs) / events);
  },
});
const cpuUsPerObject = (await synced) / objects;
const peakRssMb = process.resourceUsage().maxRSS / 1024;
const result = { cpuUsPerObject, peakRssMb };
// The watch of a client that lists begins after its sync; until then nobody waits for this message.
if (events > 0)
  for (const wait of [1000, 3000, 6000]) setTimeout(() => get(`${url}/synced`, (answer) => answer.resume()), wait);
if (events > 0) result.cpuUsPerEvent = await finished;
else {
  globalThis.gc();
  // Weak references hold objects for a turn; the other libraries' figures do not include those either.
  await sleep(300);
  globalThis.gc();
  result.heapMb = process.memoryUsage().heapUsed / 1e6;
}
process.send({ ...result, outOfOrder, kept: typeof kept });
process.exit(0);
