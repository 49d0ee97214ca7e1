// WebhookFeed lists and watches the stored webhook configurations in this process, and keeps admission in step with them. Between
// resources.ts and @kapstan/kubernetes' WebhookConfigurations.
import type { Clock, DeepReadonly, KubernetesObject, Logger, Resource, ResourceClient } from '@kapstan/api';
import { Reflector } from '@kapstan/informers';
import {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import type { WebhookConfigurationKind, WebhookConfigurations } from '@kapstan/kubernetes';
import { filter, firstValueFrom } from 'rxjs';

export interface WebhookFeedPorts {
  readonly client: ResourceClient;
  readonly configurations: WebhookConfigurations;
  readonly clock: Clock;
  readonly logger: Logger;
}

const kinds: readonly Resource<KubernetesObject>[] = [MutatingWebhookConfiguration, ValidatingWebhookConfiguration];

export class WebhookFeed {
  readonly #reflectors: readonly Reflector<KubernetesObject>[];

  /** Creates it idle; {@link start} starts it. */
  constructor(ports: WebhookFeedPorts) {
    this.#reflectors = kinds.map((kind) => reflectorOf(kind, ports));
  }

  /** Starts the feed. It never gives up: while a kind cannot be read, its last known configurations count. */
  start(): void {
    for (const reflector of this.#reflectors) reflector.start();
  }

  /** Resolves when everything stored at the start is known. Rejects when the feed is closed first. */
  async whenSynced(): Promise<void> {
    await Promise.all(
      this.#reflectors.map(({ status$ }) => firstValueFrom(status$.pipe(filter(({ phase }) => phase === 'live')))),
    );
  }

  /** Idempotent. */
  async close(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.close()));
  }
}

function reflectorOf(
  kind: Resource<KubernetesObject>,
  { client, configurations, clock, logger }: WebhookFeedPorts,
): Reflector<KubernetesObject> {
  const name = kind.kind as WebhookConfigurationKind;
  const store = {
    add: (object: DeepReadonly<KubernetesObject>) => configurations.set(name, object),
    update: (object: DeepReadonly<KubernetesObject>) => configurations.set(name, object),
    delete: (object: DeepReadonly<KubernetesObject>) => configurations.delete(name, object),
    replace: (objects: Iterable<DeepReadonly<KubernetesObject>>) => configurations.replace(name, objects),
  };
  return new Reflector(client.listerWatcher(kind), store, {
    clock,
    name: kind.plural,
    onWatchError: (error, { phase }) => {
      // "stale" means an expired version, which a relist repairs, so it is no warning.
      const level = phase === 'stale' ? 'debug' : 'warn';
      logger[level]('could not watch webhook configurations; retrying', {
        resource: kind.plural,
        error: String(error),
      });
    },
    onWarning: (text) => logger.warn(text),
    onStoreError: (error) =>
      logger.error('a webhook configuration cannot be read; the last readable state counts', { error: String(error) }),
  });
}
