// EventRateLimit refuses events that come too fast. Source: plugin/pkg/admission/eventratelimit.
import { type Clock, type DeepReadonly, StatusError } from '@kapstan/api';
import { aggregateTexts } from '@kapstan/api/errors';
import { TokenBucket } from '@kapstan/api/internal';
import type { AdmissionAttributes, AdmissionPlugin } from '@kapstan/apiserver';
import type { Event } from '@kapstan/kinds/core/v1';
import type { EventLimit } from './event-limits.ts';

export class EventRateLimit implements AdmissionPlugin {
  readonly name = 'EventRateLimit';
  readonly validatedResources: readonly string[] = ['events'];
  readonly #enforcers: readonly LimitEnforcer[];

  constructor(limits: readonly EventLimit[], clock: Clock) {
    this.#enforcers = limits.map((limit) => new LimitEnforcer(limit, clock));
  }

  validate(attributes: AdmissionAttributes): void {
    const { kind, context } = attributes;
    if (kind.group !== '' || kind.kind !== 'Event' || context.dryRun) return;
    const refusals = this.#enforcers.flatMap((enforcer) => enforcer.refusal(attributes) ?? []);
    if (refusals.length === 0) return;
    const message = `Too many requests: ${aggregateTexts(refusals)}`;
    throw new StatusError({ code: 429, reason: 'TooManyRequests', message });
  }
}

/** One limit, with a bucket for each namespace, user or object that it limits. */
class LimitEnforcer {
  readonly #limit: EventLimit;
  readonly #clock: Clock;
  /** The least recently used bucket comes first. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(limit: EventLimit, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
  }

  /** Takes a token, or returns the reason why there is none. */
  refusal(attributes: AdmissionAttributes): string | undefined {
    const { type } = this.#limit;
    const key = keyOf(type, attributes);
    return this.#bucket(key).tryTake() ? undefined : `limit reached on type ${type} for key ${key}`;
  }

  #bucket(key: string): TokenBucket {
    const { qps, burst, cacheSize } = this.#limit;
    const bucket = this.#buckets.get(key) ?? new TokenBucket({ perSecond: qps, burst, clock: this.#clock });
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > cacheSize && oldest !== undefined) this.#buckets.delete(oldest);
    return bucket;
  }
}

function keyOf(type: EventLimit['type'], { namespace, context, object }: AdmissionAttributes): string {
  switch (type) {
    case 'Server':
      return '';
    case 'Namespace':
      return namespace;
    case 'User':
      return context.user.name;
    case 'SourceAndObject': {
      const { source, involvedObject: about } = (object ?? {}) as DeepReadonly<Partial<Event>>;
      const parts = [source?.component, source?.host, about?.kind, about?.namespace, about?.name, about?.uid];
      return [...parts, about?.apiVersion].map((part) => part ?? '').join('');
    }
  }
}
