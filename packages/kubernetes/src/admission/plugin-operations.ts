// What the plug-ins that are built are asked about; those from elsewhere are asked about everything. Used by built-in-plugins.ts.
// Source: their admission.NewHandler.
import type { AdmissionOperation } from '@kapstan/apiserver';
import { allOperations } from '@kapstan/apiserver';

type Operations = readonly AdmissionOperation[];

const creates: Operations = ['CREATE'];
const updates: Operations = ['UPDATE'];
const writes: Operations = ['CREATE', 'UPDATE'];
const changes: Operations = ['CREATE', 'UPDATE', 'DELETE'];

/** By the name of each that is built. */
export const operations: ReadonlyMap<string, Operations> = new Map([
  ['AlwaysAdmit', allOperations],
  ['AlwaysDeny', allOperations],
  ['AlwaysPullImages', writes],
  ['NamespaceAutoProvision', creates],
  ['NamespaceLifecycle', changes],
  ['NamespaceExists', changes],
  ['LimitPodHardAntiAffinityTopology', writes],
  ['ServiceAccount', writes],
  ['TaintNodesByCondition', creates],
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
]);

/** Throws TypeError for one that is not listed: it would never be asked about what it is there to refuse. */
export function operationsOf(name: string): Operations {
  const listed = operations.get(name);
  if (listed === undefined) throw new TypeError(`what the admission plug-in ${name} is asked about is not listed`);
  return listed;
}
