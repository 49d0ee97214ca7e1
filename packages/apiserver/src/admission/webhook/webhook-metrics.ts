// WebhookMetrics counts calls of admission webhooks and evaluations of their conditions. Filled by the two plug-ins and
// webhook-matching.ts, shown by /metrics. Names and labels are those of apiserver's pkg/admission/metrics.
import {
  counterFamily,
  DurationHistogram,
  histogramFamily,
  LabelSeries,
  type Labels,
  type MetricFamily,
} from '@kapstan/api/internal';

export type WebhookType = 'admit' | 'validating';

/** Which webhook was called for what. */
export interface WebhookLabels {
  readonly name: string;
  readonly type: WebhookType;
  readonly operation: string;
}

export type RejectionType = 'calling_webhook_error' | 'apiserver_internal_error' | 'no_error';

interface Count {
  value: number;
}

const callBuckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];
const conditionBuckets = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];
/** Codes of webhooks are cut here, so that the number of series stays small. */
const maxCode = 600;

export class WebhookMetrics {
  readonly #durations = new LabelSeries(() => new DurationHistogram(callBuckets));
  readonly #requests = counts();
  readonly #rejections = counts();
  readonly #failedOpen = counts();
  readonly #conditionErrors = counts();
  readonly #conditionExclusions = counts();
  readonly #conditionTimes = new LabelSeries(() => new DurationHistogram(conditionBuckets));

  /** `code`: 200 for an answer that allows, else that of the refusal; 0 for an error of this server. */
  called(
    of: WebhookLabels,
    {
      code,
      isRejected,
      durationMs,
    }: { readonly code: number; readonly isRejected: boolean; readonly durationMs: number },
  ): void {
    const rejected = String(isRejected);
    count(this.#requests, { ...of, code: codeText(code), rejected });
    seriesOf(this.#durations, { ...of, rejected }).observe(durationMs);
  }

  rejected(of: WebhookLabels, errorType: RejectionType, code: number): void {
    count(this.#rejections, { ...of, error_type: errorType, rejection_code: codeText(code) });
  }

  /** Counts a failed call that its policy passed over. */
  failedOpen({ name, type }: WebhookLabels): void {
    count(this.#failedOpen, { name, type });
  }

  conditionsEvaluated(of: WebhookLabels, durationMs: number): void {
    seriesOf(this.#conditionTimes, conditionLabels(of)).observe(durationMs);
  }

  conditionsFailed(of: WebhookLabels, errors: number): void {
    count(this.#conditionErrors, conditionLabels(of), errors);
  }

  /** Counts a request that the conditions kept from the webhook. */
  conditionsExcluded(of: WebhookLabels): void {
    count(this.#conditionExclusions, conditionLabels(of));
  }

  families(): MetricFamily[] {
    const webhook = 'apiserver_admission_webhook_';
    const condition = 'apiserver_admission_match_condition_';
    return [
      histogramFamily(
        `${webhook}admission_duration_seconds`,
        'Time taken by calls of an admission webhook, by its name, type and operation.',
        this.#durations.samples((histogram) => histogram.counts()),
      ),
      family(`${webhook}rejection_count`, 'Requests refused because of an admission webhook.', this.#rejections),
      family(`${webhook}fail_open_count`, 'Failed calls that a failure policy passed over.', this.#failedOpen),
      family(`${webhook}request_total`, 'Calls of admission webhooks, by code.', this.#requests),
      family(`${condition}evaluation_errors_total`, 'Match conditions that failed.', this.#conditionErrors),
      family(`${condition}exclusions_total`, 'Calls that match conditions prevented.', this.#conditionExclusions),
      histogramFamily(
        `${condition}evaluation_seconds`,
        'Time taken by match conditions.',
        this.#conditionTimes.samples((histogram) => histogram.counts()),
      ),
    ];
  }
}

function counts(): LabelSeries<Count> {
  return new LabelSeries<Count>(() => ({ value: 0 }));
}

function seriesOf<V>(series: LabelSeries<V>, labels: Labels): V {
  return series.of(JSON.stringify(labels), () => labels);
}

function count(series: LabelSeries<Count>, labels: Labels, by: number = 1): void {
  seriesOf(series, labels).value += by;
}

function family(name: string, help: string, series: LabelSeries<Count>): MetricFamily {
  return counterFamily(
    name,
    help,
    series.samples(({ value }) => value),
  );
}

function codeText(code: number): string {
  return String(Math.min(code, maxCode));
}

/** The type of conditions has another word than that of calls. */
function conditionLabels({ name, type, operation }: WebhookLabels): Labels {
  return { name, kind: 'webhook', type: type === 'admit' ? 'admit' : 'validate', operation };
}
