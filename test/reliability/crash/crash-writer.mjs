// Child of crash-images.test.ts: 8 writers create, update and delete their own keys, and print each acknowledgement
// with one system call. It runs the built package and ends without closing the store. With "noSync", LMDB never waits
// for the disk.
import { closeSync, openSync, writeSync } from 'node:fs';

const [dataDir, acknowledgements, seedText, durability] = process.argv.slice(2);
if (durability === 'noSync') await import('./no-sync-lmdb.mjs');
const { openLmdbEngine } = await import('@kapstan/storage-lmdb');

const commitsEach = 40;
let seed = Number(seedText);
const random = () => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
  return (seed >>> 8) / 0x7fffff;
};

const told = openSync(acknowledgements, 'w');
const engine = await openLmdbEngine({ dataDir });

/** Returns a value that contains its own name, with a pattern that a torn page breaks. */
function selfTelling(key, count) {
  const size = Math.floor(random() ** 3 * 12_000);
  return Buffer.from(`${key} ${count} ${size} ${'x'.repeat(size)}`);
}

async function writer(number) {
  const states = new Map();
  for (let count = 1; count <= commitsEach; count++) {
    const key = `/registry/things/${number}-${Math.floor(random() * 6)}`;
    const expectedRevision = states.get(key) ?? 0;
    const change =
      expectedRevision > 0 && random() < 0.25 ? { type: 'delete' } : { type: 'put', value: selfTelling(key, count) };
    const { succeeded, revision } = await engine.commit({ key, expectedRevision, change });
    if (!succeeded) throw new Error(`${key} was refused`);
    states.set(key, change.type === 'put' ? revision : 0);
    writeSync(told, `${change.type} ${key} ${count} ${revision}\n`);
    // Compacting frees pages that later commits reuse.
    if (number === 0 && count % 8 === 0) await engine.compact(revision - 5);
  }
}

await Promise.all(Array.from({ length: 8 }, (_, number) => writer(number)));
closeSync(told);
process.kill(process.pid, 'SIGKILL');
