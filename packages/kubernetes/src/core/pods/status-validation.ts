// Rules for the /status endpoint of a pod: the fields that it keeps, and the changes that it refuses. Statuses of containers are in
// container-status-validation.ts. Source: pkg/registry/core/pod podStatusStrategy, pkg/apis/core/validation ValidatePodStatusUpdate.
import { isIP, isIPv6 } from 'node:net';
import type { DeepReadonly } from '@kapstan/api';
import { dnsLabelErrors, dnsSubdomainErrors, qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { Pod, PodCondition, PodExtendedResourceClaimStatus, PodStatus } from '@kapstan/kinds/core/v1';
import { ipWarnings } from '../../validation/ip-warnings.ts';
import { ipErrors } from '../../validation/value-rules.ts';
import { validateContainerStatuses } from './container-status-validation.ts';

type Status = DeepReadonly<PodStatus>;

export function preparePodStatus(next: Pod, old: DeepReadonly<Pod>): void {
  const { ownerReferences: _given, ...metadata } = next.metadata ?? {};
  const owners = old.metadata?.ownerReferences;
  next.metadata =
    owners === undefined ? metadata : { ...metadata, ownerReferences: owners.map((owner) => ({ ...owner })) };
  const deleted = old.metadata?.deletionTimestamp;
  if (deleted === undefined) delete next.metadata.deletionTimestamp;
  else next.metadata.deletionTimestamp = deleted;
  const { status } = next;
  if (status === undefined) return;
  const kept = old.status?.qosClass;
  if (!status.qosClass && kept !== undefined) status.qosClass = kept;
  keepGenerations(status, old.status);
  dropUngated(status);
}

/**
 * Keeps observed generations, which nobody may clear. Conditions of one type are matched by their order. Source:
 * preserveOldObservedGeneration.
 */
function keepGenerations(status: PodStatus, old: Status | undefined): void {
  keepGeneration(status, old?.observedGeneration);
  const before = new Map<string, PodCondition[]>();
  for (const condition of old?.conditions ?? []) {
    const same = before.get(condition.type);
    if (same === undefined) before.set(condition.type, [condition]);
    else same.push(condition);
  }
  const taken = new Map<string, number>();
  for (const condition of status.conditions ?? []) {
    const index = taken.get(condition.type) ?? 0;
    taken.set(condition.type, index + 1);
    keepGeneration(condition, before.get(condition.type)?.[index]?.observedGeneration);
  }
}

function keepGeneration(next: PodStatus | PodCondition, old: number | undefined): void {
  if (!next.observedGeneration && old) next.observedGeneration = old;
}

/** The feature gates DRANodeAllocatableResources and ImageVolumeWithDigest are off. Source: dropDisabledPodStatusFields. */
function dropUngated(status: PodStatus): void {
  delete status.nodeAllocatableResourceClaimStatuses;
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = status;
  for (const { volumeMounts = [] } of [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses])
    for (const mount of volumeMounts) delete mount.volumeStatus;
}

export function podStatusWarnings({ status }: DeepReadonly<Pod>): readonly string[] {
  return (['podIPs', 'hostIPs'] as const).flatMap((name) =>
    (status?.[name] ?? []).flatMap(({ ip }, index) => ipWarnings(`status.${name}[${index}].ip`, ip)),
  );
}

export function validatePodStatus(root: Field, next: DeepReadonly<Pod>, old: DeepReadonly<Pod>): void {
  const at = root.child('status');
  const { spec = { containers: [] }, status = {} } = next;
  const { status: before = {} } = old;
  validatePodConditions(at.child('conditions'), status);
  validateNomination(at.child('nominatedNodeName'), next, old);
  if ((status.observedGeneration ?? 0) < 0)
    at.child('observedGeneration').invalid(status.observedGeneration, 'must be a non-negative integer');
  at.child('qosClass').immutable(status.qosClass ?? '', status.qosClass === before.qosClass);
  validateClaimStatuses(at.child('resourceClaimStatuses'), next);
  if (status.extendedResourceClaimStatus !== undefined)
    validateExtendedClaim(at.child('extendedResourceClaimStatus'), status.extendedResourceClaimStatus, next);
  validateAddresses(at.child('podIPs'), status.podIPs, before.podIPs);
  const first = status.hostIPs?.[0]?.ip;
  if (first !== undefined && first !== (status.hostIP ?? ''))
    at.child('hostIPs').index(0).child('ip').invalid(first, 'must be equal to `hostIP`');
  validateAddresses(at.child('hostIPs'), status.hostIPs, before.hostIPs);
  validateContainerStatuses(at, { spec, status }, before);
}

const systemConditions: ReadonlySet<string> = new Set(['PodScheduled', 'Ready', 'Initialized']);

function validatePodConditions(at: Field, { conditions }: Status): void {
  at.each(conditions, ({ type, observedGeneration = 0 }, place) => {
    if (observedGeneration < 0)
      place.child('observedGeneration').invalid(observedGeneration, 'must be a non-negative integer');
    if (!systemConditions.has(type)) place.child('Type').invalidAll(type, qualifiedNameErrors(type));
  });
}

function validateNomination(at: Field, next: DeepReadonly<Pod>, old: DeepReadonly<Pod>): void {
  const name = next.status?.nominatedNodeName;
  if (!name || name === old.status?.nominatedNodeName) return;
  at.invalidAll(name, dnsSubdomainErrors(name));
  if (old.spec?.nodeName) at.forbidden('may not be set on pods that are already bound to a node');
}

function validateClaimStatuses(at: Field, { spec, status }: DeepReadonly<Pod>): void {
  const claims = new Set(spec?.resourceClaims?.map(({ name }) => name));
  const seen = new Set<string>();
  at.each(status?.resourceClaimStatuses, ({ name, resourceClaimName: claim }, place) => {
    if (!claims.has(name))
      place.child('name').invalid(name, 'must match the name of an entry in `spec.resourceClaims`');
    if (seen.has(name)) place.child('name').duplicate(name);
    seen.add(name);
    if (claim !== undefined) place.child('resourceClaimName').invalidAll(claim, dnsSubdomainErrors(claim));
  });
}

/** Source: validatePodExtendedResourceClaimStatus. */
function validateExtendedClaim(
  at: Field,
  { requestMappings: mappings, resourceClaimName: claim }: DeepReadonly<PodExtendedResourceClaimStatus>,
  { spec }: DeepReadonly<Pod>,
): void {
  const containers = new Map(
    [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map((container) => [container.name, container]),
  );
  const list = at.child('requestMappings');
  if ((mappings?.length ?? 0) === 0) list.required('at least one request mapping is required');
  const seen = new Set<string>();
  list.each(mappings ?? undefined, (mapping, place) => {
    const { containerName, resourceName, requestName } = mapping;
    const container = containers.get(containerName);
    if (container === undefined)
      place
        .child('containerName')
        .invalid(containerName, 'must match the name of an entry in spec.initContainers.name or spec.containers.name');
    else if (!Object.hasOwn(container.resources?.requests ?? {}, resourceName))
      place
        .child('resourceName')
        .invalid(
          resourceName,
          'must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests',
        );
    at.child('requestName').invalidAll(requestName, dnsLabelErrors(requestName));
    const key = JSON.stringify([containerName, resourceName, requestName]);
    if (seen.has(key))
      for (const name of ['containerName', 'resourceName', 'requestName'] as const)
        place.child(name).duplicate(mapping[name]);
    seen.add(key);
  });
  const name = at.child('resourceClaimName');
  if (name.present(claim)) name.invalidAll(claim, dnsSubdomainErrors(claim));
}

type Addresses = readonly { readonly ip: string }[] | undefined;

/**
 * Allows at most one address of each family. Addresses that were there already are not checked. Source: validatePodIPs,
 * validateHostIPs.
 */
function validateAddresses(at: Field, next: Addresses, old: Addresses): void {
  const known = new Set(old?.map(({ ip }) => ip));
  at.each(next, ({ ip }, place) => {
    if (!known.has(ip)) place.invalidAll(ip, ipErrors(ip));
  });
  const addresses = (next ?? []).map(({ ip }) => ip);
  if (addresses.length < 2) return;
  const wrong = addresses.findIndex((ip) => !isAddress(ip));
  if (wrong >= 0) at.internal(`failed to check for dual stack with error:invalid IP[${wrong}]: ${addresses[wrong]}`);
  const families = new Set(addresses.map((ip) => isIPv6(ip)));
  if (wrong >= 0 || families.size < 2 || addresses.length > 2)
    at.invalid(
      addresses.map((ip) => ({ IP: ip })),
      'may specify no more than one IP for each IP family',
    );
}

/** Leading zeros are allowed, as in old Go. Source: ParseIPSloppy. */
const isAddress = (text: string): boolean => isIP(text.replace(/(^|\.)0+(\d)/g, '$1$2')) !== 0;
