// Metrics of the control loops: which of them run, under kube-controller-manager's name, and how often each was
// restarted. Read from control-loops.ts, served by control-plane.ts.
import { formatMetrics, gaugeFamily } from '@kapstan/api/internal';
import type { SupervisedLoop } from './supervised-loop.ts';

/** Returns the metrics in Prometheus' text format. */
export function controlLoopMetrics(loops: readonly SupervisedLoop[]): string {
  return formatMetrics([
    gaugeFamily(
      'running_managed_controllers',
      'Whether a control loop is running and its caches are synced: 1, or 0 if not.',
      loops.map(({ name, isRunning }) => ({ labels: { name, manager: 'kapstan' }, value: isRunning ? 1 : 0 })),
    ),
    gaugeFamily(
      'kapstan_control_loop_restarts_total',
      'Number of times a control loop was restarted after it ended unexpectedly.',
      loops.map(({ name, restarts }) => ({ labels: { name }, value: restarts })),
    ),
  ]);
}
