// Loaded into a measured server with --import: answers each message with the process's CPU and memory, and as
// probe.mjs?stalls also with the longest stall and the most CPU of its thread in one turn since the message before (the timer
// costs about 1 % of a core). Nothing of the product knows of it. Asked by server-process.mjs.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { threadCpuMs } from './turns.mjs';

const watchesStalls = import.meta.url.endsWith('?stalls');
const delay = monitorEventLoopDelay({ resolution: 1 });
let turnMs = 0;
let lastMs = threadCpuMs();

/** A timer that is due fires between any two turns of a millisecond and more. */
function look() {
  const nowMs = threadCpuMs();
  turnMs = Math.max(turnMs, nowMs - lastMs);
  lastMs = nowMs;
}

if (watchesStalls) {
  delay.enable();
  setInterval(look, 1).unref();
}

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  const memory = { rssMb: rss / 1048576, heapMb: heapUsed / 1048576 };
  process.send({ cpuUs: user + system, ...memory, stallMs: delay.max / 1e6, turnMs });
  delay.reset();
  turnMs = 0;
});
process.channel?.unref();
