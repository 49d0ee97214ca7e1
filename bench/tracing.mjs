// Measures tracing of a manager: CPU of a run without the option, with the API alone, with a provider that samples nothing, and with one
// that samples all. Objects are in memory; each run reads its object and writes once. Spans are dropped, because the cost of an exporter is
// not ours.
import { silentLogger } from '@kapstan/api';
import { configMap, FakeListerWatcher, testConfigMaps } from '@kapstan/api/testing';
import { controller, Manager } from '@kapstan/controller';
import * as api from '@opentelemetry/api';
import { AlwaysOffSampler, AlwaysOnSampler, BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import { figure, median } from './parts/figures.mjs';

const objects = Number(process.env.KAPSTAN_BENCH_OBJECTS ?? 10_000);
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 7);
const settle = globalThis.gc ?? (() => undefined);

async function manage(tracing) {
  const maps = new FakeListerWatcher();
  for (let index = 0; index < objects; index++) maps.add(configMap({ name: `map-${index}` }));
  const client = { listerWatcher: () => maps, apply: async (_kind, object) => object };
  let ended = 0;
  let finish;
  const all = new Promise((resolve) => {
    finish = resolve;
  });
  const copy = controller(testConfigMaps)
    .settings({ onOutcome: () => ++ended === objects && finish() })
    .reconcile(async (object, ctx) => {
      await ctx.client.apply(testConfigMaps, object, { fieldManager: 'x' });
    });
  const stop = new AbortController();
  const manager = new Manager([copy], { client, tracing, logger: silentLogger, ownWritesTimeoutMs: 0 });
  settle();
  const before = process.cpuUsage();
  const running = manager.run(stop.signal);
  await all;
  const { user, system } = process.cpuUsage(before);
  stop.abort();
  await running;
  return (user + system) / objects;
}

const provider = (sampler) => ({ api, tracerProvider: new BasicTracerProvider({ sampler }) });
const forms = {
  'no provider registered': { api },
  'provider, sampling off': provider(new AlwaysOffSampler()),
  'provider, sampling on': provider(new AlwaysOnSampler()),
};
const absent = [];
const samples = Object.fromEntries(Object.keys(forms).map((name) => [name, []]));
await manage(undefined);
for (let run = 0; run < runs; run++) {
  absent.push(await manage(undefined));
  for (const [name, tracing] of Object.entries(forms)) samples[name].push(await manage(tracing));
}
const peer = { name: 'tracing absent', value: median(absent) };
for (const [name, values] of Object.entries(samples))
  figure({ bench: 'tracing', what: `CPU of a run, ${objects} objects: ${name}`, unit: 'µs', samples: values, peer });
