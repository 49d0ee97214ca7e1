// The plug-ins that are built, by whether they are on. Put in order by admission-chain.ts.
// Source: pkg/kubeapiserver/options DefaultOffAdmissionPlugins.
import type { Clock } from '@kapstan/api';
import type { Authorizer } from '../authz/authorizer.ts';
import type { ResourceCatalog } from '../registry/catalog.ts';
import { ObjectReader } from '../registry/object-reader.ts';
import type { AdmissionPlugin } from './admission-plugin.ts';
import { alwaysAdmit, alwaysDeny } from './always.ts';
import { alwaysPullImages } from './always-pull-images.ts';
import { certificateSigners } from './certificate-signers.ts';
import { certificateSubjectRestriction } from './certificate-subject-restriction.ts';
import { defaultIngressClass, defaultStorageClass } from './default-class.ts';
import { defaultTolerationSeconds } from './default-toleration-seconds.ts';
import { denyServiceExternalIPs } from './deny-service-external-ips.ts';
import { extendedResourceToleration } from './extended-resource-toleration.ts';
import { limitPodHardAntiAffinityTopology } from './limit-pod-hard-anti-affinity-topology.ts';
import { namespaceAutoProvision } from './namespace-auto-provision.ts';
import { namespaceExists } from './namespace-exists.ts';
import { NamespaceLifecycle } from './namespace-lifecycle.ts';
import { ownerReferencesPermissionEnforcement } from './owner-references-permission-enforcement.ts';
import { persistentVolumeClaimResize } from './persistent-volume-claim-resize.ts';
import { podTopologyLabels } from './pod-topology-labels.ts';
import { Priority } from './priority.ts';
import { runtimeClass } from './runtime-class.ts';
import { ServiceAccount } from './service-account.ts';
import { storageObjectInUseProtection } from './storage-object-in-use-protection.ts';
import { taintNodesByCondition } from './taint-nodes-by-condition.ts';

/** What plug-ins work with. */
export interface PluginPorts {
  readonly catalog: ResourceCatalog;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly random: () => number;
}

/** On unless they are switched off. */
export function defaultPlugins({ catalog, authorizer, clock, random }: PluginPorts): AdmissionPlugin[] {
  const reader = new ObjectReader(catalog);
  return [
    new NamespaceLifecycle(reader, clock),
    new ServiceAccount({ reader, clock, random }),
    taintNodesByCondition,
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
  ];
}

/** Off unless they are switched on. */
export function optionalPlugins({ catalog, authorizer }: PluginPorts): AdmissionPlugin[] {
  const reader = new ObjectReader(catalog);
  return [
    alwaysAdmit,
    namespaceAutoProvision(reader, catalog),
    namespaceExists(reader),
    limitPodHardAntiAffinityTopology,
    alwaysPullImages,
    extendedResourceToleration,
    ownerReferencesPermissionEnforcement(authorizer, catalog),
    denyServiceExternalIPs,
    alwaysDeny,
  ];
}
