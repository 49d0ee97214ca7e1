// Child of refused-page.test.ts: makes a dozen creates one after another and prints their outcomes. It runs the
// built package.
import { openLmdbEngine } from '@kapstan/storage-lmdb';

const outcomes = [];
let hasFailed = false;
const onFatal = () => {
  hasFailed = true;
};
const engine = await openLmdbEngine({ dataDir: process.argv[2], onFatal });
for (let count = 1; count <= 12; count++) {
  const key = `/k/${count}`;
  const change = { type: 'put', value: Buffer.alloc(3_000, count) };
  try {
    const { revision } = await engine.commit({ key, expectedRevision: 0, change });
    outcomes.push({ key, revision });
  } catch ({ code, maybeApplied }) {
    outcomes.push({ key, code, maybeApplied });
  }
}
await engine.close();
console.log(JSON.stringify({ outcomes, hasFailed }));
