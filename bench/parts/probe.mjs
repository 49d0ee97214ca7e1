// Loaded into a measured server with --import: answers each message with the process's CPU and memory, and as
// probe.mjs?stalls also with the longest stall since the message before (its timer costs about 1 % of a core).
// Nothing of the product knows of it. Asked by server-process.mjs.
import { monitorEventLoopDelay } from 'node:perf_hooks';

const delay = monitorEventLoopDelay({ resolution: 1 });
if (import.meta.url.endsWith('?stalls')) delay.enable();

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  process.send({ cpuUs: user + system, rssMb: rss / 1048576, heapMb: heapUsed / 1048576, stallMs: delay.max / 1e6 });
  delay.reset();
});
process.channel?.unref();
