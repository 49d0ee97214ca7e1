// KeyMetrics: what /metrics shows of the keys of key services, by the hashes of their names. Part of encryption-metrics.ts.
// Source: value/encrypt/envelope/metrics.
import { hostname } from 'node:os';
import type { Clock } from '@kapstan/api';
import { type KeyObserver, keyIdHash } from '@kapstan/storage';
import { Counter, Gauge, type Registry } from 'prom-client';

/** Keys come and go, and a key service may name them as it likes: the sets of labels that are shown at most. */
const mostShown = 100;

type KeyLabel = 'provider_name' | 'key_id_hash' | 'apiserver_id_hash';
type Labels = Readonly<Record<string, string>>;

/** The sets of labels used last, each made once. */
class RecentLabels {
  readonly #onForgotten: (labels: Labels) => void;
  // Least recently used first.
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
  readonly #uses: Counter<KeyLabel | 'transformation_type'>;
  readonly #usedAt: Gauge<KeyLabel | 'transformation_type'>;
  readonly #statusAt: Gauge<KeyLabel>;
  readonly #invalid: Counter<'provider_name' | 'error'>;
  readonly #kept: Gauge<'provider_name'>;
  readonly #used: RecentLabels;
  readonly #told: RecentLabels;

  constructor(clock: Clock, registry: Registry) {
    this.#clock = clock;
    const registers = [registry];
    const keyLabels: KeyLabel[] = ['provider_name', 'key_id_hash', 'apiserver_id_hash'];
    this.#uses = new Counter({
      name: 'apiserver_envelope_encryption_key_id_hash_total',
      help: 'Values read and written under a key of a key service.',
      labelNames: ['transformation_type', ...keyLabels],
      registers,
    });
    this.#usedAt = new Gauge({
      name: 'apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds',
      help: 'When a value was last read or written under a key of a key service.',
      labelNames: ['transformation_type', ...keyLabels],
      registers,
    });
    this.#statusAt = new Gauge({
      name: 'apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds',
      help: 'When a key service last said that this is its key.',
      labelNames: keyLabels,
      registers,
    });
    this.#invalid = new Counter({
      name: 'apiserver_envelope_encryption_invalid_key_id_from_status_total',
      help: 'Statuses of key services whose key had no name or one that is too long.',
      labelNames: ['provider_name', 'error'],
      registers,
    });
    this.#kept = new Gauge({
      name: 'apiserver_envelope_encryption_dek_source_cache_size',
      help: 'Opened data keys that are kept: about as many calls of the key service follow a restart.',
      labelNames: ['provider_name'],
      registers,
    });
    this.#used = new RecentLabels((labels) => {
      this.#uses.remove(labels);
      this.#usedAt.remove(labels);
    });
    this.#told = new RecentLabels((labels) => this.#statusAt.remove(labels));
  }

  /** Counts for the provider of this name. */
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
        this.#uses.inc(labels);
        this.#usedAt.set(labels, this.#clock.now() / 1000);
      },
      onStatus: (keyId) => {
        const labels = this.#told.of(`${provider} ${keyId}`, () => labelsOf(keyId));
        this.#statusAt.set(labels, this.#clock.now() / 1000);
      },
      onInvalidKeyId: (why) => this.#invalid.inc({ provider_name: provider, error: why }),
      onKept: (count) => this.#kept.set({ provider_name: provider }, count),
    };
  }
}
