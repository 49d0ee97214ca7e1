// Makes the LeaderElector of a manager and counts its changes. Used by manager.ts.
import type { EventRecorder } from '../events/event-recorder.ts';
import { stackOnceLogger } from '../guards/stack-once-logger.ts';
import { LeaderElector } from '../leader-election/leader-elector.ts';
import type { ControllerMetrics } from '../metrics/controller-metrics.ts';
import type { ResolvedOptions } from './manager-times.ts';

interface ElectorPorts {
  /** Records the changes of leadership. */
  readonly recorder: EventRecorder;
  readonly metrics: ControllerMetrics;
}

/** Returns undefined for a manager without leader election. */
export function electorOf(options: ResolvedOptions, { recorder, metrics }: ElectorPorts): LeaderElector | undefined {
  const { leaderElection = false, client, clock, logger, random = Math.random } = options;
  if (leaderElection === false) return undefined;
  const { name } = leaderElection;
  metrics.leaderChanged(name, false);
  return new LeaderElector({
    namespace: 'default',
    ...leaderElection,
    client,
    clock,
    logger: stackOnceLogger(logger, clock),
    random,
    recorder,
    onChange: (isLeader) => metrics.leaderChanged(name, isLeader),
    onSlowRenewal: () => metrics.renewedSlowly(name),
  });
}
