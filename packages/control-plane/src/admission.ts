// Makes the admission of a control plane: kube-apiserver's plug-ins, webhooks, and functions of this process. Called by resources.ts.
import type { Clock, Logger, ResourceClient } from '@kapstan/api';
import {
  AdmissionChain,
  type AdmissionFunction,
  AdmissionFunctions,
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
import { admissionMatching, kubernetesAdmission, policyAdmission, webhookAdmission } from '@kapstan/kubernetes';
import { KindFeed } from './kind-feed.ts';

export interface AdmissionOptions {
  /** Plug-ins besides those on by default. Default none. */
  readonly enabled?: readonly string[] | undefined;
  /** Plug-ins that are off. Default none. */
  readonly disabled?: readonly string[] | undefined;
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

/** What admission must know of the stored objects before the first request. */
export interface AdmissionFeeds {
  start(): void;
  /** Resolves when everything stored at the start is known. */
  whenSynced(): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** Returns the admission, and the feeds of configurations and policies, which the caller starts and closes. */
export function openAdmission(
  { clock, logger, admission: given = {} }: AdmissionSettings,
  { catalog, client, authorizer, webhooks: pool }: AdmissionParts,
): { readonly admission: AdmissionChain; readonly feeds: AdmissionFeeds } {
  const { functions: asked = [], ...flags }: AdmissionOptions = isList(given) ? { functions: given } : given;
  const functions = isList(asked) ? new AdmissionFunctions(asked, clock) : asked;
  const shared = { ...admissionMatching(catalog), catalog, authorizer, clock };
  const { configurations, ports: webhooks } = webhookAdmission({ ...shared, pool, functions });
  const { policies, ports: policyPorts } = policyAdmission(shared);
  const admission = new AdmissionChain({
    catalog,
    authorizer,
    builtIn: kubernetesAdmission,
    webhooks,
    policies: policyPorts,
    clock,
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
  ];
  return { admission, feeds: joined(feeds, policies) };
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

function isList(given: object): given is readonly AdmissionFunction[] {
  return Array.isArray(given);
}
