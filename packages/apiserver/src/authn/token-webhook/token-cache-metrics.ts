// TokenCacheMetrics counts how often answers about tokens were cached, under kube-apiserver's names. Several caches share
// it. Source: apiserver pkg/authentication/token/cache/stats.go.
import {
  counterFamily,
  DurationHistogram,
  gaugeFamily,
  histogramFamily,
  LabelSeries,
  type MetricFamily,
  NumberSeries,
} from '@kapstan/api/internal';

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const prefix = 'authentication_token_cache_';

/** Counts the answers of a {@link TokenCache}, under kube-apiserver's names. */
export class TokenCacheMetrics {
  readonly #requests: LabelSeries<DurationHistogram> = new LabelSeries(() => new DurationHistogram(buckets));
  readonly #fetches = new NumberSeries();
  #fetching = 0;
  #blocked = 0;

  answered(status: 'hit' | 'miss', durationMs: number): void {
    this.#requests.of(status, () => ({ status })).observe(durationMs);
  }

  fetched(status: 'ok' | 'error'): void {
    this.#fetches.add({ status });
  }

  fetching(by: 1 | -1): void {
    this.#fetching += by;
  }

  blocked(by: 1 | -1): void {
    this.#blocked += by;
  }

  families(): MetricFamily[] {
    return [
      counterFamily(
        `${prefix}request_total`,
        'Questions about tokens, by whether the answer was cached.',
        this.#requests.samples((seconds) => seconds.counts().count),
      ),
      histogramFamily(
        `${prefix}request_duration_seconds`,
        'Time taken to answer questions about tokens, by whether the answer was cached.',
        this.#requests.samples((seconds) => seconds.counts()),
      ),
      counterFamily(`${prefix}fetch_total`, 'Answers that were not cached, by result.', this.#fetches.samples()),
      gaugeFamily(`${prefix}active_fetch_count`, 'Questions under way, and requests that wait for them.', [
        { labels: { status: 'blocked' }, value: this.#blocked },
        { labels: { status: 'in_flight' }, value: this.#fetching },
      ]),
    ];
  }
}
