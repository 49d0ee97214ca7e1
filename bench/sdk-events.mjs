// Measures 200,000 MODIFIED events on one watch of 20,000 pods, as fast as the client takes them: the client's CPU per
// event, from the first to the last. Our client is compared with others and with JSON.parse of the same lines. A cache
// keeps the parsed values, so the collector has to move them; the row "kept" shows the cost of that alone. Two events
// of a pod differ in the version alone, or as after a kubelet's status update; in the last figure also in labels,
// owner, node and address. All figures are given for both populations.
import { figure, median } from './parts/figures.mjs';
import { populations } from './parts/populations.mjs';
import { measureClients } from './parts/sdk-client.mjs';
import { hasFluent } from './parts/sdk-libraries.mjs';

const objects = Number(process.env.KAPSTAN_BENCH_OBJECTS ?? 20_000);
const events = Number(process.env.KAPSTAN_BENCH_EVENTS ?? 200_000);
const runs = Number(process.env.KAPSTAN_BENCH_RUNS ?? 5);
const libraries = [
  'kapstan',
  'kapstan-metadata',
  'json-parse',
  'json-parse-kept',
  'client-node',
  ...(hasFluent ? ['fluent'] : []),
];

for (const { of, replicas } of populations) {
  for (const [changes, what] of [
    ['version', 'in the version alone, as from the server of the peers'],
    ['status', 'as after an update of the status'],
  ]) {
    const { results } = await measureClients({ libraries, objects, events, changes, replicas, runs });
    const middle = (library) => median(results.get(library).map((one) => one.cpuUsPerEvent));
    const parse = middle('json-parse');
    figure({
      bench: 'sdk-events',
      what: `CPU per event that differs ${what}, ${events} events on ${objects} of ${of}`,
      unit: 'us',
      samples: results.get('kapstan').map((one) => one.cpuUsPerEvent),
      peers: [
        { name: 'http.get, lines and JSON.parse, nothing kept', value: parse },
        { name: 'the same, each object kept in a Map', value: middle('json-parse-kept') },
        { name: 'client-node 1.4', value: middle('client-node') },
        hasFluent
          ? { name: 'kubernetes-fluent-client', value: middle('fluent') }
          : { name: 'kubernetes-fluent-client', value: 22.8, recorded: true },
        { name: 'client-go, typed', value: 145, recorded: true },
        { name: 'client-go, dynamic', value: 181, recorded: true },
      ],
      target: { atMost: 1.4 * parse, why: '1.4 x JSON.parse, nothing kept' },
    });
    figure({
      bench: 'sdk-events',
      what: `the same, metadata only, ${of}`,
      unit: 'us',
      samples: results.get('kapstan-metadata').map((one) => one.cpuUsPerEvent),
      peers: [{ name: 'client-go, metadata', value: 60, recorded: true }],
    });
  }

  const { results: allNew } = await measureClients({
    libraries: ['kapstan'],
    objects,
    events,
    changes: 'all',
    replicas,
    runs,
  });
  figure({
    bench: 'sdk-events',
    what: `CPU per event that changes metadata, spec and status, ${of}`,
    unit: 'us',
    samples: allNew.get('kapstan').map((one) => one.cpuUsPerEvent),
  });
}
