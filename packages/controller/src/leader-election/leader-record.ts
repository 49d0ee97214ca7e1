// What a Lease says about who leads, and when one may claim it: pure functions over an observation. Used by
// leader-elector.ts. Source: client-go tools/leaderelection (tryAcquireOrRenew).

import { deepCopy } from '@kapstan/api';
import { formatMicroTime } from '@kapstan/api/internal';
import { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';

/** A Lease as it was last seen, and since when it has been so, by this process' clock. */
export interface Observation {
  readonly lease: Lease;
  /** Monotonic clock, in milliseconds: when this content was first seen. */
  readonly sinceMs: number;
}

/** Who claims, and for how long. */
export interface Claim {
  readonly identity: string;
  readonly leaseDurationMs: number;
  /** Wall clock, milliseconds since 1970: for those who read the Lease, nobody computes with it. */
  readonly nowMs: number;
}

/**
 * Takes a Lease in. The time counts from the last change that was seen here, so the clocks of other hosts do not matter.
 */
export function observe(last: Observation | undefined, lease: Lease, nowMs: number): Observation {
  const isSame = last !== undefined && JSON.stringify(last.lease.spec) === JSON.stringify(lease.spec);
  return { lease, sinceMs: isSame ? last.sinceMs : nowMs };
}

export function holderOf(observation: Observation | undefined): string {
  return observation?.lease.spec?.holderIdentity ?? '';
}

/** Whether nobody else holds the Lease: it has no holder, or its own duration is over since its last change. */
export function isFree(observation: Observation, identity: string, nowMs: number): boolean {
  const holder = holderOf(observation);
  if (holder === '' || holder === identity) return true;
  return observation.sinceMs + (observation.lease.spec?.leaseDurationSeconds ?? 0) * 1000 <= nowMs;
}

/** The Lease as the claimant writes it: renewed if it was the holder, else acquired, a transition later. */
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

/** The Lease given back: without a holder, for one second. */
export function released(lease: Lease, nowMs: number): Lease {
  const now = formatMicroTime(nowMs);
  const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
  return { ...(deepCopy(lease) as Lease), spec };
}

/** Up: rounding down, as client-go does, would let others in before the holder has given up. */
function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}
