// This module is loaded into a measured server with --import, and answers each message of server-process.mjs with the
// process's CPU and memory. Loaded as probe.mjs?stalls, it adds the thread's longest stall and its most CPU in one turn
// since the last message. The product contains no code for it.
import { threadCpuMs } from './turns.mjs';

/** On a busy machine a timer of 1 ms takes 3 % of a core, which looks like a tenth of a create's cost. */
const intervalMs = 10;
let stallMs = 0;
let turnMs = 0;
let last = { wallMs: performance.now(), cpuMs: threadCpuMs() };

/** Records stall and turn. The timer fires late by the length of a turn, and fires between any two long turns. */
function look() {
  const now = { wallMs: performance.now(), cpuMs: threadCpuMs() };
  stallMs = Math.max(stallMs, now.wallMs - last.wallMs - intervalMs);
  turnMs = Math.max(turnMs, now.cpuMs - last.cpuMs);
  last = now;
}

if (import.meta.url.endsWith('?stalls')) setInterval(look, intervalMs).unref();

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, external } = process.memoryUsage();
  const memory = { rssMb: rss / 1048576, heapMb: heapUsed / 1048576, externalMb: external / 1048576 };
  process.send({ cpuUs: user + system, ...memory, stallMs, turnMs });
  stallMs = 0;
  turnMs = 0;
});
process.channel?.unref();
