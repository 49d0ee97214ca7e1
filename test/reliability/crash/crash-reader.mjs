// Child of crash-images.test.ts: reads directories from stdin, opens each store and prints its contents. It is its own
// process, because LMDB ends the process when pages are wrong. It runs the built package.
import { createInterface } from 'node:readline';
import { openLmdbEngine } from '@kapstan/storage-lmdb';

async function read(dataDir) {
  let engine;
  try {
    engine = await openLmdbEngine({ dataDir });
    const { problems } = await engine.check();
    const { kvs, revision } = await engine.range({ start: '/registry/', end: '/registry0' });
    const states = kvs.map(({ key, modRevision, value }) => ({
      key,
      modRevision,
      value: Buffer.from(value).toString(),
    }));
    return { problems, revision, states };
  } catch (error) {
    return { problems: [String(error)], revision: 0, states: [] };
  } finally {
    await engine?.close();
  }
}

for await (const dataDir of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await read(dataDir))}\n`);
}
