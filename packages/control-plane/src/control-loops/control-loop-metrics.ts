// What /metrics shows of the control loops: which of them run, under kube-controller-manager's name, and how often each was
// started again. Read from control-loops.ts, served by control-plane.ts.
import { Gauge, Registry } from 'prom-client';
import type { SupervisedLoop } from './supervised-loop.ts';

export function controlLoopMetrics(loops: readonly SupervisedLoop[]): Registry {
  const registry = new Registry();
  const registers = [registry];
  new Gauge({
    name: 'running_managed_controllers',
    help: 'Control loops that run and have seen all that they work on: 1, and 0 for the others.',
    labelNames: ['name', 'manager'],
    registers,
    collect() {
      for (const { name, isRunning } of loops) this.set({ name, manager: 'kapstan' }, isRunning ? 1 : 0);
    },
  });
  new Gauge({
    name: 'kapstan_control_loop_restarts_total',
    help: 'How often a control loop was started again after it had ended before its time.',
    labelNames: ['name'],
    registers,
    collect() {
      for (const { name, restarts } of loops) this.set({ name }, restarts);
    },
  });
  return registry;
}
