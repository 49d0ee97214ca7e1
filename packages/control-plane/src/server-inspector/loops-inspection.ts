// Makes the sections of the inspector for the control loops of a server: the loops with their queues, their informers, and the election.
// Called by server-inspection.ts; the loops count for themselves in control-loops/loop-activity.ts.
import { safeErrorText } from '@kapstan/api/internal';
import type { ElectionSection, InformerSection, LoopQueueSection, LoopSection, Some } from '@kapstan/inspector';
import type { InspectedElection, InspectedLoops } from '../control-loops/control-loops.ts';
import type { QueueActivity } from '../control-loops/loop-activity.ts';
import type { SupervisedLoop } from '../control-loops/supervised-loop.ts';

const maxInformers = 200;

/** Converts monotonic times to wall clock times. */
export interface InspectionTimes {
  readonly nowMs: number;
  wall(monotonicMs: number): number;
}

export function loopSections({ loops }: InspectedLoops, times: InspectionTimes): Some<LoopSection> {
  return { total: loops.length, items: loops.map((loop) => loopSection(loop, times)) };
}

function loopSection(loop: SupervisedLoop, times: InspectionTimes): LoopSection {
  const { name, phase, restarts, lastError, activity } = loop;
  return {
    name,
    phase,
    restarts,
    queues: activity.queues.map((queue) => queueSection(queue, times)),
    lastError: lastError === undefined ? undefined : safeErrorText(lastError),
  };
}

function queueSection({ name, queue, runs, failures, oldestStartMs }: QueueActivity, times: InspectionTimes) {
  const [next] = queue.nextDelayed(1);
  const section: LoopQueueSection = {
    name,
    waiting: queue.length,
    running: queue.processing,
    delayed: queue.delayed,
    runs,
    failures,
    runningSince: oldestStartMs === undefined ? undefined : times.wall(oldestStartMs),
    nextDueAt: next === undefined ? undefined : times.wall(next.dueAtMs),
  };
  return section;
}

/** The size of the objects is left out, because they belong to the watch caches, whose sections show it. */
export function loopInformers({ informers }: InspectedLoops, times: InspectionTimes): Some<InformerSection> {
  const all = [...informers];
  const items = all.slice(0, maxInformers).map(({ resource, isMetadataOnly, informer }): InformerSection => {
    const { status, silentMs, lists } = informer;
    const kind = resource.group === '' ? resource.kind : `${resource.kind}.${resource.group}`;
    return {
      kind: isMetadataOnly ? `${kind} (metadata)` : kind,
      phase: status.phase,
      since: status.since,
      hasSynced: informer.hasSynced,
      objects: informer.indexer.size,
      resourceVersion: informer.lastSyncResourceVersion,
      heardAt: silentMs === undefined ? undefined : times.wall(times.nowMs - silentMs),
      relists: Math.max(0, lists - 1),
      handlerErrors: informer.handlerErrors,
      lastError: status.error === undefined ? undefined : safeErrorText(status.error),
    };
  });
  return { total: all.length, items };
}

export function electionSection(
  { lease, elector }: InspectedElection,
  { nowMs, wall }: InspectionTimes,
): ElectionSection {
  const { identity, leader, isLeader, renewedMsAgo } = elector;
  const renewedAt = renewedMsAgo === undefined ? undefined : wall(nowMs - renewedMsAgo);
  return { lease, identity, leader, isLeader, renewedAt };
}
