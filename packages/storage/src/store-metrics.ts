// The counters of stores under kube-apiserver's metric names, for the code that serves /metrics. Source: apiserver
// storage/etcd3/metrics/metrics.go.

import type { HistogramCounts, MetricFamily, MetricSample } from '@kapstan/api/internal';
import { formatGroupResource } from '@kapstan/api/internal';
import type { StorageStats } from './storage.ts';
import type { StoreInspection } from './store-counters.ts';

/** The counters of one store at one moment. */
export interface InspectedStore {
  readonly group: string;
  readonly resource: string;
  readonly inspection: StoreInspection;
  /** Result of the last count of its objects. Absent = not counted yet, or never counted. */
  readonly stats?: StorageStats | 'failed' | undefined;
}

type Value = number | HistogramCounts;
type Labels = MetricSample['labels'];

type RowHead = Omit<MetricFamily, 'samples'>;

interface Row extends RowHead {
  /** Returns the values of one store, with all their labels. */
  readonly read: (store: InspectedStore) => readonly (readonly [Value, Labels])[];
}

const fromEtcd = { storage: 'etcd', index: '' } as const;

const rows: readonly Row[] = [
  byOperation(
    { name: 'etcd_request_duration_seconds', type: 'histogram', help: 'Duration of requests to the store in seconds.' },
    (r) => r.durations,
  ),
  byOperation(
    { name: 'etcd_requests_total', type: 'counter', help: 'Number of requests to the store.' },
    (r) => r.durations.count,
  ),
  byOperation(
    { name: 'etcd_request_errors_total', type: 'counter', help: 'Number of requests to the store that failed.' },
    (r) => r.errors,
  ),
  {
    name: 'apiserver_storage_objects',
    help: 'Number of stored objects at the last count, -1 if the count failed. Use apiserver_resource_objects instead.',
    type: 'gauge',
    read: (s) => counted(s, objectsOf).map((value) => [value, { resource: formatGroupResource(s) }] as const),
  },
  {
    name: 'apiserver_resource_objects',
    help: 'Number of stored objects at the last count, -1 if the count failed.',
    type: 'gauge',
    read: (s) => counted(s, objectsOf).map((value) => [value, resourceOf(s)] as const),
  },
  {
    name: 'apiserver_resource_size_estimate_bytes',
    help: 'Estimated size of the stored objects in bytes, -1 if unknown.',
    type: 'gauge',
    read: (s) => counted(s, sizeOf).map((value) => [value, resourceOf(s)] as const),
  },
  one(
    {
      name: 'apiserver_storage_events_received_total',
      type: 'counter',
      help: 'Number of events received from the store.',
    },
    (i) => i.eventsReceived,
  ),
  one(
    { name: 'etcd_bookmark_total', type: 'counter', help: 'Number of progress reports received from the store.' },
    (i) => i.bookmarks,
  ),
  one({ name: 'etcd_bookmark_counts', type: 'gauge', help: 'Use etcd_bookmark_total instead.' }, (i) => i.bookmarks),
  one(
    {
      name: 'apiserver_storage_decode_errors_total',
      type: 'counter',
      help: 'Stored values that could not be decoded.',
    },
    (i) => i.decodeErrors,
  ),
  list('apiserver_storage_list_total', 'Number of lists answered by the store.', (lists) => lists.durations.count),
  list(
    'apiserver_storage_list_fetched_objects_total',
    'Number of objects read from the store for lists.',
    (lists) => lists.fetched,
  ),
  list(
    'apiserver_storage_list_evaluated_objects_total',
    'Number of objects that lists compared with their selector.',
    (lists) => lists.evaluated,
  ),
  list(
    'apiserver_storage_list_returned_objects_total',
    'Number of objects returned by lists.',
    (lists) => lists.returned,
  ),
  {
    name: 'apiserver_storage_list_duration_seconds',
    help: 'Duration of lists of the store in seconds.',
    type: 'histogram',
    // Lists read pages, where kube-apiserver may use etcd's stream of ranges.
    read: (s) => [[s.inspection.lists.durations, { ...resourceOf(s), streamed: 'false' }]],
  },
];

/** Returns all metric families that have a sample. */
export function storeMetrics(stores: Iterable<InspectedStore>): MetricFamily[] {
  const inspected = [...stores];
  const families = rows.map(({ read, ...family }) => ({
    ...family,
    samples: inspected.flatMap((store) => read(store).map(([value, labels]) => ({ labels, value }))),
  }));
  return [...families, leaseObjects(inspected)].filter(({ samples }) => samples.length > 0);
}

/** Returns the metric for the size of the store on disk. */
export function storeSizeMetric(bytes: number): MetricFamily {
  return {
    name: 'apiserver_storage_size_bytes',
    help: 'Size of the store on disk in bytes.',
    type: 'gauge',
    samples: [{ labels: { storage_cluster_id: 'etcd-0' }, value: bytes }],
  };
}

/** Adds up the leases of all stores. kube-apiserver does not separate them by resource: nearly all belong to events. */
function leaseObjects(stores: readonly InspectedStore[]): MetricFamily {
  const all = stores.map(({ inspection }) => inspection.leaseObjects);
  const [first] = all;
  const sum = (of: (counts: HistogramCounts) => number): number => all.reduce((total, each) => total + of(each), 0);
  const value = first && {
    buckets: first.buckets.map(([bound], i) => [bound, sum(({ buckets }) => buckets[i]?.[1] ?? 0)] as const),
    count: sum(({ count }) => count),
    sum: sum((counts) => counts.sum),
  };
  return {
    name: 'etcd_lease_object_counts',
    help: 'Number of keys that shared a lease.',
    type: 'histogram',
    samples: value === undefined ? [] : [{ labels: {}, value }],
  };
}

function counted({ stats }: InspectedStore, read: (stats: StorageStats) => number): number[] {
  if (stats === undefined) return [];
  return [stats === 'failed' ? -1 : read(stats)];
}

function objectsOf({ objectCount }: StorageStats): number {
  return objectCount;
}

function sizeOf({ objectCount, averageObjectBytes }: StorageStats): number {
  return objectCount > 0 && averageObjectBytes === 0 ? -1 : objectCount * averageObjectBytes;
}

function resourceOf({ group, resource }: InspectedStore): Labels {
  return { group, resource };
}

function byOperation(family: RowHead, of: (request: StoreInspection['requests'][number]) => Value): Row {
  return {
    ...family,
    read: (s) =>
      s.inspection.requests.map((each) => [of(each), { operation: each.operation, ...resourceOf(s) }] as const),
  };
}

function one(family: RowHead, of: (inspection: StoreInspection) => number): Row {
  return { ...family, read: (s) => [[of(s.inspection), resourceOf(s)]] };
}

function list(name: string, help: string, of: (lists: StoreInspection['lists']) => number): Row {
  return { name, type: 'counter', help, read: (s) => [[of(s.inspection.lists), { ...resourceOf(s), ...fromEtcd }]] };
}
