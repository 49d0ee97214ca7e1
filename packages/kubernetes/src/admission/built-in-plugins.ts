// kubernetesAdmission makes the plug-ins of kube-apiserver that are built here, those on by default and the others.
// They are passed to an AdmissionChain. Source: pkg/kubeapiserver/options DefaultOffAdmissionPlugins.

import type { AdmissionPlugin, BuiltInPlugin, PluginPorts, PluginSet } from '@kapstan/apiserver';
import { configured, ObjectReader } from '@kapstan/apiserver';
import {
  MutatingPolicies,
  MutatingWebhooks,
  ValidatingPolicies,
  ValidatingWebhooks,
} from '@kapstan/apiserver/internal';
import { alwaysAdmit, alwaysDeny } from './always.ts';
import { alwaysPullImages } from './always-pull-images.ts';
import { certificateSigners } from './certificate-signers.ts';
import { certificateSubjectRestriction } from './certificate-subject-restriction.ts';
import { defaultIngressClass, defaultStorageClass } from './default-class.ts';
import { defaultTolerationSeconds } from './default-toleration-seconds.ts';
import { denyServiceExternalIPs } from './deny-service-external-ips.ts';
import { parseEventLimits } from './event-rate-limit/event-limits.ts';
import { EventRateLimit } from './event-rate-limit/event-rate-limit.ts';
import { extendedResourceToleration } from './extended-resource-toleration.ts';
import { limitPodHardAntiAffinityTopology } from './limit-pod-hard-anti-affinity-topology.ts';
import { LimitRanger } from './limit-range/limit-ranger.ts';
import { namespaceAutoProvision } from './namespace-auto-provision.ts';
import { namespaceExists } from './namespace-exists.ts';
import { NamespaceLifecycle } from './namespace-lifecycle.ts';
import { NodeRestriction } from './node-restriction/node-restriction.ts';
import { ownerReferencesPermissionEnforcement } from './owner-references-permission-enforcement.ts';
import { persistentVolumeClaimResize } from './persistent-volume-claim-resize.ts';
import { operations, operationsOf } from './plugin-operations.ts';
import { podResizeValidator } from './pod-resize-validator.ts';
import { PodSecurity } from './pod-security/pod-security.ts';
import { parsePodSecurity } from './pod-security/pod-security-configuration.ts';
import { podTopologyLabels } from './pod-topology-labels.ts';
import { Priority } from './priority.ts';
import { parseLimitedResources } from './resource-quota/limited-resources.ts';
import { type QuotaAdmission, resourceQuota } from './resource-quota/quota-admission.ts';
import { runtimeClass } from './runtime-class.ts';
import { ServiceAccount } from './service-account.ts';
import { storageObjectInUseProtection } from './storage-object-in-use-protection.ts';
import { taintNodesByCondition } from './taint-nodes-by-condition.ts';
import { requireNoWebhookSettings } from './webhook-configuration-file.ts';

/** Names and order of kube-apiserver 1.36. Source: pkg/kubeapiserver/options/plugins.go. */
export const admissionPluginNames: readonly string[] = [
  'AlwaysAdmit',
  'NamespaceAutoProvision',
  'NamespaceLifecycle',
  'NamespaceExists',
  'LimitPodHardAntiAffinityTopology',
  'LimitRanger',
  'ServiceAccount',
  'NodeRestriction',
  'TaintNodesByCondition',
  'AlwaysPullImages',
  'ImagePolicyWebhook',
  'PodSecurity',
  'PodNodeSelector',
  'Priority',
  'DefaultTolerationSeconds',
  'PodTolerationRestriction',
  'EventRateLimit',
  'ExtendedResourceToleration',
  'DefaultStorageClass',
  'StorageObjectInUseProtection',
  'PodGroupProtection',
  'OwnerReferencesPermissionEnforcement',
  'PersistentVolumeClaimResize',
  'RuntimeClass',
  'CertificateApproval',
  'CertificateSigning',
  'ClusterTrustBundleAttest',
  'CertificateSubjectRestriction',
  'DefaultIngressClass',
  'DenyServiceExternalIPs',
  'PodTopologyLabels',
  'PodGroupWorkloadExists',
  'NodeDeclaredFeatureValidator',
  'JobValidation',
  'PodResizeValidator',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionWebhook',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionWebhook',
  'ResourceQuota',
  'AlwaysDeny',
];

const webhookPlugins = ['MutatingAdmissionWebhook', 'ValidatingAdmissionWebhook'];

/** Plug-ins that are on unless disabled. */
function defaultPlugins(ports: PluginPorts, { quotas }: KubernetesPlugins): AdmissionPlugin[] {
  const { catalog, authorizer, clock, random, webhooks, policies } = ports;
  const reader = new ObjectReader(catalog);
  for (const name of webhookPlugins) configured(ports, name, requireNoWebhookSettings);
  const podSecurity = configured(ports, 'PodSecurity', parsePodSecurity);
  const limited = configured(ports, 'ResourceQuota', parseLimitedResources);
  return [
    new NamespaceLifecycle(reader, clock),
    new LimitRanger(reader),
    new ServiceAccount({ reader, clock, random }),
    taintNodesByCondition,
    new PodSecurity({ reader, clock, configuration: podSecurity }),
    new Priority(reader),
    defaultTolerationSeconds,
    defaultStorageClass(reader),
    storageObjectInUseProtection,
    persistentVolumeClaimResize(reader),
    runtimeClass(reader),
    ...certificateSigners(authorizer),
    certificateSubjectRestriction,
    defaultIngressClass(reader),
    podTopologyLabels(reader),
    podResizeValidator(reader),
    ...(policies === undefined
      ? []
      : [
          new MutatingPolicies('MutatingAdmissionPolicy', policies),
          new ValidatingPolicies('ValidatingAdmissionPolicy', policies),
        ]),
    ...(webhooks === undefined
      ? []
      : [
          new MutatingWebhooks('MutatingAdmissionWebhook', webhooks),
          new ValidatingWebhooks('ValidatingAdmissionWebhook', webhooks),
        ]),
    resourceQuota(ports, { limited, shared: quotas }),
  ];
}

/** Plug-ins that are off unless enabled. */
function optionalPlugins(ports: PluginPorts): AdmissionPlugin[] {
  const { catalog, authorizer, clock, configurations, enabled = [] } = ports;
  const reader = new ObjectReader(catalog);
  // Without a configuration there is nothing to enforce, so it cannot be turned on.
  const hasLimits = enabled.includes('EventRateLimit') || configurations?.has('EventRateLimit') === true;
  const limits = hasLimits ? configured(ports, 'EventRateLimit', parseEventLimits) : [];
  return [
    alwaysAdmit,
    namespaceAutoProvision(reader, catalog),
    namespaceExists(reader),
    limitPodHardAntiAffinityTopology,
    new NodeRestriction(reader, authorizer),
    alwaysPullImages,
    new EventRateLimit(limits, clock),
    extendedResourceToleration,
    ownerReferencesPermissionEnforcement(authorizer, catalog),
    denyServiceExternalIPs,
    alwaysDeny,
  ];
}

function entry(plugin: AdmissionPlugin, isDefault: boolean): BuiltInPlugin {
  return { plugin, operations: operationsOf(plugin.name), isDefault };
}

/** Parts that plug-ins share with other parts of a server. */
export interface KubernetesPlugins {
  /** Absent = ResourceQuota reads the stored quotas for each request. */
  readonly quotas?: QuotaAdmission | undefined;
}

/** Returns the admission plug-ins of kube-apiserver. */
export function kubernetesPlugins(shared: KubernetesPlugins): PluginSet {
  return {
    names: admissionPluginNames,
    built: new Set(operations.keys()),
    configurable: new Set(['PodSecurity', 'ResourceQuota', 'EventRateLimit', ...webhookPlugins]),
    make: (ports) => [
      ...defaultPlugins(ports, shared).map((plugin) => entry(plugin, true)),
      ...optionalPlugins(ports).map((plugin) => entry(plugin, false)),
    ],
  };
}

/** Plug-ins that share nothing. */
export const kubernetesAdmission: PluginSet = kubernetesPlugins({});
