// WebhookConfigurations holds the webhooks of all known configurations, ready to be called. The control plane
// feeds it from the watch cache. Source: apiserver pkg/admission/configuration.
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import type { WebhookPool } from '@kapstan/apiserver';
import {
  type AdmissionWebhook,
  admissionWebhook,
  MatchConditions,
  RemoteCaller,
  type WebhookSource,
  webhookTarget,
} from '@kapstan/apiserver/internal';
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { requestExpressions } from '../admissionregistration/request-expressions.ts';

/** The kinds of configurations of admission webhooks. */
export type WebhookConfigurationKind = 'MutatingWebhookConfiguration' | 'ValidatingWebhookConfiguration';

type Configuration = DeepReadonly<MutatingWebhookConfiguration | ValidatingWebhookConfiguration>;

/** The admission webhooks of a cluster, compiled. */
export class WebhookConfigurations {
  readonly #sources: Readonly<Record<WebhookConfigurationKind, ConfigurationSource>>;

  constructor(pool: WebhookPool) {
    this.#sources = {
      MutatingWebhookConfiguration: new ConfigurationSource(pool),
      ValidatingWebhookConfiguration: new ConfigurationSource(pool),
    };
  }

  source(kind: WebhookConfigurationKind): WebhookSource {
    return this.#sources[kind];
  }

  set(kind: WebhookConfigurationKind, object: DeepReadonly<KubernetesObject>): void {
    this.#sources[kind].set(object as Configuration);
  }

  delete(kind: WebhookConfigurationKind, object: DeepReadonly<KubernetesObject>): void {
    this.#sources[kind].delete(object as Configuration);
  }

  /** Replaces all objects of the kind in one step. The kind is known after the first call. */
  replace(kind: WebhookConfigurationKind, objects: Iterable<DeepReadonly<KubernetesObject>>): void {
    this.#sources[kind].replace(objects as Iterable<Configuration>);
  }
}

/** The webhooks of one kind of configuration, ordered by the name of the configuration, then as listed in it. */
class ConfigurationSource implements WebhookSource {
  readonly #pool: WebhookPool;
  readonly #webhooks = new Map<string, readonly AdmissionWebhook[]>();
  #sorted: readonly AdmissionWebhook[] | undefined = [];
  #hasSynced = false;

  constructor(pool: WebhookPool) {
    this.#pool = pool;
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  get webhooks(): readonly AdmissionWebhook[] {
    this.#sorted ??= [...this.#webhooks].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, webhooks]) => webhooks);
    return this.#sorted;
  }

  set(configuration: Configuration): void {
    this.#webhooks.set(nameOf(configuration), this.#read(configuration));
    this.#sorted = undefined;
  }

  delete(configuration: Configuration): void {
    this.#webhooks.delete(nameOf(configuration));
    this.#sorted = undefined;
  }

  replace(configurations: Iterable<Configuration>): void {
    // All are read before any is replaced, so one that cannot be read leaves the others in force.
    const read = [...configurations].map((each) => [nameOf(each), this.#read(each)] as const);
    this.#webhooks.clear();
    for (const [name, webhooks] of read) this.#webhooks.set(name, webhooks);
    this.#sorted = undefined;
    this.#hasSynced = true;
  }

  #read(configuration: Configuration): readonly AdmissionWebhook[] {
    // Names need not be unique in one configuration.
    const seen = new Map<string, number>();
    return (configuration.webhooks ?? []).map((webhook) => {
      const index = seen.get(webhook.name) ?? 0;
      seen.set(webhook.name, index + 1);
      return this.#webhookOf(nameOf(configuration), webhook, index);
    });
  }

  #webhookOf(configuration: string, webhook: DeepReadonly<Partial<MutatingWebhook>>, index: number): AdmissionWebhook {
    const { name = '', clientConfig = {}, timeoutSeconds = 10, matchConditions = [] } = webhook;
    const caller = new RemoteCaller({
      pool: this.#pool,
      target: webhookTarget(clientConfig),
      timeoutSeconds,
      reviewVersions: webhook.admissionReviewVersions ?? [],
    });
    const conditions =
      matchConditions.length === 0 ? undefined : new MatchConditions(matchConditions, requestExpressions);
    return admissionWebhook({ ...webhook, name }, { configuration, index, conditions, caller });
  }
}

function nameOf({ metadata }: Configuration): string {
  return metadata?.name ?? '';
}
