// ResourceClaimUsage measures claims of devices: their number, and devices of each class. Made by quota-evaluators.ts. Source:
// pkg/quota/v1/evaluator/core/resource_claims.go.
import type { DeepReadonly, GroupResource, KubernetesObject, Quantity } from '@kapstan/api';
import { awaited, quantityOf, type SlicedWork } from '@kapstan/api/internal';
import type { Pod } from '@kapstan/kinds/core/v1';
import type { DeviceRequest, ExactDeviceRequest, ResourceClaim } from '@kapstan/kinds/resource.k8s.io/v1';
import { type Amounts, addAmounts, one } from './amounts.ts';
import { type DeviceClassNames, implicitPrefix } from './device-class-names.ts';
import { isExtendedQuotaName } from './pod-usage.ts';
import { type MeasuredObject, type MeasuredRequest, objectCountName, type QuotaEvaluator } from './quota-evaluator.ts';

const resource: GroupResource = { group: 'resource.k8s.io', resource: 'resourceclaims' };
const countName = objectCountName(resource);
const ofClass = '.deviceclass.resource.k8s.io/devices';
const extendedClaim = 'resource.kubernetes.io/extended-resource-claim';
/** Maximum number of devices that a request for all devices may get. Source: AllocationResultsMaxSize. */
const mostDevices = 32;

type Claim = DeepReadonly<ResourceClaim>;
/** Older versions have the members of `exactly` in the request itself. */
type AnyRequest = DeepReadonly<DeviceRequest & Partial<ExactDeviceRequest>>;

/** Functions for measuring a claim. */
export interface ClaimPorts {
  readonly classes: DeviceClassNames;
  /** Returns pod and claims from the objects known in this process. */
  pod(namespace: string, name: string): Promise<DeepReadonly<Pod> | undefined>;
  claims(namespace: string): Promise<readonly Claim[]>;
}

export class ResourceClaimUsage implements QuotaEvaluator {
  readonly resource: GroupResource = resource;
  readonly #ports: ClaimPorts;
  readonly #podUsage: QuotaEvaluator;

  /** `podUsage` measures the pods that claims are made for. */
  constructor(ports: ClaimPorts, podUsage: QuotaEvaluator) {
    this.#ports = ports;
    this.#podUsage = podUsage;
  }

  handles({ operation, subresource }: MeasuredRequest): boolean {
    return subresource === '' && (operation === 'CREATE' || operation === 'UPDATE');
  }

  measures(name: string): boolean {
    if (name === countName || name.endsWith(ofClass)) return true;
    return isExtendedQuotaName(name) && this.#ports.classes.serves(name.slice('requests.'.length));
  }

  *usage(object: MeasuredObject): SlicedWork<Amounts> {
    const claim = object as Claim;
    const amounts = new Map([[countName, one]]);
    for (const request of claim.spec?.devices?.requests ?? []) yield* addAmounts(amounts, devicesOf(request));
    const devices = [...amounts].filter(([name]) => name.endsWith(ofClass) && name !== ofClass);
    const ofPod = devices.length === 0 ? undefined : yield* this.#usageOfOwner(claim);
    for (const [name, value] of devices) {
      const deviceClass = name.slice(0, -ofClass.length);
      const extended = this.#ports.classes.resourceOf(deviceClass);
      for (const other of [`${implicitPrefix}${deviceClass}`, ...(extended === undefined ? [] : [extended])]) {
        const counted = ofPod?.get(`requests.${other}`);
        const rest = counted === undefined ? value : value.subtract(counted);
        if (rest.sign > 0) amounts.set(`requests.${other}`, rest);
      }
    }
    return amounts;
  }

  /** Returns the pod's usage for which this claim was made, because that was already counted with the pod. */
  *#usageOfOwner(claim: Claim): SlicedWork<Amounts | undefined> {
    const { namespace = '', name = '' } = claim.metadata ?? {};
    const owner = podOwning(claim);
    if (owner === undefined) return undefined;
    const pod = yield* awaited(this.#ports.pod(namespace, owner.name));
    if (pod?.metadata?.uid !== owner.uid) return undefined;
    const named = pod.status?.extendedResourceClaimStatus?.resourceClaimName;
    if (named !== undefined && named !== name) return undefined;
    if (named === undefined && !(yield* this.#isFirst(claim, owner.uid))) return undefined;
    return yield* this.#podUsage.usage(pod as DeepReadonly<KubernetesObject>);
  }

  /** While the pod does not name its claim, only the oldest of its claims counts as the one made for it. */
  *#isFirst(claim: Claim, uid: string): SlicedWork<boolean> {
    const { namespace = '', name = '' } = claim.metadata ?? {};
    const creation = createdAt(claim);
    const others = yield* awaited(this.#ports.claims(namespace));
    return !others.some((other) => {
      if (podOwning(other)?.uid !== uid) return false;
      const created = createdAt(other);
      return created < creation || (created === creation && (other.metadata?.name ?? '') < name);
    });
  }
}

function createdAt({ metadata }: Claim): string {
  return metadata?.creationTimestamp ?? '';
}

function podOwning({ metadata }: Claim): { readonly name: string; readonly uid: string } | undefined {
  if (metadata?.annotations?.[extendedClaim] !== 'true') return undefined;
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return owner?.kind === 'Pod' && owner.apiVersion === 'v1' ? owner : undefined;
}

function devicesOf(request: AnyRequest): Amounts {
  const alternatives = request.firstAvailable ?? [];
  const amounts = new Map<string, Quantity>();
  if (alternatives.length === 0) {
    const { deviceClassName, ...exact } = request.exactly ?? request;
    return deviceClassName === undefined ? amounts : amounts.set(`${deviceClassName}${ofClass}`, numberOf(exact));
  }
  // Any alternative may be chosen, so the largest number of each class counts.
  for (const alternative of alternatives) {
    const name = `${alternative.deviceClassName}${ofClass}`;
    const number = numberOf(alternative);
    const present = amounts.get(name);
    if (number.sign > 0 && (present === undefined || number.compare(present) > 0)) amounts.set(name, number);
  }
  return amounts;
}

/** A mode that is not known counts nothing. */
function numberOf({ allocationMode, count = 0 }: Pick<AnyRequest, 'allocationMode' | 'count'>): Quantity {
  if (allocationMode === 'ExactCount') return quantityOf(count);
  return quantityOf(allocationMode === 'All' ? mostDevices : 0);
}
