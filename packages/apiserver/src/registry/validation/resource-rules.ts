// Amounts of resources: names, values, requests within limits. Source: pkg/apis/core/validation.
import { type DeepReadonly, parseQuantity, type Quantity, qualifiedNameErrors, quantityOf } from '@kapstan/api';
import type { Quantity as QuantityText } from '@kapstan/kinds';
import type { ResourceRequirements } from '@kapstan/kinds/core/v1';
import type { Field } from './field.ts';

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

const isHugePages = (name: string): boolean => name.startsWith('hugepages-') || name.startsWith('requests.hugepages-');

/** Source: ValidateResourceName. */
export function validateResourceName(at: Field, name: string): void {
  const errors = qualifiedNameErrors(name);
  at.invalidAll(name, errors);
  if (errors.length === 0 && !name.includes('/') && !standardResources.has(name) && !isHugePages(name)) {
    at.invalid(name, 'must be a standard resource type or fully qualified');
  }
}

/** Source: validateContainerResourceName. */
export function validateContainerResourceName(at: Field, name: string): void {
  validateResourceName(at, name);
  if (!name.includes('/') && !standardContainerResources.has(name) && !isHugePages(name)) {
    at.invalid(name, 'must be a standard resource for containers');
  }
}

/** Source: ValidateNonnegativeQuantity. */
function validateNonNegativeAmount(at: Field, text: QuantityText): void {
  if (amount(text).compare(zero) < 0) at.invalid(String(text), 'must be greater than or equal to 0');
}

/** Source: validateBasicResource/ValidatePositiveQuantity. */
export function validatePositiveAmount(at: Field, text: QuantityText): void {
  if (amount(text).compare(zero) <= 0) at.invalid(String(text), 'must be greater than zero');
}

/** Source: ValidateResourceQuantityValue. */
export function validateResourceAmount(at: Field, name: string, text: QuantityText): void {
  validateNonNegativeAmount(at, text);
  if (integerResources.has(name) && !isWhole(text)) at.invalid(String(text), 'must be an integer');
}

/** No thousandths. Source: MilliValue() % 1000. */
export function isWhole(text: QuantityText): boolean {
  return amount(text).scaledValue(-3) % 1000n === 0n;
}

/** Limits and requests of a container. Source: ValidateContainerResourceRequirements. */
export function validateResourceRequirements(
  at: Field,
  resources: DeepReadonly<ResourceRequirements> | undefined,
): void {
  const limits = resources?.limits as ResourceList | undefined;
  const requests = resources?.requests as ResourceList | undefined;
  at.child('limits').eachKey(limits, (name, value, place) => {
    validateContainerResourceName(place, name);
    validateResourceAmount(place, name, value);
  });
  at.child('requests').eachKey(requests, (name, value, place) => {
    validateContainerResourceName(place, name);
    validateResourceAmount(place, name, value);
    validateRequestWithinLimit(at.child('requests'), { name, request: value, limit: limits?.[name] });
  });
}

function validateRequestWithinLimit(
  at: Field,
  {
    name,
    request,
    limit,
  }: { readonly name: string; readonly request: QuantityText; readonly limit: QuantityText | undefined },
): void {
  const isExtended = name.includes('/') && !name.startsWith('kubernetes.io/');
  if (limit === undefined) {
    if (isExtended || name.startsWith('hugepages-')) at.required(`Limit must be set for non overcommitable resources`);
    return;
  }
  const order = amount(request).compare(amount(limit));
  if ((isExtended || name.startsWith('hugepages-')) && order !== 0) {
    at.invalid(String(request), `must be equal to ${name} limit of ${String(limit)}`);
  } else if (order > 0) at.invalid(String(request), `must be less than or equal to ${name} limit of ${String(limit)}`);
}
