// Measures the cost of @kapstan/testing in a test process: importing it, the first testCluster() of the process, and
// further ones with and without HTTP, until they may be used. Time and CPU of new processes; import and bare node are
// given to separate the process's own cost.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { figure } from './parts/figures.mjs';

const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 5);
const further = Number(process.env.KAPSTAN_BENCH_CLUSTERS ?? 10);
const cwd = fileURLToPath(new URL('..', import.meta.url));

/** Measures clusters with these values of `http`. Each is closed before the next is made. */
function measure(http) {
  const program = `
    const figures = {};
    const timed = async (name, work) => {
      const before = process.cpuUsage();
      const begin = performance.now();
      const result = await work();
      const wall = performance.now() - begin;
      const { user, system } = process.cpuUsage(before);
      (figures[name] ??= []).push({ wall, cpu: (user + system) / 1000 });
      return result;
    };
    const { testCluster } = await timed('import', () => import('@kapstan/testing'));
    const options = { http: ${JSON.stringify(http)} };
    const first = await timed('first', () => testCluster(options));
    await first.close();
    for (let index = 0; index < ${further}; index += 1) {
      const cluster = await timed('further', () => testCluster(options));
      await cluster.close();
    }
    console.log(JSON.stringify({ figures, rssMb: process.memoryUsage.rss() / 1048576 }));
  `;
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', program], { cwd, encoding: 'utf8' }));
}

const results = { off: [], on: [] };
for (let run = 0; run < runs; run += 1) for (const http of ['off', 'on']) results[http].push(measure(http));

const bench = 'testing';
const samplesOf = (chosen, name, key) => chosen.flatMap(({ figures }) => figures[name].map((one) => one[key]));
const both = [...results.off, ...results.on];
for (const [what, chosen, name, atMost] of [
  ['import of @kapstan/testing', both, 'import', 350],
  ["first testCluster(), http: 'off'", results.off, 'first', 120],
  ['first testCluster()', results.on, 'first', undefined],
  ["further testCluster(), http: 'off'", results.off, 'further', 50],
  ['further testCluster()', results.on, 'further', 90],
]) {
  const target = atMost === undefined ? {} : { target: { atMost } };
  figure({ bench, what: `${what}: time`, unit: 'ms', samples: samplesOf(chosen, name, 'wall'), ...target });
  figure({ bench, what: `${what}: CPU`, unit: 'ms', samples: samplesOf(chosen, name, 'cpu') });
}
figure({ bench, what: 'RSS at the end', unit: 'MB', samples: both.map(({ rssMb }) => rssMb) });
