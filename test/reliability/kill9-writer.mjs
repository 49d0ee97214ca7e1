// Child of kill9.test.ts: creates keys 64 at a time and prints each one when it is acknowledged, until it is killed. It
// runs the built package, as users do.
import { writeSync } from 'node:fs';
import { openLmdbEngine } from '@kapstan/storage-lmdb';

const [dataDir, round] = process.argv.slice(2);
const engine = await openLmdbEngine({ dataDir });
writeSync(1, `opened ${await engine.currentRevision()}\n`);
const value = Buffer.alloc(500, round);
let next = 0;

async function writer() {
  for (;;) {
    next += 1;
    const key = `/registry/things/round-${round}/${String(next).padStart(6, '0')}`;
    const { succeeded, revision } = await engine.commit({ key, expectedRevision: 0, change: { type: 'put', value } });
    // One system call writes it before anything else happens, so everything that the parent reads was acknowledged.
    writeSync(1, `${succeeded ? 'acknowledged' : 'refused'} ${key} ${revision}\n`);
  }
}

await Promise.all(Array.from({ length: 64 }, writer));
