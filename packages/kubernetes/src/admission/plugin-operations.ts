// The operations for which the built plug-ins are called; plug-ins from elsewhere are called for all. Used by
// built-in-plugins.ts. Source: their admission.NewHandler.
import type { AdmissionOperation } from '@kapstan/api/internal';
import { allOperations } from '@kapstan/apiserver';

type Operations = readonly AdmissionOperation[];

const creates: Operations = ['CREATE'];
const updates: Operations = ['UPDATE'];
const writes: Operations = ['CREATE', 'UPDATE'];
const changes: Operations = ['CREATE', 'UPDATE', 'DELETE'];

/** Operations by the plug-in's name. */
export const operations: ReadonlyMap<string, Operations> = new Map([
  ['AlwaysAdmit', allOperations],
  ['AlwaysDeny', allOperations],
  ['AlwaysPullImages', writes],
  ['NamespaceAutoProvision', creates],
  ['NamespaceLifecycle', changes],
  ['NamespaceExists', changes],
  ['LimitPodHardAntiAffinityTopology', writes],
  ['LimitRanger', writes],
  ['ServiceAccount', writes],
  ['TaintNodesByCondition', creates],
  ['PodSecurity', writes],
  ['Priority', changes],
  ['DefaultTolerationSeconds', writes],
  ['ExtendedResourceToleration', writes],
  ['DefaultStorageClass', creates],
  ['StorageObjectInUseProtection', creates],
  ['OwnerReferencesPermissionEnforcement', writes],
  ['PersistentVolumeClaimResize', updates],
  ['RuntimeClass', creates],
  ['CertificateApproval', updates],
  ['CertificateSigning', updates],
  ['ClusterTrustBundleAttest', writes],
  ['CertificateSubjectRestriction', creates],
  ['DefaultIngressClass', creates],
  ['DenyServiceExternalIPs', writes],
  ['PodTopologyLabels', creates],
  ['MutatingAdmissionPolicy', ['CREATE', 'UPDATE', 'CONNECT']],
  ['MutatingAdmissionWebhook', allOperations],
  ['ValidatingAdmissionPolicy', allOperations],
  ['ValidatingAdmissionWebhook', allOperations],
  ['ResourceQuota', writes],
  ['EventRateLimit', writes],
  ['PodResizeValidator', updates],
  ['NodeRestriction', changes],
]);

/** Throws TypeError for a plug-in that is not listed, because it would never be called. */
export function operationsOf(name: string): Operations {
  const listed = operations.get(name);
  if (listed === undefined) throw new TypeError(`what the admission plug-in ${name} is asked about is not listed`);
  return listed;
}
