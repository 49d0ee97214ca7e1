// This module is loaded into the process of a server under test. It answers each message with the memory that is held
// after a collection, in MiB, and the CPU that the process has used, in seconds. Used by unread-watches.test.ts.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  process.send({ heldMebibytes: (heapUsed + external) / 1_048_576, cpuSeconds: (user + system) / 1e6 });
});
process.channel?.unref();
