// The texts of the debug pages: a line for each level, queue or request. Served by http/request/priority-and-fairness.ts. Source:
// util/flowcontrol/apf_controller_debug.go.
import { toDate } from '@kapstan/api/internal';
import type { FlowRequest } from './fair-queue.ts';
import type { FlowControl } from './flow-control.ts';
import type { PriorityLevel } from './priority-level.ts';
import { formatSeatSeconds } from './seat-seconds.ts';

type Row = readonly (string | number | boolean)[];

/** Idle queues have rows too, up to this number for a level: there may be ten million. */
const maxQueueRows = 1024;

export function dumpLevels({ levels }: FlowControl): string {
  const header = [
    'PriorityLevelName',
    'ActiveQueues',
    'IsIdle',
    'IsQuiescing',
    'WaitingRequests',
    'ExecutingRequests',
    'DispatchedRequests',
    'RejectedRequests',
    'TimedoutRequests',
    'CancelledRequests',
  ];
  const rows = sorted(levels).map(({ config, queues, isQuiescing }): Row => {
    const active = [...queues.queues.values()].filter(({ waiting }) => waiting.length > 0).length;
    const { dispatched, refused, cancelled } = queues.totals;
    // Kubernetes counts no request as timed out here, because a request whose time is over is cancelled.
    const counts = [queues.waiting, queues.executing, dispatched, refused, 0, cancelled];
    return [config.name, active, queues.isIdle, isQuiescing, ...counts];
  });
  return format([header, ...rows]);
}

export function dumpQueues({ levels }: FlowControl): string {
  const header = [
    'PriorityLevelName',
    'Index',
    'PendingRequests',
    'ExecutingRequests',
    'SeatsInUse',
    'NextDispatchR',
    'InitialSeatsSum',
    'MaxSeatsSum',
    'TotalWorkSum',
  ];
  return format([header, ...sorted(levels).flatMap(queueRows)]);
}

function queueRows({ config: { name, queuing }, queues: { queues } }: PriorityLevel): readonly Row[] {
  const idle = typeof queuing === 'string' ? 0 : Math.min(queuing.queues, maxQueueRows);
  const indexes = new Set([...Array(idle).keys(), ...queues.keys()]);
  return [...indexes].map((index) => {
    const queue = queues.get(index);
    if (queue === undefined) return [name, index, 0, 0, 0, formatSeatSeconds(0), 0, 0, formatSeatSeconds(0)];
    const { waiting, executing, seatsInUse, nextDispatch, initialSeatsWaiting, seatsWaiting, workWaiting } = queue;
    const meter = formatSeatSeconds(nextDispatch);
    const sums = [initialSeatsWaiting, seatsWaiting, formatSeatSeconds(workWaiting)];
    return [name, index, waiting.length, executing.length, seatsInUse, meter, ...sums];
  });
}

export interface RequestDumpOptions {
  /** True = also show the sender of each request and its target. */
  readonly withDetails: boolean;
  /** Offset from monotonic times to wall clock times, in milliseconds. */
  readonly epochMs: number;
}

export function dumpRequests({ levels }: FlowControl, options: RequestDumpOptions): string {
  const header = [
    'PriorityLevelName',
    'FlowSchemaName',
    'QueueIndex',
    'RequestIndexInQueue',
    // Kubernetes' spelling.
    'FlowDistingsher',
    'ArriveTime',
    'InitialSeats',
    'FinalSeats',
    'AdditionalLatency',
    'StartTime',
  ];
  const details = 'UserName Verb APIPath Namespace Name APIVersion Resource SubResource'.split(' ');
  const rows: Row[] = [options.withDetails ? [...header, ...details] : header];
  for (const { config, queues } of sorted(levels)) {
    const add = (request: FlowRequest, queue: number, place: number): void => {
      rows.push([config.name, request.counts.schemaName, queue, place, ...requestCells(request, options)]);
    };
    for (const [index, { waiting, executing }] of queues.queues) {
      let place = 0;
      for (const request of waiting) add(request, index, place++);
      for (const request of executing) add(request, index, -1);
    }
    for (const request of queues.queueless) add(request, -1, -1);
  }
  return format(rows);
}

function requestCells(request: FlowRequest, { withDetails, epochMs }: RequestDumpOptions): Row {
  const { arrivedMs, startedMs, phase, initialSeats, finalSeats, lingerMs, distinguisher, target, user } = request;
  const startedAt = phase === 'waiting' ? '0001-01-01T00:00:00Z' : timeText(epochMs + startedMs);
  const cells = [
    distinguisher,
    timeText(epochMs + arrivedMs),
    initialSeats,
    finalSeats,
    durationText(lingerMs),
    startedAt,
  ];
  if (!withDetails) return cells;
  if (target.type === 'path') return [...cells, user.name, target.verb, target.path, '', '', '', '', ''];
  const { verb, path, namespace, name, group, version, resource, subresource } = target;
  const apiVersion = group === '' ? version : `${group}/${version}`;
  return [...cells, user.name, verb, path, namespace, name, apiVersion, resource, subresource];
}

function sorted(levels: ReadonlyMap<string, PriorityLevel>): readonly PriorityLevel[] {
  return [...levels.values()].sort((a, b) => (a.config.name < b.config.name ? -1 : 1));
}

function timeText(epochMs: number): string {
  return toDate(epochMs).toISOString();
}

/** Formats a duration below a second as Go does: "0s", "5ms", "2.5ms". */
function durationText(ms: number): string {
  return ms === 0 ? '0s' : `${ms}ms`;
}

/** Aligns the columns as Go's tabwriter does: each is one blank wider than its longest cell, and at least 8 wide. */
function format(rows: readonly Row[]): string {
  const lines = rows.map((row) => row.map((cell, index) => `${cell}${index === row.length - 1 ? '' : ','}`));
  const widths: number[] = [];
  for (const line of lines) {
    for (const [index, cell] of line.entries()) widths[index] = Math.max(widths[index] ?? 8, cell.length + 1);
  }
  const pad = (cell: string, index: number, line: readonly string[]): string =>
    index === line.length - 1 ? cell : cell.padEnd(widths[index] ?? 0);
  return lines.map((line) => `${line.map(pad).join('')}\n`).join('');
}
