// node scripts/dashboards.mjs writes the dashboards for Grafana: of controllers, and of the server. A panel is a metric and the labels that
// distinguish its lines; the query follows from the kind of the metric. A test compares the files with this table, and each name with
// /metrics.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const width = 24;
const height = 8;

const counter = (title, metric, by, more = {}) => ({ title, metric, by, type: 'counter', unit: 'ops', ...more });
const gauge = (title, metric, by, more = {}) => ({ title, metric, by, type: 'gauge', unit: 'short', ...more });
const seconds = (title, metric, by, more = {}) => ({ title, metric, by, type: 'histogram', unit: 's', ...more });

/** @type {ReturnType<typeof counter>[]} */
const none = [];

const ofControllers = {
  file: 'packages/controller/dashboards/controllers.json',
  uid: 'kapstan-controllers',
  title: 'Kapstan / Controllers',
  jobs: 'controller_runtime_active_workers',
  filter: { name: 'controller', metric: 'controller_runtime_active_workers' },
  rows: {
    Reconciles: [
      counter('Reconciles by result', 'controller_runtime_reconcile_total', ['controller', 'result'], {
        isFiltered: true,
      }),
      counter('Failed reconciles', 'controller_runtime_reconcile_errors_total', ['controller'], { isFiltered: true }),
      counter('Reconciles that gave up', 'controller_runtime_terminal_reconcile_errors_total', ['controller'], {
        isFiltered: true,
      }),
      counter('Reconciles that took too long', 'controller_runtime_reconcile_timeouts_total', ['controller'], {
        isFiltered: true,
      }),
      seconds('Time of reconciles', 'controller_runtime_reconcile_time_seconds', ['controller'], { isFiltered: true }),
      gauge('Workers that reconcile', 'controller_runtime_active_workers', ['controller'], { isFiltered: true }),
      gauge('Workers', 'controller_runtime_max_concurrent_reconciles', ['controller'], { isFiltered: true }),
    ],
    'Work queues': [
      gauge('Keys that wait', 'workqueue_depth', ['controller', 'priority'], { isFiltered: true }),
      counter('Keys added', 'workqueue_adds_total', ['controller'], { isFiltered: true }),
      counter('Keys added for a retry', 'workqueue_retries_total', ['controller'], { isFiltered: true }),
      seconds('Time that keys waited', 'workqueue_queue_duration_seconds', ['controller'], { isFiltered: true }),
      seconds('Time that workers had keys', 'workqueue_work_duration_seconds', ['controller'], { isFiltered: true }),
      gauge('Time spent on keys in work', 'workqueue_unfinished_work_seconds', ['controller'], {
        unit: 's',
        isFiltered: true,
      }),
      gauge('Longest run under way', 'workqueue_longest_running_processor_seconds', ['controller'], {
        unit: 's',
        isFiltered: true,
      }),
    ],
    Informers: [
      gauge('Changes that wait', 'informer_queued_items', ['name', 'group', 'resource']),
      seconds('Time of changes with their handlers', 'informer_processing_latency_seconds', [
        'name',
        'group',
        'resource',
      ]),
      gauge('Version of the caches', 'informer_store_resource_version', ['name', 'group', 'resource']),
    ],
    'Requests to the API server': [
      counter('Requests by status', 'rest_client_requests_total', ['method', 'code']),
      seconds('Time of requests', 'rest_client_request_duration_seconds', ['verb']),
      seconds('Time that the rate limit held requests back', 'rest_client_rate_limiter_duration_seconds', ['verb']),
    ],
    'Leader election': [
      gauge('Leader', 'leader_election_master_status', ['name', 'instance']),
      counter('Renewals that read the lease first', 'leader_election_slowpath_total', ['name']),
    ],
  },
};

const ofServer = {
  file: 'packages/control-plane/dashboards/server.json',
  uid: 'kapstan-server',
  title: 'Kapstan / API server',
  jobs: 'apiserver_current_inflight_requests',
  filter: undefined,
  rows: {
    Requests: [
      counter('Requests by verb', 'apiserver_request_total', ['verb']),
      counter('Requests by status', 'apiserver_request_total', ['code']),
      seconds('Time of requests', 'apiserver_request_duration_seconds', ['verb']),
      gauge('Requests under way', 'apiserver_current_inflight_requests', ['request_kind']),
      gauge('Requests that wait', 'apiserver_flowcontrol_current_inqueue_requests', ['priority_level']),
      gauge('Watches', 'apiserver_longrunning_requests', none),
    ],
    Access: [
      counter('Authentications', 'authentication_attempts', ['result']),
      counter('Authorizations', 'authorization_attempts_total', ['result']),
      seconds('Time of authorizations', 'authorization_duration_seconds', ['result']),
      seconds('Time of admission', 'apiserver_admission_step_admission_duration_seconds', ['type', 'operation']),
    ],
    'Watch caches': [
      counter('Events from the store', 'apiserver_watch_cache_events_received_total', ['group', 'resource']),
      counter('Events sent to watches', 'apiserver_watch_events_total', ['group', 'resource']),
      seconds('Time to send events', 'apiserver_watch_events_dispatch_duration_seconds', ['stage']),
      seconds('Time that reads waited for the cache', 'apiserver_watch_cache_read_wait_seconds', ['group', 'resource']),
      gauge('Events that caches remember', 'watch_cache_capacity', ['group', 'resource']),
    ],
    Store: [
      gauge('Objects', 'apiserver_resource_objects', ['group', 'resource']),
      gauge('Size of the store', 'apiserver_storage_size_bytes', none, { unit: 'bytes' }),
      seconds('Time of calls', 'etcd_request_duration_seconds', ['operation']),
      counter('Calls', 'etcd_requests_total', ['operation']),
    ],
    Process: [
      counter('CPU', 'process_cpu_seconds_total', ['instance'], { unit: 'short' }),
      gauge('Memory', 'process_resident_memory_bytes', ['instance'], { unit: 'bytes' }),
      gauge('Open files', 'process_open_fds', ['instance']),
    ],
  },
};

/** Returns the query of a panel. Source: prometheus.io/docs/practices/histograms. */
function expression({ metric, by, type, isFiltered = false }) {
  const name = type === 'histogram' ? `${metric}_bucket` : metric;
  const selected = `${name}{job=~"$job"${isFiltered ? ',controller=~"$controller"' : ''}}`;
  const sum = (labels, value) => (labels.length === 0 ? `sum(${value})` : `sum by (${labels.join(', ')}) (${value})`);
  if (type === 'gauge') return sum(by, selected);
  const rate = `rate(${selected}[$__rate_interval])`;
  return type === 'counter' ? sum(by, rate) : `histogram_quantile(0.99, ${sum([...by, 'le'], rate)})`;
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana puts the value in
const datasource = { type: 'prometheus', uid: '${datasource}' };

function panelOf(panel, id, gridPos) {
  const { title, by, type, unit } = panel;
  return {
    id,
    type: 'timeseries',
    title: type === 'histogram' ? `${title} (99 %)` : title,
    datasource,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
    targets: [
      { refId: 'A', expr: expression(panel), legendFormat: by.map((label) => `{{${label}}}`).join(' '), datasource },
    ],
  };
}

function panelsOf(rows) {
  const panels = [];
  let y = 0;
  for (const [title, row] of Object.entries(rows)) {
    const gridPos = { x: 0, y: y++, w: width, h: 1 };
    panels.push({ id: panels.length + 1, type: 'row', title, collapsed: false, gridPos, panels: [] });
    for (const [index, panel] of row.entries()) {
      const place = { x: (index % 3) * 8, y: y + Math.floor(index / 3) * height, w: 8, h: height };
      panels.push(panelOf(panel, panels.length + 1, place));
    }
    y += Math.ceil(row.length / 3) * height;
  }
  return panels;
}

function variable(name, metric) {
  const query = `label_values(${metric}, ${name})`;
  const choice = { includeAll: true, multi: true, allValue: '.*', current: { text: 'All', value: '$__all' } };
  return { name, label: name, type: 'query', datasource, query, definition: query, refresh: 2, sort: 1, ...choice };
}

function dashboardOf({ uid, title, jobs, filter, rows }) {
  const sources = { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' };
  const list = [
    sources,
    variable('job', jobs),
    ...(filter === undefined ? [] : [variable(filter.name, filter.metric)]),
  ];
  return {
    uid,
    title,
    tags: ['kapstan'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    templating: { list },
    panels: panelsOf(rows),
  };
}

/** File and text of each dashboard. */
export const dashboards = [ofControllers, ofServer].map((table) => ({
  file: table.file,
  text: `${JSON.stringify(dashboardOf(table), undefined, 2)}\n`,
}));

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const { file, text } of dashboards) writeFileSync(join(root, file), text);
