// JwtMetrics counts the work of authenticators of JSON Web Tokens, under kube-apiserver's names. Issuers are shown as hashes, because their
// URLs may name tenants. Source: plugin/pkg/authenticator/token/oidc/metrics.go.
import { createHash } from 'node:crypto';
import type { Clock } from '@kapstan/api';
import { DurationHistogram, gaugeFamily, histogramFamily, LabelSeries, type MetricFamily } from '@kapstan/api/internal';

const latencyBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const prefix = 'apiserver_authentication_jwt_authenticator_';

/** Facts about the last fetches of an issuer's keys; times in seconds since 1970. */
interface KeyFetches {
  successSeconds?: number;
  failureSeconds?: number;
  hash?: string;
}

export class JwtMetrics {
  readonly #clock: Clock;
  readonly #serverHash: string;
  readonly #latencies: LabelSeries<DurationHistogram> = new LabelSeries(() => new DurationHistogram(latencyBuckets));
  readonly #fetches = new Map<string, KeyFetches>();

  /** `serverId`: the name of this server. "" = it has none. */
  constructor(clock: Clock, serverId: string) {
    this.#clock = clock;
    this.#serverHash = hashOf(serverId);
  }

  /** Adds the time of an authentication by an issuer. */
  authenticated(result: 'success' | 'failure', issuerHash: string, durationMs: number): void {
    const labels = { result, jwt_issuer_hash: issuerHash };
    this.#latencies.of(`${result} ${issuerHash}`, () => labels).observe(durationMs);
  }

  /** `hash`: of the fetched keys; undefined when they could not be fetched. */
  fetchedKeys(issuerHash: string, hash: string | undefined): void {
    const fetches = this.#fetches.get(issuerHash) ?? {};
    this.#fetches.set(issuerHash, fetches);
    const nowSeconds = this.#clock.now() / 1000;
    if (hash === undefined) fetches.failureSeconds = nowSeconds;
    else Object.assign(fetches, { successSeconds: nowSeconds, hash });
  }

  /** Forgets an issuer that is no longer configured. */
  forget(issuerHash: string): void {
    this.#fetches.delete(issuerHash);
  }

  families(): MetricFamily[] {
    const keys = [...this.#fetches].map(([issuerHash, fetches]) => {
      const labels = { jwt_issuer_hash: issuerHash, apiserver_id_hash: this.#serverHash };
      return { labels, fetches };
    });
    return [
      histogramFamily(
        `${prefix}latency_seconds`,
        'Time taken to authenticate a token that was not cached, by result and issuer.',
        this.#latencies.samples((histogram) => histogram.counts()),
      ),
      gaugeFamily(
        `${prefix}jwks_fetch_last_timestamp_seconds`,
        "Time of the last fetch of an issuer's keys, by result, in seconds since 1970.",
        keys.flatMap(({ labels, fetches: { successSeconds, failureSeconds } }) => [
          ...(successSeconds === undefined
            ? []
            : [{ labels: { result: 'success', ...labels }, value: successSeconds }]),
          ...(failureSeconds === undefined
            ? []
            : [{ labels: { result: 'failure', ...labels }, value: failureSeconds }]),
        ]),
      ),
      gaugeFamily(
        `${prefix}jwks_fetch_last_key_set_info`,
        'Hash of the keys that were fetched last from an issuer.',
        keys.flatMap(({ labels, fetches: { hash } }) =>
          hash === undefined ? [] : [{ labels: { ...labels, hash }, value: 1 }],
        ),
      ),
    ];
  }
}

/** Returns the hash of a text as labels show it; "" for the empty text. */
export function hashOf(text: string): string {
  return text === '' ? '' : `sha256:${createHash('sha256').update(text).digest('hex')}`;
}
