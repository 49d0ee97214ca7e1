// Makes the admission of a control plane: kube-apiserver's plug-ins, webhooks, and functions of this process. Called by resources.ts.
import { type Clock, type Logger, type ResourceClient, stringifyJson } from '@kapstan/api';
import {
  AdmissionChain,
  type AdmissionFunction,
  AdmissionFunctions,
  type AdmissionPlugin,
  type Authorizer,
  type ResourceCatalog,
  type WebhookPool,
} from '@kapstan/apiserver';
import {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { ResourceQuota } from '@kapstan/kinds/core/v1';
import { DeviceClass } from '@kapstan/kinds/resource.k8s.io/v1';
import {
  admissionMatching,
  kubernetesPlugins,
  policyAdmission,
  type QuotaAdmission,
  quotaAdmission,
  webhookAdmission,
} from '@kapstan/kubernetes';
import { KindFeed } from '../lifetime/kind-feed.ts';

/** Selects and configures the admission plug-ins. */
export interface AdmissionOptions {
  /** Plug-ins in addition to those on by default. Default none. */
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
  /**
   * Plug-ins of this program, on unless disabled, each under a name of its own. They run before kube-apiserver's; one that
   * has the name of a plug-in that this version lacks runs at its place. Default none.
   */
  readonly plugins?: readonly AdmissionPlugin[] | undefined;
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

/** The stored objects that admission must know before the first request. */
export interface AdmissionFeeds {
  start(): void;
  /** Resolves when everything stored at the start is known. */
  whenSynced(): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
}

export interface OpenAdmission {
  readonly admission: AdmissionChain;
  /** Feeds of configurations, policies and quotas. The caller starts and closes them. */
  readonly feeds: AdmissionFeeds;
  readonly quotas: QuotaAdmission;
}

export function openAdmission(
  { clock, logger, admission: given = {} }: AdmissionSettings,
  { catalog, client, authorizer, webhooks: pool }: AdmissionParts,
): OpenAdmission {
  const {
    functions: asked = [],
    configurations: configs = {},
    plugins = [],
    ...flags
  }: AdmissionOptions = isList(given) ? { functions: given } : given;
  const functions = isList(asked) ? new AdmissionFunctions(asked, clock) : asked;
  refuseUncalled(functions, flags.disabled ?? []);
  const shared = { ...admissionMatching(catalog), catalog, authorizer, clock };
  const { configurations, ports: webhooks } = webhookAdmission({ ...shared, pool, functions });
  const { policies, ports: policyPorts } = policyAdmission(shared);
  const quotas = quotaAdmission({ catalog, clock });
  const admission = new AdmissionChain({
    catalog,
    authorizer,
    builtIn: kubernetesPlugins({ quotas }),
    webhooks,
    policies: policyPorts,
    plugins,
    clock,
    configurations: new Map(Object.entries(configs).map(([name, given]) => [name, textOf(given)])),
    ...flags,
  });
  const feedOf = { client, clock, logger };
  const feeds = [
    new KindFeed({
      ...feedOf,
      kinds: [MutatingWebhookConfiguration, ValidatingWebhookConfiguration],
      store: configurations,
      what: 'webhook configurations',
    }),
    new KindFeed({
      ...feedOf,
      kinds: [
        ValidatingAdmissionPolicy,
        ValidatingAdmissionPolicyBinding,
        MutatingAdmissionPolicy,
        MutatingAdmissionPolicyBinding,
      ],
      store: policies,
      what: 'admission policies',
    }),
    new KindFeed({
      ...feedOf,
      kinds: [ResourceQuota, DeviceClass],
      store: quotas.quotas,
      what: 'quotas or device classes',
    }),
  ];
  return { admission, feeds: joined(feeds, policies), quotas };
}

function joined(feeds: readonly KindFeed<never>[], policies: { close(): void }): AdmissionFeeds {
  return {
    start: () => {
      for (const feed of feeds) feed.start();
    },
    whenSynced: async () => void (await Promise.all(feeds.map((feed) => feed.whenSynced()))),
    close: async () => {
      policies.close();
      await Promise.all(feeds.map((feed) => feed.close()));
    },
  };
}

function textOf(configuration: string | object): string {
  return typeof configuration === 'string' ? configuration : stringifyJson(configuration);
}

/** Functions of a disabled plug-in would be ignored. */
function refuseUncalled(functions: AdmissionFunctions, disabled: readonly string[]): void {
  const callers = [
    ['mutate', 'MutatingAdmissionWebhook'],
    ['validate', 'ValidatingAdmissionWebhook'],
  ] as const;
  for (const [type, plugin] of callers)
    if (disabled.includes(plugin))
      functions.refuse(type, `functions that ${type} are called by the admission plug-in ${plugin}, which is disabled`);
}

function isList(given: object): given is readonly AdmissionFunction[] {
  return Array.isArray(given);
}
