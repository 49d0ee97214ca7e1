// ConditionMetrics counts evaluations of match conditions of webhooks and policies. Names and labels come from apiserver's
// pkg/admission/metrics.
import type { MetricFamily } from '@kapstan/api/internal';
import { CountSeries, DurationSeries } from './metric-series.ts';

/** Names the owner of the conditions. A type alias, because labels are a record. */
export type ConditionLabels = {
  readonly name: string;
  readonly kind: 'webhook' | 'policy';
  readonly type: 'admit' | 'validate';
  readonly operation: string;
};

const buckets = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];
const prefix = 'apiserver_admission_match_condition_';

export class ConditionMetrics {
  readonly #errors = new CountSeries();
  readonly #exclusions = new CountSeries();
  readonly #durations = new DurationSeries(buckets);

  evaluated(of: ConditionLabels, durationMs: number): void {
    this.#durations.observe(of, durationMs);
  }

  failed(of: ConditionLabels, errors: number): void {
    this.#errors.add(of, errors);
  }

  /** Counts a request that the conditions kept from the webhook. */
  excluded(of: ConditionLabels): void {
    this.#exclusions.add(of);
  }

  families(): MetricFamily[] {
    return [
      this.#errors.family(`${prefix}evaluation_errors_total`, 'Match conditions that failed.'),
      this.#exclusions.family(`${prefix}exclusions_total`, 'Calls that match conditions prevented.'),
      this.#durations.family(`${prefix}evaluation_seconds`, 'Time taken by match conditions.'),
    ];
  }
}
