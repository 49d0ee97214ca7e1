// Runs clients in turn against one canned server, each in its own process. Used by sdk-sync.mjs and sdk-events.mjs.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { clientGoLibraries, measureClientGo } from './client-go.mjs';

const part = (name) => fileURLToPath(new URL(name, import.meta.url));

/**
 * Returns the results of each library, `runs` of them: Map(library → [{ cpuUsPerObject, … }]), and the bytes of a pod.
 * For `changes` and `replicas` see canned-pods.mjs.
 */
export async function measureClients({ libraries, objects, events = 0, changes = 'status', replicas = 0, runs }) {
  const canned = fork(part('canned-pods.mjs'), [objects, events, changes, replicas].map(String));
  const [{ port, bytesPerPod }] = await once(canned, 'message');
  const results = new Map(libraries.map((library) => [library, []]));
  const args = [`http://127.0.0.1:${port}`, String(objects), String(events)];
  try {
    for (let run = 0; run < runs; run += 1)
      for (const library of libraries) results.get(library).push(await measureOnce([library, ...args]));
  } finally {
    canned.disconnect();
  }
  return { results, bytesPerPod };
}

async function measureOnce(args) {
  if (clientGoLibraries.includes(args[0])) return await measureClientGo(args[0], args[1], Number(args[2]));
  const child = fork(part('sdk-client-process.mjs'), args, { execArgv: ['--expose-gc', ...flags] });
  const ended = once(child, 'exit');
  const [result] = await Promise.race([once(child, 'message'), ended.then(([code]) => [{ failed: code }])]);
  if (result.failed !== undefined) throw new Error(`${args[0]} ended with ${result.failed}`);
  if (result.outOfOrder > 0) throw new Error(`${args[0]} told ${result.outOfOrder} events out of order`);
  await ended;
  return result;
}

// KAPSTAN_BENCH_NODE_FLAGS="--cpu-prof --cpu-prof-dir=DIR" profiles the clients.
const flags = (process.env.KAPSTAN_BENCH_NODE_FLAGS ?? '').split(' ').filter((flag) => flag !== '');
