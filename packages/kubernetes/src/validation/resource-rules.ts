// Rules for amounts of resources: names, values, requests within limits. Source: pkg/apis/core/validation.

import { type DeepReadonly, parseQuantity, type Quantity } from '@kapstan/api';
import { dnsLabelErrors, qualifiedNameErrors } from '@kapstan/api/errors';
import { quantityOf } from '@kapstan/api/internal';
import type { Field } from '@kapstan/apiserver/internal';
import type { Quantity as QuantityText } from '@kapstan/kinds';
import type { ResourceRequirements } from '@kapstan/kinds/core/v1';
import { isExtendedResourceName } from './extended-resource.ts';

export type ResourceList = Readonly<Record<string, QuantityText>>;

const zero = quantityOf(0);
export const amount = (text: QuantityText): Quantity => parseQuantity(String(text));

const standardContainerResources = new Set(['cpu', 'memory', 'ephemeral-storage']);
const standardResources = new Set([
  ...standardContainerResources,
  'storage',
  'requests.cpu',
  'requests.memory',
  'requests.storage',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'persistentvolumeclaims',
  'configmaps',
  'services.nodeports',
  'services.loadbalancers',
]);
const integerResources = new Set([
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
]);

export const isHugePages = (name: string): boolean => name.startsWith('hugepages-');
export const isQuotaHugePages = (name: string): boolean => isHugePages(name) || name.startsWith('requests.hugepages-');
/** Source: IsNativeResource. */
const isNative = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/');

/** True for resources whose limit may exceed the request. Source: IsOvercommitAllowed. */
export const mayOvercommit = (name: string): boolean => isNative(name) && !isHugePages(name);

/** Source: ValidateResourceName. */
export function validateResourceName(at: Field, name: string): void {
  const errors = qualifiedNameErrors(name);
  at.invalidAll(name, errors);
  if (errors.length === 0 && !name.includes('/') && !standardResources.has(name) && !isQuotaHugePages(name)) {
    at.invalid(name, 'must be a standard resource type or fully qualified');
  }
}

/** Source: validateContainerResourceName. */
export function validateContainerResourceName(at: Field, name: string): void {
  validateResourceName(at, name);
  if (!name.includes('/')) {
    if (!standardContainerResources.has(name) && !isHugePages(name))
      at.invalid(name, 'must be a standard resource for containers');
  } else if (!isNative(name) && !isExtendedResourceName(name)) {
    at.invalid(name, "doesn't follow extended resource name standard");
  }
}

/** Checks a name in the amounts of a whole pod. Source: validatePodResourceName. */
export function validatePodResourceName(at: Field, name: string): void {
  const before = at.errorCount;
  validateResourceName(at, name);
  if (at.errorCount > before || name === 'cpu' || name === 'memory' || isHugePages(name)) return;
  at.notSupported(name, ['cpu', 'hugepages-', 'memory']);
}

/** Source: ValidateNonnegativeQuantity. */
export function validateNonNegativeAmount(at: Field, text: QuantityText): void {
  if (amount(text).compare(zero) < 0) at.invalid(String(text), 'must be greater than or equal to 0');
}

/** Source: validateBasicResource/ValidatePositiveQuantity. */
export function validatePositiveAmount(at: Field, text: QuantityText): void {
  if (amount(text).compare(zero) <= 0) at.invalid(String(text), 'must be greater than zero');
}

/** Source: ValidateResourceQuantityValue. */
export function validateResourceAmount(at: Field, name: string, text: QuantityText): void {
  validateNonNegativeAmount(at, text);
  if ((integerResources.has(name) || isExtendedResourceName(name)) && !isWhole(text))
    at.invalid(String(text), 'must be an integer');
}

/** True for amounts without thousandths. Source: MilliValue() % 1000. */
export function isWhole(text: QuantityText): boolean {
  return amount(text).scaledValue(-3) % 1000n === 0n;
}

/** The known names of resource claims, and which resource names are allowed. */
export interface RequirementRules {
  readonly claimNames: ReadonlySet<string>;
  /** Default: the rule for a container. */
  readonly validateName?: (at: Field, name: string) => void;
}

const noClaims: RequirementRules = { claimNames: new Set() };

/** Checks limits and requests of a container or pod. Source: validateResourceRequirements. */
export function validateResourceRequirements(
  at: Field,
  resources: DeepReadonly<ResourceRequirements> | undefined,
  { claimNames, validateName = validateContainerResourceName }: RequirementRules = noClaims,
): void {
  const limits = resources?.limits as ResourceList | undefined;
  const requests = resources?.requests as ResourceList | undefined;
  at.child('limits').eachKey(limits, (name, value, place) => {
    validateName(place, name);
    validateResourceAmount(place, name, value);
    validateHugePages(place, name, value);
  });
  at.child('requests').eachKey(requests, (name, value, place) => {
    validateName(place, name);
    validateResourceAmount(place, name, value);
    validateRequestWithinLimit(at, { name, request: value, limit: limits?.[name] });
    validateHugePages(place, name, value);
  });
  const names = Object.keys({ ...limits, ...requests });
  if (names.some(isHugePages) && !names.some((name) => name === 'cpu' || name === 'memory'))
    at.forbidden('HugePages require cpu or memory');
  validateClaims(at.child('claims'), resources?.claims, claimNames);
}

/** Source: IsHugePageResourceValueDivisible. */
function validateHugePages(at: Field, name: string, text: QuantityText): void {
  if (!isHugePages(name)) return;
  let size = 0n;
  try {
    const page = parseQuantity(name.slice('hugepages-'.length));
    if (page.scaledValue(-3) % 1000n === 0n) size = page.scaledValue(0);
  } catch (error) {
    // Text that is not a quantity is not divisible.
    if (!(error instanceof TypeError)) throw error;
  }
  if (size <= 0n || amount(text).scaledValue(0) % size !== 0n)
    at.invalid(String(text), `${String(text)} is not positive integer multiple of ${name}`);
}

function validateRequestWithinLimit(
  at: Field,
  {
    name,
    request,
    limit,
  }: { readonly name: string; readonly request: QuantityText; readonly limit: QuantityText | undefined },
): void {
  if (limit === undefined) {
    if (!mayOvercommit(name)) at.child('limits').required('Limit must be set for non overcommitable resources');
    return;
  }
  const order = amount(request).compare(amount(limit));
  const place = at.child('requests');
  if (order !== 0 && !mayOvercommit(name)) {
    place.invalid(String(request), `must be equal to ${name} limit of ${String(limit)}`);
  } else if (order > 0) {
    place.invalid(String(request), `must be less than or equal to ${name} limit of ${String(limit)}`);
  }
}

/** Source: validateResourceClaimNames. */
function validateClaims(
  at: Field,
  claims: DeepReadonly<ResourceRequirements>['claims'],
  known: ReadonlySet<string>,
): void {
  const seen = new Map<string, Set<string>>();
  let names: string | undefined;
  at.each(claims, ({ name, request = '' }, place) => {
    if (name === '') return place.required();
    validateClaimOnce(place, { name, request, seen });
    if (known.has(name)) return;
    names ??= known.size === 0 ? ' which is empty' : `: ${[...known].sort().join(', ')}`;
    place.notFound(name, `must be one of the names in pod.spec.resourceClaims${names}`);
  });
}

interface ClaimUse {
  readonly name: string;
  readonly request: string;
  /** The requests of each claim so far; "" means the whole claim. */
  readonly seen: Map<string, Set<string>>;
}

/** A claim may be used as a whole or in parts, each once. */
function validateClaimOnce(at: Field, { name, request, seen }: ClaimUse): void {
  const requests = seen.get(name) ?? new Set();
  if (requests.has('')) return at.duplicate(name);
  if (request !== '') at.child('request').invalidAll(request, dnsLabelErrors(request));
  if (requests.has(request)) at.duplicate(`${name}/${request}`);
  else if (request === '') for (const _ of requests) at.duplicate(name);
  requests.add(request);
  seen.set(name, requests);
}
