// The numbers of cachers under the names that kube-apiserver gives them, as data: no package below the server knows a metrics
// library. Above: whoever serves /metrics. apiserver_terminated_watchers_total is the HTTP layer's, which alone sees slow
// clients. Source: apiserver storage/cacher/metrics.
import type { HistogramCounts, MetricFamily } from '@kapstan/storage';
import type { CacherInspection } from './cacher-inspection.ts';

/** One cacher at one moment. */
export interface InspectedResource {
  readonly group: string;
  readonly resource: string;
  readonly inspection: CacherInspection;
}

interface Row {
  readonly name: string;
  readonly help: string;
  readonly type: MetricFamily['type'];
  /** Values of one cacher, with the labels beside group and resource. */
  readonly read: (inspection: CacherInspection) => readonly (readonly [number | HistogramCounts, Labels?])[];
}

type Labels = Readonly<Record<string, string>>;

// kube-apiserver cuts versions so that a float64 holds them.
const versionModulus = 1e15;

const rows: readonly Row[] = [
  counter(
    'apiserver_watch_cache_events_received_total',
    'Events that the cache got from the storage.',
    (c) => c.eventsReceived,
  ),
  counter(
    'apiserver_watch_cache_events_dispatched_total',
    'Events brought to the watchers.',
    (c) => c.eventsDispatched,
  ),
  counter('apiserver_watch_cache_initializations_total', 'Lists that filled the cache.', (c) => c.initializations),
  counter('apiserver_watch_cache_initialization_errors_total', 'Lists that failed.', (c) => c.initializationErrors),
  counter('apiserver_init_events_total', 'Objects and past events that new watchers looked at.', (c) => c.initEvents),
  {
    name: 'kapstan_watch_cache_ended_watches_total',
    help: 'Watches that the cache ended, by reason. Those of slow clients are in apiserver_terminated_watchers_total.',
    type: 'counter',
    read: ({ counters }) => Object.entries(counters.ended).map(([reason, count]) => [count, { reason }] as const),
  },
  counter('watch_cache_capacity_increase_total', 'How often the history grew.', (c) => c.historyIncreases),
  counter('watch_cache_capacity_decrease_total', 'How often the history shrank.', (c) => c.historyDecreases),
  {
    name: 'watch_cache_capacity',
    help: 'Events that the history can hold.',
    type: 'gauge',
    read: ({ history }) => [[history.capacity]],
  },
  {
    name: 'apiserver_watch_cache_resource_version',
    help: 'Version of the cache, modulo 10^15.',
    type: 'gauge',
    read: ({ revision }) => [[revision % versionModulus]],
  },
  {
    name: 'apiserver_watch_cache_consistent_read_total',
    help: 'Consistent reads by success and by whether the storage had to answer.',
    type: 'counter',
    read: ({ counters: c }) => [
      [c.consistentReads, { success: 'true', fallback: 'false' }],
      [c.consistentReadFallbacks - c.consistentReadFailures, { success: 'true', fallback: 'true' }],
      [c.consistentReadFailures, { success: 'false', fallback: 'true' }],
    ],
  },
  byIndex('apiserver_cache_list_total', 'Lists answered from the cache.', 'lists'),
  byIndex('apiserver_cache_list_fetched_objects_total', 'Objects that lists from the cache looked at.', 'fetched'),
  byIndex('apiserver_cache_list_returned_objects_total', 'Objects that lists from the cache returned.', 'returned'),
  {
    name: 'apiserver_storage_consistency_checks_total',
    help: 'Comparisons of the cache with the storage by outcome.',
    type: 'counter',
    read: ({ counters }) =>
      Object.entries(counters.consistencyChecks).map(([status, count]) => [count, { status }] as const),
  },
  histogram('apiserver_watch_cache_read_wait_seconds', 'How long reads waited for the cache.', (d) => d.readWait),
  histogram(
    'apiserver_watch_cache_initialization_duration_seconds',
    'How long it took to fill the cache.',
    (d) => d.initialization,
  ),
  {
    name: 'apiserver_watch_events_dispatch_duration_seconds',
    help: 'How long events were on their way, by stage.',
    type: 'histogram',
    read: ({ durations }) => [[durations.dispatch, { stage: 'cache_to_watcher' }]],
  },
];

/** All families, one sample a cacher and label set. Families without a sample are left out. */
export function cacherMetrics(resources: Iterable<InspectedResource>): MetricFamily[] {
  const inspected = [...resources];
  const families = rows.map(({ name, help, type, read }) => ({
    name,
    help,
    type,
    samples: inspected.flatMap(({ group, resource, inspection }) =>
      read(inspection).map(([value, labels]) => ({ labels: { group, resource, ...labels }, value })),
    ),
  }));
  return families.filter(({ samples }) => samples.length > 0);
}

function counter(name: string, help: string, of: (counters: CacherInspection['counters']) => number): Row {
  return { name, help, type: 'counter', read: ({ counters }) => [[of(counters)]] };
}

function histogram(name: string, help: string, of: (d: CacherInspection['durations']) => HistogramCounts): Row {
  return { name, help, type: 'histogram', read: ({ durations }) => [[of(durations)]] };
}

function byIndex(name: string, help: string, count: 'lists' | 'fetched' | 'returned'): Row {
  const read: Row['read'] = ({ counters }) =>
    counters.lists.map((each) => [each[count], { index: each.index }] as const);
  return { name, help, type: 'counter', read };
}
