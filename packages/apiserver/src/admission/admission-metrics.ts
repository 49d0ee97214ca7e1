// AdmissionMetrics measures the time of each admission plug-in, and of all together. Filled by admission-chain.ts,
// shown by /metrics. Names and labels come from apiserver's pkg/admission/metrics.
import { type AdmissionOperation, Histogram, type MetricFamily, type MetricSample } from '@kapstan/api/internal';

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

/** `plugins`: durations by the plug-in's name. */
export function admissionFamilies(
  whole: DurationsOfSteps,
  plugins: readonly (readonly [name: string, durations: DurationsOfSteps])[],
): MetricFamily[] {
  const steps: readonly AdmissionStep[] = ['admit', 'validate'];
  return [
    {
      name: 'apiserver_admission_controller_admission_duration_seconds',
      help: 'Time taken by an admission plug-in, by name, operation and step.',
      type: 'histogram',
      samples: plugins.flatMap(([name, durations]) => steps.flatMap((type) => durations[type].samples({ name, type }))),
    },
    {
      name: 'apiserver_admission_step_admission_duration_seconds',
      help: 'Time taken by all admission plug-ins together, by operation and step.',
      type: 'histogram',
      samples: steps.flatMap((type) => whole[type].samples({ type })),
    },
  ];
}
