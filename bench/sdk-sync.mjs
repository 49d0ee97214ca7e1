// Measures an informer's first sync of 20,000 pods from a server of prebuilt bytes: the client's CPU per object, heap and peak RSS. Our
// client (by stream, its default, and by list) takes turns with other clients and with JSON.parse of the same list. The same is measured
// for the pods' metadata alone. All figures are given for both populations; the recorded ones are for pods that are all alike.
import { clientGoLibraries } from './parts/client-go.mjs';
import { figure, median } from './parts/figures.mjs';
import { populations } from './parts/populations.mjs';
import { measureClients } from './parts/sdk-client.mjs';
import { hasFluent } from './parts/sdk-libraries.mjs';

const objects = Number(process.env.KAPSTAN_BENCH_OBJECTS ?? 20_000);
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 5);
const ours = ['kapstan', 'kapstan-list', 'kapstan-metadata', 'kapstan-metadata-list'];
const libraries = [...ours, 'json-parse', 'client-node', ...(hasFluent ? ['fluent'] : []), ...clientGoLibraries];
const bench = 'sdk-sync';

for (const { of: name, replicas } of populations) {
  const { results, bytesPerPod } = await measureClients({ libraries, objects, replicas, runs });
  const of = (library, key) => results.get(library).map((one) => one[key]);
  const middle = (library, key) => median(of(library, key));
  const recorded = (name, value) => ({ name, value, recorded: true });
  const hasClientGo = clientGoLibraries.length > 0;
  /** Returns the figure of client-go's `library` from this run, or else the recorded one. */
  const clientGo = (name, library, value, key = 'cpuUsPerObject') =>
    hasClientGo
      ? { name: `client-go, ${name}`, value: middle(`client-go-${library}`, key) }
      : recorded(`client-go, ${name}`, value);
  const parse = middle('json-parse', 'cpuUsPerObject');
  const clientNode = middle('client-node', 'cpuUsPerObject');
  const fluent = hasFluent ? middle('fluent', 'cpuUsPerObject') : 48;

  const typedList = clientGo('typed JSON list', 'typed-list', 65);
  console.log(`${bench}: ${objects} of ${name}, each of ${Math.round(bytesPerPod)} bytes`);
  const peers = [
    { name: 'http.get and JSON.parse, objects kept', value: parse },
    { name: 'client-node 1.4', value: clientNode },
    hasFluent ? { name: 'kubernetes-fluent-client', value: fluent } : recorded('kubernetes-fluent-client', fluent),
    typedList,
    clientGo('typed JSON watch-list', 'typed', 170),
    clientGo('dynamic', 'dynamic-list', 154),
    recorded('client-go, typed protobuf', 23),
  ];
  const targets = [
    { atMost: 1.4 * parse, why: '1.4 x JSON.parse' },
    { atMost: clientNode / 2, why: 'half of client-node' },
    { atMost: typedList.value / 2, why: `half of client-go's typed JSON list${hasClientGo ? '' : ', recorded'}` },
    { atMost: fluent / 1.3, why: 'fluent / 1.3' },
  ];
  for (const [library, by] of [
    ['kapstan', 'streamed'],
    ['kapstan-list', 'listed'],
  ]) {
    const samples = of(library, 'cpuUsPerObject');
    for (const [index, target] of targets.entries()) {
      const beside = index === 0 ? peers : [];
      figure({ bench, what: `CPU per object, ${by}, ${name}`, unit: 'us', samples, peers: beside, target });
    }
  }
  for (const [what, key, limit, others] of [
    [
      'heap when synced',
      'heapMb',
      139,
      [clientGo('typed JSON list', 'typed-list', 112, 'heapMb'), recorded('fluent', 109)],
    ],
    [
      'peak RSS',
      'peakRssMb',
      250,
      [clientGo('typed JSON list', 'typed-list', 184, 'peakRssMb'), recorded('fluent', 342)],
    ],
  ]) {
    const beside = [{ name: 'client-node 1.4', value: middle('client-node', key) }, ...others];
    figure({
      bench,
      what: `${what}, ${name}`,
      unit: 'MB',
      samples: of('kapstan', key),
      peers: beside,
      target: { atMost: limit },
    });
  }
  for (const [library, by, peer] of [
    ['kapstan-metadata', 'streamed', clientGo('metadata, watch-list', 'metadata', 65)],
    ['kapstan-metadata-list', 'listed', clientGo('metadata, list', 'metadata-list', 22)],
  ]) {
    const samples = of(library, 'cpuUsPerObject');
    figure({ bench, what: `CPU per object, metadata only, ${by}, ${name}`, unit: 'us', samples, peer });
  }
  const heapSamples = of('kapstan-metadata', 'heapMb');
  const heapPeers = [clientGo('metadata', 'metadata-list', 39, 'heapMb')];
  figure({
    bench,
    what: `heap when synced, metadata only, ${name}`,
    unit: 'MB',
    samples: heapSamples,
    peers: heapPeers,
  });
}
