// Makes the admission of a control plane: kube-apiserver's plug-ins, webhooks, and functions of this process. Called by resources.ts.
import { type Clock, type Logger, type ResourceClient, stringifyJson } from '@kapstan/api';
import {
  AdmissionChain,
  type AdmissionFunction,
  AdmissionFunctions,
  type Authorizer,
  type ResourceCatalog,
  type WebhookPool,
} from '@kapstan/apiserver';
import {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { ResourceQuota } from '@kapstan/kinds/core/v1';
import { DeviceClass } from '@kapstan/kinds/resource.k8s.io/v1';
import { kubernetesPlugins, type QuotaAdmission, quotaAdmission, webhookAdmission } from '@kapstan/kubernetes';
import { KindFeed } from './kind-feed.ts';

export interface AdmissionOptions {
  /** Plug-ins besides those on by default. Default none. */
  readonly enabled?: readonly string[] | undefined;
  /** Plug-ins that are off. Default none. */
  readonly disabled?: readonly string[] | undefined;
  /**
   * Configurations of plug-ins by name, each as an object with apiVersion and kind, or as YAML or JSON: PodSecurity, ResourceQuota,
   * EventRateLimit. Default none.
   */
  readonly configurations?: Readonly<Record<string, string | object>> | undefined;
  /**
   * Functions of this process that admit requests like webhooks do, and before them. They belong to the plug-ins
   * MutatingAdmissionWebhook and ValidatingAdmissionWebhook. Default none.
   */
  readonly functions?: AdmissionFunctions | readonly AdmissionFunction[] | undefined;
}

interface AdmissionSettings {
  readonly admission?: AdmissionOptions | readonly AdmissionFunction[] | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface AdmissionParts {
  readonly catalog: ResourceCatalog;
  readonly client: ResourceClient;
  readonly authorizer: Authorizer;
  readonly webhooks: WebhookPool;
}

export interface OpenAdmission {
  readonly admission: AdmissionChain;
  /** Feeds of what decides about requests. The caller starts and closes them. */
  readonly feeds: readonly KindFeed<string>[];
  readonly quotas: QuotaAdmission;
}

export function openAdmission(
  { clock, logger, admission: given = {} }: AdmissionSettings,
  { catalog, client, authorizer, webhooks: pool }: AdmissionParts,
): OpenAdmission {
  const {
    functions: asked = [],
    configurations: configs = {},
    ...flags
  }: AdmissionOptions = isList(given) ? { functions: given } : given;
  const functions = isList(asked) ? new AdmissionFunctions(asked, clock) : asked;
  const { configurations, ports: webhooks } = webhookAdmission({ catalog, authorizer, pool, functions, clock });
  const quotas = quotaAdmission({ catalog, clock });
  const admission = new AdmissionChain({
    catalog,
    authorizer,
    builtIn: kubernetesPlugins({ quotas }),
    webhooks,
    clock,
    configurations: new Map(Object.entries(configs).map(([name, given]) => [name, textOf(given)])),
    ...flags,
  });
  const common = { client, clock, logger };
  const ofWebhooks = [MutatingWebhookConfiguration, ValidatingWebhookConfiguration];
  const ofQuotas = [ResourceQuota, DeviceClass];
  const feeds = [
    new KindFeed({ ...common, kinds: ofWebhooks, store: configurations, what: 'webhook configurations' }),
    new KindFeed({ ...common, kinds: ofQuotas, store: quotas.quotas, what: 'quotas or device classes' }),
  ];
  return { admission, feeds, quotas };
}

function textOf(configuration: string | object): string {
  return typeof configuration === 'string' ? configuration : stringifyJson(configuration);
}

function isList(given: object): given is readonly AdmissionFunction[] {
  return Array.isArray(given);
}
