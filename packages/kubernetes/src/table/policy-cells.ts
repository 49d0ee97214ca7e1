// Rows of the kinds around the workloads: RBAC, storage, networking, scheduling, admission, flow control, leases.
// Source: pkg/printers/internalversion/printers.go.
import type { DeepReadonly } from '@kapstan/api';
import { humanDuration } from '@kapstan/apiserver/internal';
import type {
  MutatingAdmissionPolicy,
  MutatingWebhookConfiguration,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import type { APIService } from '@kapstan/kinds/apiregistration.k8s.io/v1';
import type { CertificateSigningRequest } from '@kapstan/kinds/certificates.k8s.io/v1';
import type { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import type { EndpointSlice } from '@kapstan/kinds/discovery.k8s.io/v1';
import type { FlowSchema, PriorityLevelConfiguration } from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';
import type { IngressClass, IPAddress, NetworkPolicy, ServiceCIDR } from '@kapstan/kinds/networking.k8s.io/v1';
import type { RuntimeClass } from '@kapstan/kinds/node.k8s.io/v1';
import type { RoleBinding } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import type { ResourceClaim, ResourceSlice } from '@kapstan/kinds/resource.k8s.io/v1';
import type { PriorityClass } from '@kapstan/kinds/scheduling.k8s.io/v1';
import type {
  CSIDriver,
  CSINode,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
} from '@kapstan/kinds/storage.k8s.io/v1';
import { ageOf, type Cells, formatLabelSelector, joinSome, nameOf, none } from './cells.ts';

/** The cells of kinds that print only their name and age. */
export const nameAndAgeCells: Cells = (object) => [nameOf(object), ageOf(object)];

export const leaseCells: Cells<Lease> = (object) => [nameOf(object), object.spec?.holderIdentity ?? '', ageOf(object)];

export const roleBindingCells: Cells<RoleBinding> = (object) => {
  const subjects = object.subjects ?? [];
  const names = (kind: string): string =>
    subjects
      .filter((subject) => subject.kind === kind)
      .map((subject) => subject.name)
      .join(', ');
  const accounts = subjects
    .filter((subject) => subject.kind === 'ServiceAccount')
    .map((s) => `${s.namespace ?? ''}/${s.name}`);
  return [
    nameOf(object),
    `${object.roleRef.kind}/${object.roleRef.name}`,
    ageOf(object),
    names('User'),
    names('Group'),
    accounts.join(', '),
  ];
};

export const storageClassCells: Cells<StorageClass> = (object) => {
  const isDefault =
    object.metadata?.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true' ||
    object.metadata?.annotations?.['storageclass.beta.kubernetes.io/is-default-class'] === 'true';
  return [
    isDefault ? `${nameOf(object)} (default)` : nameOf(object),
    object.provisioner,
    object.reclaimPolicy ?? 'Delete',
    object.volumeBindingMode ?? 'Immediate',
    object.allowVolumeExpansion ?? false,
    ageOf(object),
  ];
};

export const csiDriverCells: Cells<CSIDriver> = (object) => [
  nameOf(object),
  object.spec.attachRequired ?? true,
  object.spec.podInfoOnMount ?? false,
  object.spec.storageCapacity ?? false,
  object.spec.tokenRequests === undefined
    ? '<unset>'
    : object.spec.tokenRequests.map((request) => request.audience).join(','),
  object.spec.requiresRepublish ?? false,
  object.spec.volumeLifecycleModes?.join(',') ?? '<unset>',
  ageOf(object),
];

export const csiNodeCells: Cells<CSINode> = (object) => [
  nameOf(object),
  object.spec.drivers?.length ?? 0,
  ageOf(object),
];

export const volumeAttachmentCells: Cells<VolumeAttachment> = (object) => [
  nameOf(object),
  object.spec.attacher,
  object.spec.source.persistentVolumeName ?? '',
  object.spec.nodeName,
  object.status?.attached ?? false,
  ageOf(object),
];

export const volumeAttributesClassCells: Cells<VolumeAttributesClass> = (object) => [
  nameOf(object),
  object.driverName,
  ageOf(object),
];

export const endpointSliceCells: Cells<EndpointSlice> = (object) => {
  const ports = (object.ports ?? []).map((port) => (port.port === undefined ? '*' : String(port.port)));
  const addresses = (object.endpoints ?? []).flatMap((endpoint) => endpoint.addresses);
  return [
    nameOf(object),
    object.addressType,
    ports.length === 0 ? '<unset>' : joinSome(ports, 3),
    addresses.length === 0 ? '<unset>' : joinSome(addresses, 3),
    ageOf(object),
  ];
};

export const ingressClassCells: Cells<IngressClass> = (object) => {
  const parameters = object.spec?.parameters;
  const kind = parameters?.apiGroup === undefined ? parameters?.kind : `${parameters.kind}.${parameters.apiGroup}`;
  return [
    nameOf(object),
    object.spec?.controller ?? '',
    parameters === undefined ? none : `${kind}/${parameters.name}`,
    ageOf(object),
  ];
};

export const networkPolicyCells: Cells<NetworkPolicy> = (object) => [
  nameOf(object),
  formatLabelSelector(object.spec?.podSelector ?? {}),
  ageOf(object),
];

/** Three cells for two columns, as in Kubernetes. */
export const ipAddressCells: Cells<IPAddress> = (object) => {
  const parent = object.spec?.parentRef;
  const group = parent?.group ? `.${parent.group}` : '';
  const namespace = parent?.namespace ? `${parent.namespace}/` : '';
  return [
    nameOf(object),
    parent === undefined ? none : `${parent.resource}${group}/${namespace}${parent.name}`,
    ageOf(object),
  ];
};

export const serviceCidrCells: Cells<ServiceCIDR> = (object) => [
  nameOf(object),
  object.spec?.cidrs?.join(',') ?? '',
  ageOf(object),
];

export const priorityClassCells: Cells<PriorityClass> = (object) => [
  nameOf(object),
  object.value,
  object.globalDefault ?? false,
  ageOf(object),
  object.preemptionPolicy ?? '<unset>',
];

export const runtimeClassCells: Cells<RuntimeClass> = (object) => [nameOf(object), object.handler, ageOf(object)];

export const webhookConfigurationCells: Cells<MutatingWebhookConfiguration> = (object) => [
  nameOf(object),
  object.webhooks?.length ?? 0,
  ageOf(object),
];

export const admissionPolicyCells: Cells<ValidatingAdmissionPolicy> = (object) => {
  const param = object.spec?.paramKind;
  return [
    nameOf(object),
    object.spec?.validations?.length ?? 0,
    param === undefined ? '<unset>' : `${param.apiVersion ?? ''}/${param.kind ?? ''}`,
    ageOf(object),
  ];
};

export const mutatingPolicyCells: Cells<MutatingAdmissionPolicy> = (object) => {
  const param = object.spec?.paramKind;
  return [
    nameOf(object),
    object.spec?.mutations?.length ?? 0,
    param === undefined ? '<unset>' : `${param.apiVersion ?? ''}/${param.kind ?? ''}`,
    ageOf(object),
  ];
};

export const admissionBindingCells: Cells<ValidatingAdmissionPolicyBinding> = (object) => [
  nameOf(object),
  object.spec?.policyName ?? '',
  formatParamRef(object.spec?.paramRef),
  ageOf(object),
];

function formatParamRef(
  ref: DeepReadonly<{ name?: string; namespace?: string; selector?: Record<string, unknown> }> | undefined,
): string {
  if (ref === undefined) return '<unset>';
  if (ref.name === undefined) return ref.selector === undefined ? '<unset>' : formatLabelSelector(ref.selector);
  return ref.namespace === undefined ? `*/${ref.name}` : `${ref.namespace}/${ref.name}`;
}

export const apiServiceCells: Cells<APIService> = (object) => {
  const service = object.spec?.service;
  const available = object.status?.conditions?.find((condition) => condition.type === 'Available');
  const status =
    available === undefined
      ? 'Unknown'
      : available.status === 'True'
        ? 'True'
        : `${available.status} (${available.reason ?? ''})`;
  return [
    nameOf(object),
    service === undefined ? 'Local' : `${service.namespace}/${service.name}`,
    status,
    ageOf(object),
  ];
};

export const flowSchemaCells: Cells<FlowSchema> = (object) => [
  nameOf(object),
  object.spec?.priorityLevelConfiguration.name ?? '',
  object.spec?.matchingPrecedence ?? 0,
  object.spec?.distinguisherMethod?.type ?? none,
  ageOf(object),
  object.status?.conditions?.find((condition) => condition.type === 'Dangling')?.status ?? '?',
];

export const priorityLevelCells: Cells<PriorityLevelConfiguration> = (object) => {
  const limited = object.spec?.limited;
  const queuing = limited?.limitResponse?.queuing;
  return [
    nameOf(object),
    object.spec?.type ?? '',
    limited?.nominalConcurrencyShares ?? none,
    queuing?.queues ?? none,
    queuing?.handSize ?? none,
    queuing?.queueLengthLimit ?? none,
    ageOf(object),
  ];
};

export const certificateRequestCells: Cells<CertificateSigningRequest> = (object) => [
  nameOf(object),
  ageOf(object),
  object.spec.signerName === '' ? none : object.spec.signerName,
  object.spec.username ?? '',
  object.spec.expirationSeconds === undefined ? none : humanDuration(object.spec.expirationSeconds * 1000),
  certificateCondition(object),
];

function certificateCondition(object: DeepReadonly<CertificateSigningRequest>): string {
  const has = (type: string): boolean =>
    object.status?.conditions?.some((condition) => condition.type === type) ?? false;
  const decision = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending';
  const failed = has('Failed') ? ',Failed' : '';
  return `${decision}${failed}${object.status?.certificate === undefined ? '' : ',Issued'}`;
}

export const resourceClaimCells: Cells<ResourceClaim> = (object) => [nameOf(object), claimState(object), ageOf(object)];

function claimState(claim: DeepReadonly<ResourceClaim>): string {
  const states: string[] = [];
  if (claim.metadata?.deletionTimestamp !== undefined) states.push('deleted');
  if (claim.status?.allocation === undefined) {
    if (states.length === 0) states.push('pending');
  } else {
    states.push('allocated');
    states.push((claim.status.reservedFor?.length ?? 0) > 0 ? 'reserved' : '');
  }
  return states.filter((state) => state !== '').join(',');
}

export const resourceSliceCells: Cells<ResourceSlice> = (object) => [
  nameOf(object),
  object.spec.nodeName ?? '',
  object.spec.driver,
  object.spec.pool.name,
  ageOf(object),
];
