// Compares a reconcile end to end with the same controller in controller-runtime: CPU and memory of the controller's process, for a start
// with objects that are already up to date, and for changes that each need an apply and a status update. The peer runs when
// KAPSTAN_BENCH_CONTROLLER_RUNTIME names the program built from parts/reconcile-peer (go mod tidy && go build). With KAPSTAN_BENCH_BARE=1
// a bare Node program shows the least that this can cost in Node.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { defineResource, resource } from '@kapstan/api';
import { connect } from '@kapstan/client';
import { figure, median } from './parts/figures.mjs';
import { startedProcess, startServer, temporaryFolder } from './parts/server-process.mjs';

const objects = Number(process.env.KAPSTAN_BENCH_OBJECTS ?? 20_000);
const changes = Number(process.env.KAPSTAN_BENCH_CHANGES ?? 2_000);
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 3);
const peer = process.env.KAPSTAN_BENCH_CONTROLLER_RUNTIME;
const ours = fileURLToPath(new URL('parts/reconcile-client.mjs', import.meta.url));
const bare = fileURLToPath(new URL('parts/reconcile-bare.mjs', import.meta.url));
/** Requests of this program that are under way at once. */
const parallel = 8;

const text = { type: 'object', properties: { text: { type: 'string' } } };
const Echo = defineResource({ group: 'demo.dev', version: 'v1', kind: 'Echo', spec: text, status: text });

const CustomResourceDefinition = resource({
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  scope: 'Cluster',
});

const server = await startServer({ stalls: false });
const kubeconfig = join(temporaryFolder(), 'kubeconfig');
const cluster = { server: server.url, 'certificate-authority-data': Buffer.from(server.ca).toString('base64') };
const named = (name, key, value) => [{ name, [key]: value }];
writeFileSync(
  kubeconfig,
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: named('bench', 'cluster', cluster),
    users: named('bench', 'user', { token: server.token }),
    contexts: named('bench', 'context', { cluster: 'bench', user: 'bench' }),
    'current-context': 'bench',
  }),
);
const client = await connect({ kubeconfig });
const nameOf = (index) => `echo-${String(index).padStart(6, '0')}`;

/** Calls the function for 0 … count-1, some at a time. */
async function each(count, call) {
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < count; index = next++) await call(index);
  };
  await Promise.all(Array.from({ length: parallel }, worker));
}

const setText = (index, value) => {
  const target = { namespace: 'default', name: nameOf(index) };
  return client.patch(Echo, target, { type: 'merge', body: { spec: { text: value } } });
};

/** Returns the CPU that a process has used so far, user and system, in milliseconds. */
function cpuMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  // Clock ticks are a hundredth of a second on every Linux.
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const memoryMb = (pid, key) =>
  Number(new RegExp(`${key}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`))[1]) / 1024;

/** Starts a controller. `line(text)` resolves when it prints that line. */
function startController(command, args) {
  const { child, end } = startedProcess(spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] }));
  const printed = [];
  let notify = () => undefined;
  createInterface({ input: child.stdout }).on('line', (text) => {
    printed.push(text);
    notify();
  });
  const line = async (wanted) => {
    while (!printed.includes(wanted)) {
      if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}`);
      await new Promise((resolve) => {
        notify = resolve;
        child.once('exit', resolve);
      });
    }
    printed.splice(0, printed.indexOf(wanted) + 1);
  };
  return { pid: child.pid, line, end };
}

/** Measures one start and four series of changes. */
async function measure([command, ...args], round) {
  const controller = startController(command, [...args, kubeconfig, String(objects), String(changes)]);
  const { pid } = controller;
  await controller.line('seen');
  const startMs = cpuMs(pid);
  const series = [];
  // The first series compiles the code; the last one shows the cost of a change in a warm process.
  for (let nth = 0; nth < 4; nth++) {
    const beforeMs = cpuMs(pid);
    const done = controller.line('written');
    await each(changes, (index) => setText(index, `changed ${round}.${nth}`));
    await done;
    series.push(((cpuMs(pid) - beforeMs) * 1000) / changes);
  }
  const result = { startUs: (startMs * 1000) / objects, firstChangeUs: series[0], changeUs: series.at(-1) };
  const memory = { rssMb: memoryMb(pid, 'VmRSS'), peakRssMb: memoryMb(pid, 'VmHWM') };
  await controller.end('SIGTERM');
  return { ...result, ...memory };
}

const node = [process.execPath, ours];
await client.create(CustomResourceDefinition, Echo.definition);
const isServed = () =>
  client.list(Echo, { limit: 1 }).then(
    () => true,
    () => false,
  );
while (!(await isServed())) await sleep(50);
await each(objects, (index) => {
  const metadata = { namespace: 'default', name: nameOf(index) };
  return client.create(Echo, { metadata, spec: { text: 'first' } });
});
// An unmeasured run first brings everything into the desired state.
const first = startController(node[0], [node[1], kubeconfig, String(objects), String(objects)]);
await first.line('written');
await first.end('SIGTERM');

const programs = [
  ['kapstan', node],
  ...(peer === undefined ? [] : [['controller-runtime', [peer]]]),
  ...(process.env.KAPSTAN_BENCH_BARE === '1' ? [['bare Node', [process.execPath, bare]]] : []),
];
const results = new Map(programs.map(([name]) => [name, []]));
let round = 0;
for (let run = 0; run < runs; run++)
  for (const [name, command] of programs) results.get(name).push(await measure(command, round++));
await client.close();
await server.close();

const bench = 'reconcile';
for (const [what, key, unit, times] of [
  [`CPU per object at a start on ${objects}`, 'startUs', 'us', 1],
  [`CPU per change of the first ${changes}: event, apply, status`, 'firstChangeUs', 'us', 1],
  [`CPU per change after ${3 * changes} of them`, 'changeUs', 'us', 1],
  ['RSS after it', 'rssMb', 'MB', 1.2],
  ['peak RSS', 'peakRssMb', 'MB', 1.2],
]) {
  const of = (name) => (results.get(name) ?? []).map((one) => one[key]);
  const beside = peer && { name: 'controller-runtime', value: median(of('controller-runtime')) };
  const target = beside && { atMost: times * beside.value, why: `${times} x controller-runtime` };
  figure({ bench, what, unit, samples: of('kapstan'), peer: beside, target });
  const least = of('bare Node');
  if (least.length > 0)
    figure({ bench, what: `the bound, a bare program: ${what}`, unit, samples: least, peer: beside });
}
