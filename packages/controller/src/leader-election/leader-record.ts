// Determines from a Lease who leads and when it may be claimed, in pure functions over an observation. Used by
// leader-elector.ts. Source: client-go tools/leaderelection (tryAcquireOrRenew).

import { deepCopy } from '@kapstan/api';
import { formatMicroTime } from '@kapstan/api/internal';
import { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';

/** A Lease as last seen, and since when, by this process' clock. */
export interface Observation {
  readonly lease: Lease;
  /** Monotonic clock, in milliseconds: when this content was first seen. */
  readonly sinceMs: number;
}

/** The claimant, and for how long it claims. */
export interface Claim {
  readonly identity: string;
  readonly leaseDurationMs: number;
  /** Wall clock in milliseconds since 1970, for people who read the Lease; nothing computes with it. */
  readonly nowMs: number;
}

/** Records a Lease. The time counts from the last change seen here, so other hosts' clocks do not matter. */
export function observe(last: Observation | undefined, lease: Lease, nowMs: number): Observation {
  const isSame = last !== undefined && JSON.stringify(last.lease.spec) === JSON.stringify(lease.spec);
  return { lease, sinceMs: isSame ? last.sinceMs : nowMs };
}

export function holderOf(observation: Observation | undefined): string {
  return observation?.lease.spec?.holderIdentity ?? '';
}

/** True when nobody else holds the Lease: it has no holder, or its duration since the last change is over. */
export function isFree(observation: Observation, identity: string, nowMs: number): boolean {
  const holder = holderOf(observation);
  if (holder === '' || holder === identity) return true;
  return observation.sinceMs + (observation.lease.spec?.leaseDurationSeconds ?? 0) * 1000 <= nowMs;
}

/**
 * Returns the Lease as the claimant writes it: renewed if it was the holder, otherwise acquired, with one more
 * transition.
 */
export function claimed(observation: Observation, { identity, leaseDurationMs, nowMs }: Claim): Lease {
  const lease = deepCopy(observation.lease) as Lease;
  const isRenewal = holderOf(observation) === identity;
  const now = formatMicroTime(nowMs);
  const { acquireTime = now, leaseTransitions = 0 } = lease.spec ?? {};
  lease.spec = {
    ...lease.spec,
    holderIdentity: identity,
    leaseDurationSeconds: wholeSeconds(leaseDurationMs),
    acquireTime: isRenewal ? acquireTime : now,
    renewTime: now,
    leaseTransitions: isRenewal ? leaseTransitions : leaseTransitions + 1,
  };
  return lease;
}

export function newLease(target: { readonly name: string; readonly namespace: string }, claim: Claim): Lease {
  const now = formatMicroTime(claim.nowMs);
  return {
    apiVersion: `${Lease.group}/${Lease.version}`,
    kind: Lease.kind,
    metadata: { ...target },
    spec: {
      holderIdentity: claim.identity,
      leaseDurationSeconds: wholeSeconds(claim.leaseDurationMs),
      acquireTime: now,
      renewTime: now,
      leaseTransitions: 0,
    },
  };
}

/** Returns the released Lease: without a holder, for one second. */
export function released(lease: Lease, nowMs: number): Lease {
  const now = formatMicroTime(nowMs);
  const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
  return { ...(deepCopy(lease) as Lease), spec };
}

/** Rounds up, because rounding down, as client-go does, would let others in before the holder has given up. */
function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}
