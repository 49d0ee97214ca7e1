// One client of far-wire.mjs, in its own process: lists once, opens watches, counts their events. Each message to it starts the next step.
import { once } from 'node:events';
import { Client } from './far-libraries.mjs';
import { threadCpuMs } from './turns.mjs';

const options = JSON.parse(process.argv[2]);
const client = await Client[options.library](options);
const cpuUs = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};
let turnMs = 0;
let last = threadCpuMs();
setInterval(() => {
  const now = threadCpuMs();
  turnMs = Math.max(turnMs, now - last);
  last = now;
}, 1).unref();

/** One-time work of a process, such as the compilation of undici's parser, is not measured. */
await client.warmUp();
globalThis.gc();
process.send('ready');
await once(process, 'message');
turnMs = 0;
const beforeList = cpuUs();
const { count, resourceVersion } = await client.list();
if (count < options.objects) throw new Error(`listed ${count} of ${options.objects}`);
process.send({ cpuUs: cpuUs() - beforeList, turnMs });
await once(process, 'message');
let delivered = 0;
let ended;
const all = new Promise((resolve) => {
  ended = resolve;
});
await client.watch(resourceVersion, () => {
  delivered += 1;
  if (delivered === options.watches * options.updates) ended();
});
process.send('open');
await once(process, 'message');
const beforeEvents = cpuUs();
await all;
process.send({ cpuUs: cpuUs() - beforeEvents });
