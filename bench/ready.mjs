// Measures `kapstan serve` from the start of its process until it answers, on a fresh and on a used data directory, and
// its memory when idle.
import { setTimeout as sleep } from 'node:timers/promises';
import { figure } from './parts/figures.mjs';
import { startServer, temporaryFolder } from './parts/server-process.mjs';

const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 5);
const idleMs = 5_000;

async function start(dataDir) {
  const server = await startServer({ dataDir, stalls: false });
  const { cpuUs } = await server.measure();
  await sleep(idleMs);
  const idle = await server.measure();
  await server.close();
  return {
    seconds: server.secondsToReady,
    cpuSeconds: cpuUs / 1e6,
    rssMb: idle.rssMb,
    idleCpu: (idle.cpuUs - cpuUs) / (idleMs * 10),
  };
}

const fresh = [];
const used = [];
for (let run = 0; run < runs; run += 1) {
  const dataDir = temporaryFolder();
  fresh.push(await start(dataDir));
  used.push(await start(dataDir));
}

const peer = 'kube-apiserver + etcd';
for (const [name, starts] of [
  ['fresh data directory', fresh],
  ['used data directory', used],
]) {
  const of = (key) => starts.map((one) => one[key]);
  const common = { bench: 'ready' };
  figure({
    ...common,
    what: `start to ready, ${name}`,
    unit: 's',
    samples: of('seconds'),
    peer: { name: peer, value: 2.6, recorded: true },
  });
  figure({ ...common, what: `CPU until ready, ${name}`, unit: 's', samples: of('cpuSeconds') });
  figure({
    ...common,
    what: `RSS 5 s after ready, ${name}`,
    unit: 'MB',
    samples: of('rssMb'),
    peer: { name: peer, value: 295, recorded: true },
  });
  figure({
    ...common,
    what: `idle CPU, ${name}`,
    unit: '% of a core',
    samples: of('idleCpu'),
    peer: { name: peer, value: 1.6, recorded: true },
  });
}
