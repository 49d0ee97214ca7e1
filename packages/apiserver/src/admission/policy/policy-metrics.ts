// PolicyMetrics counts evaluations of policies. Filled by validating-policies.ts and mutating-policies.ts, shown by /metrics. Names and
// labels come from apiserver's plugin/policy/validating/metrics and plugin/policy/mutating/metrics.
import type { MetricFamily } from '@kapstan/api/internal';
import { outOfBudget } from '../matching/expression-list.ts';
import { CountSeries, DurationSeries } from '../matching/metric-series.ts';

/** A type alias, because labels are a record. */
export type PolicyLabels = {
  readonly policy: string;
  readonly policy_binding: string;
  readonly error_type: string;
  /** Absent for mutating policies. */
  readonly enforcement_action?: string;
};

const buckets = [0.0000005, 0.001, 0.01, 0.1, 1];

export class PolicyMetrics {
  readonly #prefix: string;
  readonly #checks = new CountSeries();
  readonly #durations = new DurationSeries(buckets);

  constructor(type: 'validating' | 'mutating') {
    this.#prefix = `apiserver_${type}_admission_policy_`;
  }

  checked(labels: PolicyLabels, durationMs: number): void {
    this.#checks.add(labels);
    this.#durations.observe(labels, durationMs);
  }

  families(): MetricFamily[] {
    return [
      this.#checks.family(`${this.#prefix}check_total`, 'Checks of admission policies, by policy and binding.'),
      this.#durations.family(
        `${this.#prefix}check_duration_seconds`,
        'Time taken by expressions of admission policies.',
      ),
    ];
  }
}

/** Source: validating.ErrorType. */
export function errorType(message: string | undefined): string {
  if (message === undefined) return 'no_error';
  if (message.startsWith('compilation')) return 'compile_error';
  return message.startsWith(outOfBudget.slice(0, 54)) ? 'out_of_budget' : 'invalid_error';
}
