// The row of a pod, which summarises its containers' states. Source: printers.go printPod.

import { type DeepReadonly, parseTime } from '@kapstan/api';
import { Age } from '@kapstan/apiserver';
import type { Container, ContainerStatus, Pod } from '@kapstan/kinds/core/v1';
import { ageOf, nameOf, none, orNone } from './cells.ts';

type ReadonlyPod = DeepReadonly<Pod>;
type Status = DeepReadonly<ContainerStatus>;

/** Counts made while going through the containers. */
interface Tally {
  reason: string;
  readyContainers: number;
  restarts: Restarts;
}

/** Number of restarts, and when the last one was (milliseconds since 1970; NaN = never). */
interface Restarts {
  readonly count: number;
  readonly lastMs: number;
}

const noRestarts: Restarts = { count: 0, lastMs: Number.NaN };

export function podCells(pod: ReadonlyPod): readonly unknown[] {
  const sidecars = new Set((pod.spec?.initContainers ?? []).filter(isSidecar).map((container) => container.name));
  const tally: Tally = { reason: initialReason(pod), readyContainers: 0, restarts: noRestarts };
  const init = countInitContainers(pod, tally, sidecars);
  if (!init.isInitializing || hasTrueCondition(pod, 'Initialized')) {
    tally.restarts = init.sidecarRestarts;
    countContainers(pod, tally);
  }
  const total = (pod.spec?.containers.length ?? 0) + sidecars.size;
  return [
    nameOf(pod),
    `${tally.readyContainers}/${total}`,
    deletionReason(pod) ?? tally.reason,
    formatRestarts(tally.restarts),
    ageOf(pod),
    orNone(pod.status?.podIPs?.[0]?.ip),
    orNone(pod.spec?.nodeName),
    orNone(pod.status?.nominatedNodeName),
    readinessGates(pod),
  ];
}

function isSidecar(container: DeepReadonly<Container>): boolean {
  return container.restartPolicy === 'Always';
}

function initialReason(pod: ReadonlyPod): string {
  const gated = pod.status?.conditions?.some((c) => c.type === 'PodScheduled' && c.reason === 'SchedulingGated');
  return gated ? 'SchedulingGated' : pod.status?.reason || pod.status?.phase || '';
}

function countInitContainers(
  pod: ReadonlyPod,
  tally: Tally,
  sidecars: ReadonlySet<string>,
): { readonly isInitializing: boolean; readonly sidecarRestarts: Restarts } {
  let sidecarRestarts = noRestarts;
  for (const [index, status] of (pod.status?.initContainerStatuses ?? []).entries()) {
    tally.restarts = addRestarts(tally.restarts, status);
    if (sidecars.has(status.name)) sidecarRestarts = addRestarts(sidecarRestarts, status);
    if (status.state?.terminated?.exitCode === 0) continue;
    if (sidecars.has(status.name) && status.started === true) {
      if (status.ready) tally.readyContainers++;
      continue;
    }
    tally.reason = `Init:${initReason(status) ?? `${index}/${pod.spec?.initContainers?.length ?? 0}`}`;
    return { isInitializing: true, sidecarRestarts };
  }
  return { isInitializing: false, sidecarRestarts };
}

function initReason(status: Status): string | undefined {
  if (status.state?.terminated !== undefined) return terminatedReason(status);
  const waiting = status.state?.waiting?.reason;
  return waiting === undefined || waiting === '' || waiting === 'PodInitializing' ? undefined : waiting;
}

function countContainers(pod: ReadonlyPod, tally: Tally): void {
  let hasRunning = false;
  for (const status of [...(pod.status?.containerStatuses ?? [])].reverse()) {
    tally.restarts = addRestarts(tally.restarts, status);
    const reason = status.state?.waiting?.reason || terminatedReason(status);
    if (reason !== undefined) tally.reason = reason;
    else if (status.ready && status.state?.running !== undefined) {
      hasRunning = true;
      tally.readyContainers++;
    }
  }
  if (tally.reason === 'Completed' && hasRunning)
    tally.reason = hasTrueCondition(pod, 'Ready') ? 'Running' : 'NotReady';
}

function terminatedReason(status: Status): string | undefined {
  const terminated = status.state?.terminated;
  if (terminated === undefined) return undefined;
  if (terminated.reason) return terminated.reason;
  return terminated.signal ? `Signal:${terminated.signal}` : `ExitCode:${terminated.exitCode}`;
}

function deletionReason(pod: ReadonlyPod): string | undefined {
  if (pod.metadata?.deletionTimestamp === undefined) return undefined;
  if (pod.status?.reason === 'NodeLost') return 'Unknown';
  const isTerminal = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
  return isTerminal ? undefined : 'Terminating';
}

function addRestarts(restarts: Restarts, status: Status): Restarts {
  const finishedMs = parseTime(status.lastState?.terminated?.finishedAt ?? '');
  const isLater = !Number.isNaN(finishedMs) && !(restarts.lastMs >= finishedMs);
  return { count: restarts.count + status.restartCount, lastMs: isLater ? finishedMs : restarts.lastMs };
}

function formatRestarts({ count, lastMs }: Restarts): Age | string {
  return count === 0 || Number.isNaN(lastMs)
    ? String(count)
    : new Age(lastMs, { before: `${count} (`, after: ' ago)' });
}

function hasTrueCondition(pod: ReadonlyPod, type: string): boolean {
  return pod.status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false;
}

function readinessGates(pod: ReadonlyPod): string {
  const gates = pod.spec?.readinessGates ?? [];
  if (gates.length === 0) return none;
  const isTrue = gates.filter((gate) => hasTrueCondition(pod, gate.conditionType)).length;
  return `${isTrue}/${gates.length}`;
}
