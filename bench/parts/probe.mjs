// Loaded into a measured server with --import: answers each message with the process's CPU and memory, and as
// probe.mjs?stalls also with the longest stall and the most CPU of its thread in one turn since the message before.
// Nothing of the product knows of it. Asked by server-process.mjs.
import { threadCpuMs } from './turns.mjs';

/** On a busy machine a timer of 1 ms takes 3 % of a core, and so a tenth of what a create seems to cost. */
const intervalMs = 10;
let stallMs = 0;
let turnMs = 0;
let last = { wallMs: performance.now(), cpuMs: threadCpuMs() };

/** The timer fires late by what a turn takes, and between any two turns that take long. */
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
