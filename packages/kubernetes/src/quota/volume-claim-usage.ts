// VolumeClaimUsage measures persistent volume claims, in total and for each storage class. Made by quota-evaluators.ts. Source:
// pkg/quota/v1/evaluator/core/persistent_volume_claims.go.
import type { DeepReadonly, GroupResource, Quantity } from '@kapstan/api';
import type { SlicedWork } from '@kapstan/api/internal';
import type { PersistentVolumeClaim } from '@kapstan/kinds/core/v1';
import { amount } from '../validation/resource-rules.ts';
import { type Amounts, one } from './amounts.ts';
import { type MeasuredObject, type MeasuredRequest, objectCountName, type QuotaEvaluator } from './quota-evaluator.ts';
import { acceptsNames, type ScopeTerm } from './quota-scope.ts';

const resource: GroupResource = { group: '', resource: 'persistentvolumeclaims' };
const countName = objectCountName(resource);
const ofClass = '.storageclass.storage.k8s.io/';
/** Each may be limited for all claims, and for the claims of a storage class. */
const claimResources = ['persistentvolumeclaims', 'requests.storage'];
const oldClassAnnotation = 'volume.beta.kubernetes.io/storage-class';

type Claim = DeepReadonly<PersistentVolumeClaim>;

export class VolumeClaimUsage implements QuotaEvaluator {
  readonly resource: GroupResource = resource;

  /** The status shows the size that a claim got, which may be more than it requested. */
  handles({ operation, subresource }: MeasuredRequest): boolean {
    if (subresource === '') return operation === 'CREATE' || operation === 'UPDATE';
    return subresource === 'status';
  }

  measures(name: string): boolean {
    if (name === countName) return true;
    return claimResources.some((own) => name === own || name.endsWith(`${ofClass}${own}`));
  }

  matchesScope(term: ScopeTerm, object: MeasuredObject): boolean {
    return term.scopeName === 'VolumeAttributesClass' && acceptsNames(term, attributesClasses(object as Claim));
  }

  // biome-ignore lint/correctness/useYield: a claim has one amount, measuring other kinds takes longer.
  *usage(object: MeasuredObject): SlicedWork<Amounts> {
    const claim = object as Claim;
    const amounts = new Map([
      ['persistentvolumeclaims', one],
      [countName, one],
    ]);
    const className = claim.metadata?.annotations?.[oldClassAnnotation] ?? claim.spec?.storageClassName ?? '';
    if (className !== '') amounts.set(`${className}${ofClass}persistentvolumeclaims`, one);
    const storage = storageOf(claim);
    if (storage === undefined) return amounts;
    amounts.set('requests.storage', storage);
    if (className !== '') amounts.set(`${className}${ofClass}requests.storage`, storage);
    return amounts;
  }

  /** Every change of a claim counts. Source: RequiresQuotaReplenish, which compares addresses of amounts. */
  mayRelease(): boolean {
    return true;
  }
}

/** Returns whole bytes, because a quota accepts no others. */
function storageOf({ spec, status }: Claim): Quantity | undefined {
  const asked = spec?.resources?.requests?.storage;
  if (asked === undefined) return undefined;
  const wanted = amount(asked).roundedUp(0);
  const allocated = status?.allocatedResources?.storage;
  if (allocated === undefined) return wanted;
  const got = amount(allocated).roundedUp(0);
  return got.compare(wanted) > 0 ? got : wanted;
}

function attributesClasses({ spec, status }: Claim): string[] {
  const { currentVolumeAttributesClassName: current, modifyVolumeStatus } = status ?? {};
  const names = [spec?.volumeAttributesClassName, current, modifyVolumeStatus?.targetVolumeAttributesClassName];
  return [...new Set(names.filter((name): name is string => name !== undefined && name !== ''))];
}
