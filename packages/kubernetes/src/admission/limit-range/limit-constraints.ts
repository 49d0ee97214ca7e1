// The rules of a limit range for one container, pod or claim. Used by limit-rules.ts. Source:
// plugin/pkg/admission/limitranger (minConstraint, maxConstraint, limitRequestRatioConstraint).

import type { Quantity } from '@kapstan/api';

/** The amounts that a container, a pod or a claim requests. */
export interface Asked {
  /** "Container", "Pod" or "PersistentVolumeClaim". */
  readonly type: string;
  readonly requests: ReadonlyMap<string, Quantity>;
  readonly limits: ReadonlyMap<string, Quantity>;
}

/** One entry of a limit range: the resource and its bound. */
export interface Bound {
  readonly resource: string;
  readonly amount: Quantity;
}

/** Returns the fault, or undefined. */
export type Constraint = (asked: Asked, bound: Bound) => string | undefined;

/** Amounts up to this many whole units are compared in thousandths, larger ones in units. Source: MaxMilliValue. */
const maxMilliValue = (2n ** 63n - 1n) / 1000n;

/** Returns the amounts in the unit in which Kubernetes compares them, rounded up. */
function inOneUnit(amounts: readonly (Quantity | undefined)[]): bigint[] {
  const isSmall = amounts.every((amount) => (amount?.scaledValue() ?? 0n) <= maxMilliValue);
  return amounts.map((amount) => amount?.scaledValue(isSmall ? -3 : 0) ?? 0n);
}

export const minimum: Constraint = ({ type, requests, limits }, { resource, amount }) => {
  const [request, limit] = [requests.get(resource), limits.get(resource)];
  const [requested = 0n, limited = 0n, bound = 0n] = inOneUnit([request, limit, amount]);
  const rule = `minimum ${resource} usage per ${type} is ${amount}`;
  if (request === undefined) return `${rule}.  No request is specified`;
  if (requested < bound) return `${rule}, but request is ${request}`;
  return limit !== undefined && limited < bound ? `${rule}, but limit is ${limit}` : undefined;
};

export const maximum: Constraint = ({ type, requests, limits }, { resource, amount }) => {
  const [request, limit] = [requests.get(resource), limits.get(resource)];
  const [requested = 0n, limited = 0n, bound = 0n] = inOneUnit([request, limit, amount]);
  const rule = `maximum ${resource} usage per ${type} is ${amount}`;
  if (limit === undefined) return `${rule}.  No limit is specified`;
  if (limited > bound) return `${rule}, but limit is ${limit}`;
  return requested > bound ? `${rule}, but request is ${request}` : undefined;
};

/** Used for claims, which have no limits. */
export const maximumRequest: Constraint = ({ type, requests }, { resource, amount }) => {
  const request = requests.get(resource);
  const [requested = 0n, bound = 0n] = inOneUnit([request, amount]);
  const rule = `maximum ${resource} usage per ${type} is ${amount}`;
  if (request === undefined) return `${rule}.  No request is specified`;
  return requested > bound ? `${rule}, but request is ${request}` : undefined;
};

export const maximumRatio: Constraint = ({ type, requests, limits }, { resource, amount }) => {
  const rule = `${resource} max limit to request ratio per ${type} is ${amount}`;
  const [request = 0n, limit = 0n] = inOneUnit([requests.get(resource), limits.get(resource), amount]);
  if (request === 0n) return `${rule}, but no request is specified or request is 0`;
  if (limit === 0n) return `${rule}, but no limit is specified or limit is 0`;
  const ratio = Number(limit) / Number(request);
  const isFine = amount.scaledValue() <= maxMilliValue;
  const isAbove = isFine ? ratio * 1000 > Number(amount.scaledValue(-3)) : ratio > Number(amount.scaledValue());
  return isAbove ? `${rule}, but provided ratio is ${ratio.toFixed(6)}` : undefined;
};
