// The metrics of FlowControl, under Kubernetes' names. Read by http/request/priority-and-fairness.ts on a scrape. Source:
// util/flowcontrol/metrics/metrics.go.
import {
  counterFamily,
  gaugeFamily,
  type HistogramCounts,
  histogramFamily,
  type MetricFamily,
  type MetricSample,
} from '@kapstan/api/internal';
import type { FlowControl } from './flow-control.ts';
import type { FlowCounts } from './flow-counts.ts';
import type { PriorityLevel } from './priority-level.ts';
import { toSeconds } from './seat-seconds.ts';

const prefix = 'apiserver_flowcontrol_';

export function flowControlMetrics(control: FlowControl, nowMs: number): readonly MetricFamily[] {
  return [
    ...countFamilies([...control.counts]),
    ...levelFamilies([...control.levels.values()], nowMs),
    ...inFlight(control, nowMs),
  ];
}

type Value = MetricSample['value'];

function countFamilies(all: readonly FlowCounts[]): readonly MetricFamily[] {
  return [...numberFamilies(all), ...histogramFamilies(all)];
}

function numberFamilies(all: readonly FlowCounts[]): readonly MetricFamily[] {
  type MakeFamily = typeof gaugeFamily;
  const family = (
    make: MakeFamily,
    name: string,
    [help, read]: readonly [string, (each: FlowCounts) => number],
  ): MetricFamily =>
    make(
      `${prefix}${name}`,
      help,
      all.map((each) => ({ labels: labelsOf(each), value: read(each) })),
    );
  return [
    counterFamily(`${prefix}rejected_requests_total`, 'Requests refused, by reason.', refusals(all)),
    family(counterFamily, 'dispatched_requests_total', ['Requests that were run.', (each) => each.dispatched]),
    family(gaugeFamily, 'current_inqueue_requests', ['Requests that wait in queues.', (each) => each.waiting]),
    family(gaugeFamily, 'current_inqueue_seats', ['Seats that they wait for.', (each) => each.seatsWaiting]),
    family(gaugeFamily, 'request_concurrency_in_use', ['Seats taken by running requests.', (each) => each.seatsInUse]),
    family(gaugeFamily, 'current_executing_seats', ['Seats taken by running requests.', (each) => each.seatsInUse]),
    family(gaugeFamily, 'current_executing_requests', [
      'Requests that run. A watch runs until it has begun.',
      (each) => each.executing,
    ]),
    family(counterFamily, 'request_dispatch_no_accommodation_total', [
      'How often the next request needed more seats than were free.',
      (each) => each.unaccommodated,
    ]),
  ];
}

function refusals(all: readonly FlowCounts[]): readonly MetricSample[] {
  return all.flatMap((each) =>
    Object.entries(each.refused)
      .filter(([, count]) => count > 0)
      .map(([reason, value]) => ({ labels: { ...labelsOf(each), reason }, value })),
  );
}

function histogramFamilies(all: readonly FlowCounts[]): readonly MetricFamily[] {
  type Read = (counts: FlowCounts) => HistogramCounts;
  const samples = (read: Read, more: Record<string, string> = {}): readonly MetricSample[] =>
    all
      .map((each) => ({ labels: { ...labelsOf(each), ...more }, value: read(each) }))
      .filter(({ value }) => value.count > 0);
  return [
    histogramFamily(
      `${prefix}request_queue_length_after_enqueue`,
      'Requests in a queue, as seen by each that joins it.',
      samples(({ queueLengths }) => queueLengths.counts()),
    ),
    histogramFamily(`${prefix}request_wait_duration_seconds`, 'Time that requests waited in queues.', [
      ...samples(({ waits }) => waits.counts(), { execute: 'true' }),
      ...samples(({ vainWaits }) => vainWaits.counts(), { execute: 'false' }),
    ]),
    histogramFamily(`${prefix}request_execution_seconds`, 'Time that requests ran. A watch runs until it has begun.', [
      ...samples(({ executions }) => executions.counts(), { type: 'regular' }),
      ...samples(({ watchStarts }) => watchStarts.counts(), { type: 'watch' }),
    ]),
    histogramFamily(
      `${prefix}watch_count_samples`,
      'Watches that each write had to be delivered to.',
      samples(({ watches }) => watches.counts()),
    ),
    histogramFamily(
      `${prefix}work_estimated_seats`,
      'Seats that each request was estimated to take.',
      samples(({ seats }) => seats.counts()),
    ),
  ];
}

function labelsOf({ levelName, schemaName }: FlowCounts): Record<string, string> {
  return { priority_level: levelName, flow_schema: schemaName };
}

function levelFamilies(levels: readonly PriorityLevel[], nowMs: number): readonly MetricFamily[] {
  const samples = (read: (level: PriorityLevel) => Value, more: Record<string, string> = {}): MetricSample[] =>
    levels.map((level) => ({ labels: { ...more, priority_level: level.config.name }, value: read(level) }));
  const gauge = (name: string, help: string, read: (level: PriorityLevel) => number): MetricFamily =>
    gaugeFamily(`${prefix}${name}`, help, samples(read));
  return [
    gauge('request_concurrency_limit', 'Seats of each level by its shares.', ({ limits }) => limits.nominal),
    gauge('nominal_limit_seats', 'Seats of each level by its shares.', ({ limits }) => limits.nominal),
    gauge('lower_limit_seats', 'Seats that a level has at least.', ({ limits }) => limits.min),
    gauge('upper_limit_seats', 'Seats that a level has at most.', ({ limits }) => limits.max),
    gauge('current_limit_seats', 'Seats that a level has now.', ({ current }) => current.current),
    gauge('target_seats', 'Seats that a level should have by its demand.', ({ current }) => current.target),
    gauge('demand_seats_high_watermark', 'Most seats wanted at a time.', ({ demand }) => demand.highWatermark),
    gauge('demand_seats_average', 'Seats wanted on average.', ({ demand }) => demand.average),
    gauge('demand_seats_stdev', 'Standard deviation of the seats wanted.', ({ demand }) => demand.deviation),
    gauge('demand_seats_smoothed', 'Seats wanted, smoothed over some minutes.', ({ demand }) => demand.smoothed),
    ...meterFamilies(levels, gauge),
    histogramFamily(
      `${prefix}priority_level_seat_utilization`,
      'Nanoseconds by the fraction of the seats that was taken.',
      samples(({ ratios }) => ratios.seats.counts(nowMs), { phase: 'executing' }),
    ),
    histogramFamily(`${prefix}priority_level_request_utilization`, 'Nanoseconds by the number of requests per place.', [
      ...samples(({ ratios }) => ratios.waiting.counts(nowMs), { phase: 'waiting' }),
      ...samples(({ ratios }) => ratios.executing.counts(nowMs), { phase: 'executing' }),
    ]),
    histogramFamily(
      `${prefix}demand_seats`,
      'Nanoseconds by the number of seats wanted per seat.',
      samples(({ ratios }) => ratios.demand.counts(nowMs)),
    ),
  ];
}

type MakeGauge = (name: string, help: string, read: (level: PriorityLevel) => number) => MetricFamily;

function meterFamilies(levels: readonly PriorityLevel[], gauge: MakeGauge): readonly MetricFamily[] {
  const queued = levels.filter(({ queues }) => queues.totals.dispatched > 0);
  const bounds = (
    name: string,
    help: string,
    keys: readonly ['min' | 'minDiscounted', 'max' | 'maxDiscounted'],
  ): MetricFamily =>
    gaugeFamily(
      `${prefix}${name}`,
      help,
      queued.flatMap(({ config, queues }) =>
        keys.map((key, index) => ({
          labels: { bound: index === 0 ? 'min' : 'max', priority_level: config.name },
          value: toSeconds(queues.lastDispatch[key]),
        })),
      ),
    );
  return [
    gauge('current_r', 'Progress meter of the queues.', ({ queues }) => toSeconds(queues.meter)),
    gauge('dispatch_r', 'Progress meter at the last dispatch.', ({ queues }) => toSeconds(queues.lastDispatch.meter)),
    gauge('latest_s', 'Meter of the queue served last.', ({ queues }) => toSeconds(queues.lastDispatch.chosen)),
    bounds('next_s_bounds', 'Least and greatest meter of the queues at the last dispatch.', ['min', 'max']),
    bounds('next_discounted_s_bounds', 'The same, less the work under way.', ['minDiscounted', 'maxDiscounted']),
    counterFamily(
      `${prefix}epoch_advance_total`,
      'How often the progress meter was set back.',
      levels
        .filter(({ queues }) => queues.totals.epochs > 0)
        .map(({ config, queues }) => ({
          labels: { priority_level: config.name, success: 'true' },
          value: queues.totals.epochs,
        })),
    ),
  ];
}

function inFlight(
  { inFlight: { executing, waiting }, fairFraction }: FlowControl,
  nowMs: number,
): readonly MetricFamily[] {
  const samples = Object.entries({ executing, waiting }).flatMap(([phase, kinds]) =>
    Object.entries(kinds).map(([request_kind, { ratio }]) => ({
      labels: { phase, request_kind },
      value: ratio.counts(nowMs),
    })),
  );
  return [
    histogramFamily(
      `${prefix}read_vs_write_current_requests`,
      'Nanoseconds by the number of requests per place, reads and writes apart.',
      samples,
    ),
    gaugeFamily(
      `${prefix}seat_fair_frac`,
      'Fraction of its target that each level got in the last adjustment.',
      fairFraction,
    ),
  ];
}
