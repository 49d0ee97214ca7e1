// WebhookMetrics counts calls of admission webhooks. Filled by the two plug-ins, shown by /metrics. Names and labels come from apiserver's
// pkg/admission/metrics.
import type { MetricFamily } from '@kapstan/api/internal';
import { CountSeries, DurationSeries } from '../matching/metric-series.ts';

export type WebhookType = 'admit' | 'validating';

/** Identifies the webhook and the kind of call. */
export interface WebhookLabels {
  readonly name: string;
  readonly type: WebhookType;
  readonly operation: string;
}

export type RejectionType = 'calling_webhook_error' | 'apiserver_internal_error' | 'no_error';

const callBuckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];
/** Codes of webhooks are cut here, so that the number of series stays small. */
const maxCode = 600;

export class WebhookMetrics {
  readonly #durations = new DurationSeries(callBuckets);
  readonly #requests = new CountSeries();
  readonly #rejections = new CountSeries();
  readonly #failedOpen = new CountSeries();

  /** `code`: 200 for an answer that allows, or the code of the refusal; 0 for an error of this server. */
  called(
    of: WebhookLabels,
    {
      code,
      isRejected,
      durationMs,
    }: { readonly code: number; readonly isRejected: boolean; readonly durationMs: number },
  ): void {
    const rejected = String(isRejected);
    this.#requests.add({ ...of, code: codeText(code), rejected });
    this.#durations.observe({ ...of, rejected }, durationMs);
  }

  rejected(of: WebhookLabels, errorType: RejectionType, code: number): void {
    this.#rejections.add({ ...of, error_type: errorType, rejection_code: codeText(code) });
  }

  /** Counts a failed call that its policy passed over. */
  failedOpen({ name, type }: WebhookLabels): void {
    this.#failedOpen.add({ name, type });
  }

  families(): MetricFamily[] {
    const prefix = 'apiserver_admission_webhook_';
    return [
      this.#durations.family(
        `${prefix}admission_duration_seconds`,
        'Time taken by calls of an admission webhook, by its name, type and operation.',
      ),
      this.#rejections.family(`${prefix}rejection_count`, 'Requests refused because of an admission webhook.'),
      this.#failedOpen.family(`${prefix}fail_open_count`, 'Failed calls that a failure policy passed over.'),
      this.#requests.family(`${prefix}request_total`, 'Calls of admission webhooks, by code.'),
    ];
  }
}

function codeText(code: number): string {
  return String(Math.min(code, maxCode));
}
