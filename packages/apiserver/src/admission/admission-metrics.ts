// AdmissionMetrics: how long each plug-in of the admission chain takes, and all of them together. Told by admission-chain.ts, shown by
// /metrics. Source: apiserver pkg/admission/metrics, whose names and labels these are.
import { Histogram, type MetricFamily, type MetricSample } from '@kapstan/storage';
import type { AdmissionOperation } from '../registry/store/admission-control.ts';

export type AdmissionStep = 'admit' | 'validate';

/** In seconds. */
const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5];

/** Durations of one plug-in, or of all together, in one step. */
export class StepDurations {
  readonly #passed = new Map<AdmissionOperation, Histogram>();
  readonly #rejected = new Map<AdmissionOperation, Histogram>();

  observe(operation: AdmissionOperation, outcome: 'passed' | 'rejected', durationMs: number): void {
    const durations = outcome === 'passed' ? this.#passed : this.#rejected;
    let seconds = durations.get(operation);
    if (seconds === undefined) {
      seconds = new Histogram(buckets);
      durations.set(operation, seconds);
    }
    seconds.observe(durationMs / 1000);
  }

  samples(labels: { readonly name?: string; readonly type: AdmissionStep }): MetricSample[] {
    return [
      ...[...this.#passed].map(([operation, seconds]) => ({
        labels: { ...labels, operation, rejected: 'false' },
        value: seconds.counts(),
      })),
      ...[...this.#rejected].map(([operation, seconds]) => ({
        labels: { ...labels, operation, rejected: 'true' },
        value: seconds.counts(),
      })),
    ];
  }
}

export type DurationsOfSteps = Readonly<Record<AdmissionStep, StepDurations>>;

export function durationsOfSteps(): DurationsOfSteps {
  return { admit: new StepDurations(), validate: new StepDurations() };
}

/** `plugins` by name. */
export function admissionFamilies(
  whole: DurationsOfSteps,
  plugins: readonly (readonly [name: string, durations: DurationsOfSteps])[],
): MetricFamily[] {
  const steps: readonly AdmissionStep[] = ['admit', 'validate'];
  return [
    {
      name: 'apiserver_admission_controller_admission_duration_seconds',
      help: 'Time that a plug-in of admission takes, by its name, operation and step.',
      type: 'histogram',
      samples: plugins.flatMap(([name, durations]) => steps.flatMap((type) => durations[type].samples({ name, type }))),
    },
    {
      name: 'apiserver_admission_step_admission_duration_seconds',
      help: 'Time that all plug-ins of admission take together, by operation and step.',
      type: 'histogram',
      samples: steps.flatMap((type) => whole[type].samples({ type })),
    },
  ];
}
