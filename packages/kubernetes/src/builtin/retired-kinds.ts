// Kinds that kube-apiserver 1.36 can decode but does not serve in that version or as a resource. A body of one is
// refused for its version or kind, and not as unknown. Part of kubernetes-types.ts.

const workloads = 'ControllerRevision Deployment Scale StatefulSet';
const roles = 'ClusterRole ClusterRoleBinding Role RoleBinding';
const priorities = 'FlowSchema PriorityLevelConfiguration';

/**
 * The kinds of each apiVersion; lists have separate names. Source: AllKnownTypes of legacyscheme of Kubernetes 1.36.3,
 * apiextensions and kube-aggregator.
 */
const kinds: readonly (readonly [apiVersion: string, kinds: string])[] = [
  ['v1', 'List PodStatusResult RangeAllocation SerializedReference'],
  ['admissionregistration.k8s.io/v1alpha1', 'MutatingAdmissionPolicy MutatingAdmissionPolicyBinding'],
  ['admissionregistration.k8s.io/v1beta1', 'MutatingWebhookConfiguration ValidatingWebhookConfiguration'],
  ['apiextensions.k8s.io/v1beta1', 'CustomResourceDefinition'],
  ['apiregistration.k8s.io/v1beta1', 'APIService'],
  ['apps/v1beta1', `${workloads} DeploymentRollback`],
  ['apps/v1beta2', `${workloads} DaemonSet ReplicaSet`],
  ['authentication.k8s.io/v1alpha1', 'SelfSubjectReview'],
  ['authentication.k8s.io/v1beta1', 'SelfSubjectReview TokenReview'],
  [
    'authorization.k8s.io/v1beta1',
    'LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview',
  ],
  ['batch/v1beta1', 'CronJob'],
  ['certificates.k8s.io/v1beta1', 'CertificateSigningRequest'],
  ['coordination.k8s.io/v1beta1', 'Lease'],
  ['discovery.k8s.io/v1beta1', 'EndpointSlice'],
  ['events.k8s.io/v1beta1', 'Event'],
  ['extensions/v1beta1', 'DaemonSet Deployment DeploymentRollback Ingress NetworkPolicy ReplicaSet Scale'],
  ['flowcontrol.apiserver.k8s.io/v1beta1', priorities],
  ['flowcontrol.apiserver.k8s.io/v1beta2', priorities],
  ['flowcontrol.apiserver.k8s.io/v1beta3', priorities],
  ['networking.k8s.io/v1beta1', 'Ingress IngressClass'],
  ['node.k8s.io/v1alpha1', 'RuntimeClass'],
  ['node.k8s.io/v1beta1', 'RuntimeClass'],
  ['policy/v1beta1', 'Eviction PodDisruptionBudget'],
  ['rbac.authorization.k8s.io/v1alpha1', roles],
  ['rbac.authorization.k8s.io/v1beta1', roles],
  ['scheduling.k8s.io/v1beta1', 'PriorityClass'],
  ['storage.k8s.io/v1alpha1', 'CSIStorageCapacity VolumeAttachment VolumeAttributesClass'],
  ['storage.k8s.io/v1beta1', 'CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment'],
];

/** Retired kinds by apiVersion. */
export const retiredKinds: ReadonlyMap<string, readonly string[]> = new Map(
  kinds.map(([apiVersion, names]) => [apiVersion, names.split(' ')]),
);
