// The counters of cachers under kube-apiserver's metric names. They are plain data, because no package below the server
// depends on a metrics library. The code that serves /metrics uses them. apiserver_terminated_watchers_total belongs to
// the HTTP layer, which alone sees slow clients. Source: apiserver storage/cacher/metrics.
import type { HistogramCounts, MetricFamily } from '@kapstan/api/internal';
import type { CacherInspection } from './cacher-inspection.ts';

/** The counters of one cacher at one moment. */
export interface InspectedResource {
  readonly group: string;
  readonly resource: string;
  readonly inspection: CacherInspection;
}

interface Row {
  readonly name: string;
  readonly help: string;
  readonly type: MetricFamily['type'];
  /** Returns the values of one cacher, with their labels besides group and resource. */
  readonly read: (inspection: CacherInspection) => readonly (readonly [number | HistogramCounts, Labels?])[];
}

type Labels = Readonly<Record<string, string>>;

// kube-apiserver truncates versions so that a float64 holds them.
const versionModulus = 1e15;

const rows: readonly Row[] = [
  counter(
    'apiserver_watch_cache_events_received_total',
    'Number of events that the cache received from the storage.',
    (c) => c.eventsReceived,
  ),
  counter(
    'apiserver_watch_cache_events_dispatched_total',
    'Number of events dispatched to watchers.',
    (c) => c.eventsDispatched,
  ),
  counter(
    'apiserver_watch_cache_initializations_total',
    'Number of lists that filled the cache.',
    (c) => c.initializations,
  ),
  counter(
    'apiserver_watch_cache_initialization_errors_total',
    'Number of lists for filling the cache that failed.',
    (c) => c.initializationErrors,
  ),
  counter(
    'apiserver_init_events_total',
    'Number of objects and past events processed for new watchers.',
    (c) => c.initEvents,
  ),
  {
    name: 'kapstan_watch_cache_ended_watches_total',
    help: 'Number of watches ended by the cache, by reason. apiserver_terminated_watchers_total counts slow clients.',
    type: 'counter',
    read: ({ counters }) => Object.entries(counters.ended).map(([reason, count]) => [count, { reason }] as const),
  },
  counter('watch_cache_capacity_increase_total', 'Number of times that the history grew.', (c) => c.historyIncreases),
  counter('watch_cache_capacity_decrease_total', 'Number of times that the history shrank.', (c) => c.historyDecreases),
  {
    name: 'watch_cache_capacity',
    help: 'Number of events that the history can hold.',
    type: 'gauge',
    read: ({ history }) => [[history.capacity]],
  },
  {
    name: 'apiserver_watch_cache_resource_version',
    help: 'Resource version of the cache, modulo 10^15.',
    type: 'gauge',
    read: ({ revision }) => [[revision % versionModulus]],
  },
  {
    name: 'apiserver_watch_cache_consistent_read_total',
    help: 'Number of consistent reads, by success and by whether the storage answered instead of the cache.',
    type: 'counter',
    read: ({ counters: c }) => [
      [c.consistentReads, { success: 'true', fallback: 'false' }],
      [c.consistentReadFallbacks - c.consistentReadFailures, { success: 'true', fallback: 'true' }],
      [c.consistentReadFailures, { success: 'false', fallback: 'true' }],
    ],
  },
  byIndex('apiserver_cache_list_total', 'Number of lists answered from the cache.', 'lists'),
  byIndex(
    'apiserver_cache_list_fetched_objects_total',
    'Number of objects that lists from the cache examined.',
    'fetched',
  ),
  byIndex(
    'apiserver_cache_list_returned_objects_total',
    'Number of objects that lists from the cache returned.',
    'returned',
  ),
  {
    name: 'apiserver_storage_consistency_checks_total',
    help: 'Number of comparisons of the cache with the storage, by outcome.',
    type: 'counter',
    read: ({ counters }) =>
      Object.entries(counters.consistencyChecks).map(([status, count]) => [count, { status }] as const),
  },
  histogram(
    'apiserver_watch_cache_read_wait_seconds',
    'Time that reads waited for the cache, in seconds.',
    (d) => d.readWait,
  ),
  histogram(
    'apiserver_watch_cache_initialization_duration_seconds',
    'Time to fill the cache, in seconds.',
    (d) => d.initialization,
  ),
  {
    name: 'apiserver_watch_events_dispatch_duration_seconds',
    help: 'Time to dispatch an event, in seconds, by stage.',
    type: 'histogram',
    read: ({ durations }) => [[durations.dispatch, { stage: 'cache_to_watcher' }]],
  },
];

/** Returns all metric families that have a sample, one sample per cacher and label set. */
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
