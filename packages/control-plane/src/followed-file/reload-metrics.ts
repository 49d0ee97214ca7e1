// ReloadMetrics counts the reloads of one configuration file, under kube-apiserver's names. Filled by followed-file.ts.
// Source: apiserver server/options/{authenticationconfig,authorizationconfig,encryptionconfig}/metrics.
import { createHash } from 'node:crypto';
import type { Clock } from '@kapstan/api';
import { counterFamily, gaugeFamily, type MetricFamily, NumberSeries } from '@kapstan/api/internal';

export interface ReloadMetricsOptions {
  /** The configured feature, such as "authentication". */
  readonly what: string;
  /** The name of this server; only its hash is shown. */
  readonly serverId: string;
  /** {@link contentHash} of the file that is in use at the start. */
  readonly hash: string;
  readonly clock: Clock;
}

export class ReloadMetrics {
  readonly #what: string;
  readonly #clock: Clock;
  readonly #server: { readonly apiserver_id_hash: string };
  readonly #reloads = new NumberSeries();
  readonly #reloadedAt = new NumberSeries();
  #hash: string;

  constructor({ what, serverId, hash, clock }: ReloadMetricsOptions) {
    this.#what = what;
    this.#clock = clock;
    this.#server = { apiserver_id_hash: contentHash(serverId) };
    this.#hash = hash;
  }

  failed(): void {
    this.#reloaded('failure');
  }

  /** `hash`: hash of the configuration now in use. */
  succeeded(hash: string): void {
    this.#reloaded('success');
    this.#hash = hash;
  }

  families(): MetricFamily[] {
    const what = this.#what;
    const prefix = `apiserver_${what}_config_controller_`;
    return [
      counterFamily(
        `${prefix}automatic_reloads_total`,
        `Number of automatic reloads of the ${what} configuration, by status.`,
        this.#reloads.samples(),
      ),
      gaugeFamily(
        `${prefix}automatic_reload_last_timestamp_seconds`,
        `Time of the last automatic reload of the ${what} configuration, by status, in seconds since 1970.`,
        this.#reloadedAt.samples(),
      ),
      gaugeFamily(`${prefix}last_config_info`, `Hash of the ${what} configuration in use.`, [
        { labels: { ...this.#server, hash: this.#hash }, value: 1 },
      ]),
    ];
  }

  #reloaded(status: 'success' | 'failure'): void {
    const labels = { ...this.#server, status };
    this.#reloads.add(labels);
    this.#reloadedAt.set(labels, this.#clock.now() / 1000);
  }
}

/** Returns the hash of a text in kube-apiserver's form; the hash of an empty text is empty. */
export function contentHash(text: string): string {
  return text === '' ? '' : `sha256:${createHash('sha256').update(text).digest('hex')}`;
}
