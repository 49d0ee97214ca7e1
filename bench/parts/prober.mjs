// Measures how long a GET of one small object takes while a load runs: 50 per second over one connection, from its own
// process.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('get-prober.mjs', import.meta.url));

/** Returns `beside(work)`, which resolves to `{ p50Ms, p99Ms, gets }` of the GETs during the work, and `close()`. */
export async function startProber({ url, token, ca }, path) {
  const child = fork(program, [JSON.stringify({ url, token, ca }), path], { execArgv: [] });
  const answer = async () => (await once(child, 'message'))[0];
  await answer();
  const ask = (order) => {
    child.send(order);
    return answer();
  };
  const beside = async (work) => {
    await ask('begin');
    await work();
    const sorted = (await ask('end')).sort((a, b) => a - b);
    const at = (share) => sorted[Math.floor((sorted.length - 1) * share)];
    return { p50Ms: at(0.5), p99Ms: at(0.99), gets: sorted.length };
  };
  return { beside, close: () => child.disconnect() };
}
