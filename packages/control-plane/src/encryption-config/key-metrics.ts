// KeyMetrics: metrics of the keys of key services, labelled by hashes of their ids. Part of encryption-metrics.ts.
// Source: value/encrypt/envelope/metrics.
import { hostname } from 'node:os';
import type { Clock } from '@kapstan/api';
import { counterFamily, gaugeFamily, type Labels, type MetricFamily, NumberSeries } from '@kapstan/api/internal';
import { type KeyObserver, keyIdHash } from '@kapstan/storage';

/** Maximum number of label sets shown: keys come and go, and a key service may give them any ids. */
const mostShown = 100;

/** The most recently used label sets, each created once. */
class RecentLabels {
  readonly #onForgotten: (labels: Labels) => void;
  // The labels ordered by use, the least recent first.
  readonly #labels = new Map<string, Labels>();

  constructor(onForgotten: (labels: Labels) => void) {
    this.#onForgotten = onForgotten;
  }

  of(key: string, make: () => Labels): Labels {
    const labels = this.#labels.get(key) ?? make();
    this.#labels.delete(key);
    this.#labels.set(key, labels);
    for (const [oldest, forgotten] of this.#labels) {
      if (this.#labels.size <= mostShown) break;
      this.#labels.delete(oldest);
      this.#onForgotten(forgotten);
    }
    return labels;
  }
}

export class KeyMetrics {
  readonly #clock: Clock;
  readonly #serverHash: string = keyIdHash(hostname());
  readonly #uses = new NumberSeries();
  readonly #usedAt = new NumberSeries();
  readonly #statusAt = new NumberSeries();
  readonly #invalid = new NumberSeries();
  readonly #kept = new NumberSeries();
  readonly #used: RecentLabels;
  readonly #told: RecentLabels;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#used = new RecentLabels((labels) => {
      this.#uses.remove(labels);
      this.#usedAt.remove(labels);
    });
    this.#told = new RecentLabels((labels) => this.#statusAt.remove(labels));
  }

  families(): readonly MetricFamily[] {
    return [
      counterFamily(
        'apiserver_envelope_encryption_key_id_hash_total',
        'Number of values read or written with a key of a key service.',
        this.#uses.samples(),
      ),
      gaugeFamily(
        'apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds',
        'Time of the last read or write with a key of a key service, in seconds since 1970.',
        this.#usedAt.samples(),
      ),
      gaugeFamily(
        'apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds',
        'Time when a key service last reported this key as current, in seconds since 1970.',
        this.#statusAt.samples(),
      ),
      counterFamily(
        'apiserver_envelope_encryption_invalid_key_id_from_status_total',
        'Number of key service statuses with an empty or too long key id.',
        this.#invalid.samples(),
      ),
      gaugeFamily(
        'apiserver_envelope_encryption_dek_source_cache_size',
        'Number of decrypted data keys in the cache. About the same number of calls to the key service follows a restart.',
        this.#kept.samples(),
      ),
    ];
  }

  /** Returns the observer for the provider of this name. */
  observerFor(provider: string): KeyObserver {
    const labelsOf = (keyId: string): Labels => ({
      provider_name: provider,
      key_id_hash: keyIdHash(keyId),
      apiserver_id_hash: this.#serverHash,
    });
    return {
      onUse: (direction, keyId) => {
        const labels = this.#used.of(`${direction} ${provider} ${keyId}`, () => ({
          transformation_type: direction,
          ...labelsOf(keyId),
        }));
        this.#uses.add(labels);
        this.#usedAt.set(labels, this.#clock.now() / 1000);
      },
      onStatus: (keyId) => {
        const labels = this.#told.of(`${provider} ${keyId}`, () => labelsOf(keyId));
        this.#statusAt.set(labels, this.#clock.now() / 1000);
      },
      onInvalidKeyId: (why) => this.#invalid.add({ provider_name: provider, error: why }),
      onKept: (count) => this.#kept.set({ provider_name: provider }, count),
    };
  }
}
