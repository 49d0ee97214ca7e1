// Lets 2, 4, 8 and 16 clients, each in its own process, write one object: they GET a ConfigMap, add one to its number and PUT it back with
// the version that they read. Measures conflicts in a row, how the wins are shared, and the server's CPU per win. With
// KAPSTAN_KUBE_APISERVER and KAPSTAN_ETCD the peer is measured in the same run, in turn.
//   KAPSTAN_BENCH_RUNS=5 KAPSTAN_BENCH_WRITERS=2,16 KAPSTAN_BENCH_INCREMENTS=400 KAPSTAN_BENCH_PAUSES=0,10 npm run bench contention
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { figure, median } from './parts/figures.mjs';
import { httpCaller } from './parts/http-caller.mjs';
import { hasPeer, startPeer } from './parts/peer-server.mjs';
import { startServer } from './parts/server-process.mjs';

const program = fileURLToPath(new URL('parts/counting-client.mjs', import.meta.url));
const numbers = (text) => text.split(',').map(Number);
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 3);
const writers = numbers(process.env.KAPSTAN_BENCH_WRITERS ?? '2,4,8,16');
const increments = Number(process.env.KAPSTAN_BENCH_INCREMENTS ?? 400);
/** Pauses after a conflict, in ms: 0, and 10 as in client-go's RetryOnConflict. */
const pauses = numbers(process.env.KAPSTAN_BENCH_PAUSES ?? '0,10');

const objects = '/api/v1/namespaces/default/configmaps';

async function startClient({ url, token, ca }, path, pauseMs) {
  const child = fork(program, [JSON.stringify({ url, token, ca }), path, String(increments), String(pauseMs)], {
    execArgv: [],
  });
  await once(child, 'message');
  return child;
}

/** Returns how often the winner of one number also wins the next; chance would give 1 / clients. */
function repeatedWins(results) {
  const winners = [];
  for (const [client, { wins }] of results.entries()) for (const count of wins) winners[count] = client;
  const repeated = winners.filter((winner, count) => count > 1 && winner === winners[count - 1]);
  return repeated.length / (increments - 1);
}

async function race(server, { clients, pauseMs, name }) {
  const caller = httpCaller(server, 1);
  await caller.call('POST', objects, JSON.stringify({ metadata: { name }, data: { count: '0' } }));
  const children = [];
  for (let index = 0; index < clients; index++) children.push(await startClient(server, `${objects}/${name}`, pauseMs));
  const before = await server.measure();
  const begin = performance.now();
  for (const child of children) child.send('go');
  const results = await Promise.all(children.map(async (child) => (await once(child, 'message'))[0]));
  const seconds = (performance.now() - begin) / 1_000;
  const { cpuUs } = await server.measure();
  caller.close();
  const wins = results.map((result) => result.wins.length);
  return {
    worstStreak: Math.max(...results.map((result) => result.worstStreak)),
    luckiest: Math.max(...wins) / increments,
    repeated: repeatedWins(results),
    conflicts: results.reduce((sum, result) => sum + result.conflicts, 0) / increments,
    perSecond: increments / seconds,
    cpuMs: (cpuUs - before.cpuUs) / 1_000 / increments,
  };
}

const units = {
  worstStreak: ['worst streak of conflicts', 'conflicts'],
  luckiest: ['wins of the luckiest client', 'of all'],
  repeated: ['wins that follow a win of the same client', 'of all'],
  conflicts: ['conflicts per increment', 'conflicts'],
  perSecond: ['increments', 'per s'],
  cpuMs: ['CPU of the server per increment', 'ms'],
};

const servers = [['kapstan', await startServer()]];
if (hasPeer) servers.push(['kube-apiserver + etcd', await startPeer()]);
for (const pauseMs of pauses)
  for (const clients of writers) {
    const races = new Map(servers.map(([name]) => [name, []]));
    for (let run = 0; run < runs; run++)
      for (const [who, server] of servers)
        races.get(who).push(await race(server, { clients, pauseMs, name: `count-${pauseMs}-${clients}-${run}` }));
    const pause = pauseMs === 0 ? '' : `, ${pauseMs} ms after a conflict`;
    for (const [key, [what, unit]] of Object.entries(units)) {
      const of = (who) => races.get(who).map((each) => each[key]);
      const [, ...others] = servers;
      const peers = others.map(([name]) => ({ name, value: median(of(name)) }));
      figure({ bench: 'contention', what: `${clients} clients${pause}: ${what}`, unit, samples: of('kapstan'), peers });
    }
  }
for (const [, server] of servers) await server.close();
