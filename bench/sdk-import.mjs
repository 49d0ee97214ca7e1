// Measures the cost of loading the SDK into a process that has done nothing yet: time, CPU and memory above bare node,
// each in a new process.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { figure, median } from './parts/figures.mjs';

const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 5);
const cwd = fileURLToPath(new URL('..', import.meta.url));

function measure(specifier) {
  const program = `
    ${specifier === undefined ? '' : `await import(${JSON.stringify(specifier)});`}
    const { user, system } = process.cpuUsage();
    console.log(JSON.stringify({ wallMs: performance.now(), cpuMs: (user + system) / 1000, rssMb: process.memoryUsage.rss() / 1048576 }));
  `;
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', program], { cwd, encoding: 'utf8' }));
}

const specifiers = [
  undefined,
  '@kapstan/controller',
  '@kapstan/client',
  '@kapstan/informers',
  '@kubernetes/client-node',
];
const results = new Map(specifiers.map((specifier) => [specifier, []]));
for (let run = 0; run < runs; run += 1) for (const one of specifiers) results.get(one).push(measure(one));

const bare = (key) => median(results.get(undefined).map((one) => one[key]));
const above = (specifier, key) => results.get(specifier).map((one) => one[key] - bare(key));
// Time depends on the machine and its other users, so the limit applies to CPU.
for (const specifier of ['@kapstan/controller', '@kapstan/client', '@kapstan/informers']) {
  for (const [what, key, unit, atMost] of [
    ['time', 'wallMs', 'ms'],
    ['CPU', 'cpuMs', 'ms', 300],
    ['RSS', 'rssMb', 'MB', 32],
  ]) {
    const peers = [{ name: 'import of client-node 1.4', value: median(above('@kubernetes/client-node', key)) }];
    const target = specifier === '@kapstan/controller' && atMost !== undefined ? { target: { atMost } } : {};
    const samples = above(specifier, key);
    figure({ bench: 'sdk-import', what: `${what} to import ${specifier}`, unit, samples, peers, ...target });
  }
}
