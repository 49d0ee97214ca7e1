// Measures the memory that attacks leave behind. One server gets all attacks of parts/attacks.mjs, one after the other,
// then everything that they created is deleted. After each attack, and 0 and 150 s after the deletion (the server has
// collected its garbage twice by then), it prints resident memory, split into anonymous memory and pages of files (the
// store is mapped), heap and buffers. Linux only.
//   KAPSTAN_BENCH_SETTLE=60 npm run bench memory
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { attacks, deleteAll } from './parts/attacks.mjs';
import { figure } from './parts/figures.mjs';
import { httpCaller } from './parts/http-caller.mjs';
import { startServer } from './parts/server-process.mjs';

const settleSeconds = Number(process.env.KAPSTAN_BENCH_SETTLE ?? 150);
/** Largest anonymous memory after the attacks, as a multiple of the memory at the start. */
const goal = 2;

async function memoryOf(server) {
  const status = readFileSync(`/proc/${server.pid}/status`, 'latin1');
  const mebibytes = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1_024;
  const { heapMb, externalMb, cpuUs } = await server.measure();
  const resident = { anonMb: mebibytes('RssAnon'), fileMb: mebibytes('RssFile') };
  return { rssMb: mebibytes('VmRSS'), ...resident, heapMb, externalMb, cpuSeconds: cpuUs / 1e6 };
}

const names = {
  rssMb: 'RSS',
  anonMb: 'of it anonymous',
  fileMb: 'of it pages of files',
  heapMb: 'heap',
  externalMb: 'external',
};

async function record(server, when) {
  const memory = await memoryOf(server);
  for (const [key, what] of Object.entries(names))
    figure({ bench: 'memory', what: `${when}: ${what}`, unit: 'MiB', samples: [memory[key]] });
  return memory;
}

const server = await startServer();
const caller = httpCaller(server, 16);
await sleep(4_000);
const before = await record(server, 'at the start');
const ends = [];
for (const [name, attack] of Object.entries(attacks)) {
  const { cpuSeconds } = await memoryOf(server);
  ends.push(await attack({ call: caller.call, server }));
  const after = await record(server, `after ${name}`);
  figure({ bench: 'memory', what: `${name}: CPU`, unit: 's', samples: [after.cpuSeconds - cpuSeconds] });
}
for (const end of ends) end?.();
await deleteAll(caller);
await record(server, 'when all is deleted');
await sleep(settleSeconds * 1_000);
const after = await record(server, `${settleSeconds} s later`);
const target = { atMost: goal };
const samples = [after.anonMb / before.anonMb];
figure({ bench: 'memory', what: 'anonymous memory, in times of that at the start', unit: 'times', samples, target });
caller.close();
await server.close();
