// Measures the inspector of a manager: CPU of a run with it off and on, of one look with many failing keys, and the longest turn meanwhile.
// Objects are in memory; each run reads its object, writes once, and every other one fails.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { silentLogger } from '@kapstan/api';
import { configMap, FakeListerWatcher, testConfigMaps } from '@kapstan/api/testing';
import { controller, Manager } from '@kapstan/controller';
import { figure, median } from './parts/figures.mjs';

const objects = Number(process.env.KAPSTAN_BENCH_OBJECTS ?? 10_000);
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 5);
// Errors with one text and one stack, because Node's stack traces would make up most of the figure.
const refused = Object.assign(new Error('refused'), { stack: 'Error: refused' });

async function manage(inspect) {
  const maps = new FakeListerWatcher();
  for (let index = 0; index < objects; index++) maps.add(configMap({ name: `map-${index}` }));
  const written = async (_kind, object) => object;
  const client = { listerWatcher: () => maps, apply: written };
  let ended = 0;
  let finish;
  const all = new Promise((resolve) => {
    finish = resolve;
  });
  const copy = controller(testConfigMaps)
    .settings({ onOutcome: () => ++ended === objects && finish() })
    .reconcile(async (object, ctx) => {
      await ctx.client.apply(testConfigMaps, object, { fieldManager: 'x' });
      if (ended % 2 === 0) throw refused;
    });
  const stop = new AbortController();
  const manager = new Manager([copy], { client, inspect, logger: silentLogger, ownWritesTimeoutMs: 0 });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const before = process.cpuUsage();
  const running = manager.run(stop.signal);
  await all;
  const { user, system } = process.cpuUsage(before);
  delay.disable();
  const look = inspect ? await cpuOfLooks(manager) : 0;
  stop.abort();
  await running;
  return { microsOfRun: (user + system) / objects, look, longestMs: delay.max / 1e6 };
}

/** Asks six times, more than a second apart, so that each answer is computed again. */
async function cpuOfLooks(manager) {
  const looks = [];
  for (let index = 0; index < 6; index++) {
    await new Promise((resolve) => setTimeout(resolve, 1050));
    const before = process.cpuUsage();
    await (await fetch(`${manager.inspectorUrl}v1/overview`)).arrayBuffer();
    const { user, system } = process.cpuUsage(before);
    looks.push((user + system) / 1000);
  }
  return median(looks.slice(1));
}

await manage(false);
const off = [];
const on = [];
for (let run = 0; run < runs; run++) {
  off.push(await manage(false));
  on.push(await manage(true));
}
const samplesOf = (results, name) => results.map((result) => result[name]);
const bench = 'inspector';
const told = (what, unit, samples, more = {}) => figure({ bench, what, unit, samples, ...more });
const peer = { name: 'inspector off', value: median(samplesOf(off, 'microsOfRun')) };
told(`CPU of a run, ${objects} objects, inspector on`, 'µs', samplesOf(on, 'microsOfRun'), { peer });
told('CPU of a look with its request, half of the keys failing', 'ms', samplesOf(on, 'look'), {
  target: { atMost: 50 },
});
told('longest turn while all are reconciled, inspector on', 'ms', samplesOf(on, 'longestMs'));
told('the same with the inspector off', 'ms', samplesOf(off, 'longestMs'));
