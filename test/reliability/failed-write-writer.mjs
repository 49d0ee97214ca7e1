// Child of failed-write.test.ts. It runs with a limit on file sizes (ulimit -f), so that LMDB's write fails in the
// kernel at some point, as on a full or broken disk, and prints the engine's errors.
import { writeSync } from 'node:fs';
import { openLmdbEngine } from '@kapstan/storage-lmdb';

const print = (record) => writeSync(1, `${JSON.stringify(record)}\n`);
const [dataDir] = process.argv.slice(2);
const describe = (error) => ({
  code: error.code,
  maybeApplied: error.maybeApplied,
  hasCause: error.cause !== undefined,
});
const fatal = [];
const engine = await openLmdbEngine({ dataDir, onFatal: (error) => fatal.push(String(error)) });
let watchError;
let lastEvent = 0;
engine.watch(
  { start: '/', end: '0' },
  { after: 1 },
  {
    onEvents: (_, revision) => {
      lastEvent = revision;
    },
    onProgress: () => undefined,
    onError: (error) => {
      watchError = describe(error);
    },
  },
);
const create = (key) =>
  engine.commit({ key, expectedRevision: 0, change: { type: 'put', value: Buffer.alloc(4_000, 1) } });

let last = 0;
let failures = [];
for (let index = 0; failures.length === 0; index += 1) {
  const settled = await Promise.allSettled(Array.from({ length: 8 }, (_, at) => create(`/k/${index}/${at}`)));
  for (const each of settled) if (each.status === 'fulfilled') last = Math.max(last, each.value.revision);
  failures = settled.filter((each) => each.status === 'rejected').map((each) => describe(each.reason));
}
const refused = [];
for (const call of [
  () => create('/late'),
  () => engine.get('/k/0/0'),
  () => engine.currentRevision(),
  () => engine.grantLease(9),
]) {
  await call().catch((error) => refused.push(describe(error)));
}
print({ last, lastEvent, failures, refused, watchError, fatal });
await engine.close();
process.exitCode = 7;
