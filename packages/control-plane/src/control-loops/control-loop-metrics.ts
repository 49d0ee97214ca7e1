// Metrics of the control loops: which of them run, under kube-controller-manager's name, and how often each was
// restarted. Read from control-loops.ts, served by control-plane.ts.
import { Gauge, Registry } from 'prom-client';
import type { SupervisedLoop } from './supervised-loop.ts';

export function controlLoopMetrics(loops: readonly SupervisedLoop[]): Registry {
  const registry = new Registry();
  const registers = [registry];
  new Gauge({
    name: 'running_managed_controllers',
    help: 'Whether a control loop is running and its caches are synced: 1, or 0 if not.',
    labelNames: ['name', 'manager'],
    registers,
    collect() {
      for (const { name, isRunning } of loops) this.set({ name, manager: 'kapstan' }, isRunning ? 1 : 0);
    },
  });
  new Gauge({
    name: 'kapstan_control_loop_restarts_total',
    help: 'Number of times a control loop was restarted after it ended unexpectedly.',
    labelNames: ['name'],
    registers,
    collect() {
      for (const { name, restarts } of loops) this.set({ name }, restarts);
    },
  });
  return registry;
}
