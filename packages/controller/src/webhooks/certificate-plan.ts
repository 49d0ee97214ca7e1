// Decides the next step for the certificates of webhooks. It is pure: it depends only on the stored state and the time.
// A new authority is trusted everywhere before anything is signed with it, and an old one as long as a server may use
// it, so that no call fails. own-certificates.ts carries out the steps.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { parseTime } from '@kapstan/api';
import { clockSkewMs, isAddress, type KeyPair } from '../certificates/key-pair.ts';

/** The state that the replicas of a program share. */
export interface CertificateState {
  /** Certificates of the trusted authorities, PEM, the newest first. */
  readonly bundle: string;
  /** The private key of the newest authority, PEM. */
  readonly authorityKey: string;
  readonly serving: KeyPair;
}

/** In milliseconds. */
export interface CertificateTimes {
  /** Validity of an authority, in milliseconds. Default 10 years. */
  readonly authorityMs: number;
  /** Time before its end at which an authority gets a successor. Default 90 days. */
  readonly authorityRenewBeforeMs: number;
  /** Validity of a serving certificate, in milliseconds. Default 1 year. */
  readonly servingMs: number;
  /** Default 30 days. */
  readonly servingRenewBeforeMs: number;
  /**
   * Time for all parties to learn of a change: from the trust in the new authority to its first use, and from the new serving certificate
   * to the end of the old authority. Default 5 minutes.
   */
  readonly overlapMs: number;
}

const dayMs = 86_400_000;

export const defaultTimes: CertificateTimes = {
  authorityMs: 3650 * dayMs,
  authorityRenewBeforeMs: 90 * dayMs,
  servingMs: 365 * dayMs,
  servingRenewBeforeMs: 30 * dayMs,
  overlapMs: 300_000,
};

/**
 * 'replace': new authority and certificate at once, because none can be used. 'addAuthority': a new authority is
 * trusted but not used. 'issue': a new serving certificate of the newest authority. 'dropOld': only that one stays.
 */
export type CertificateAction = 'replace' | 'addAuthority' | 'issue' | 'dropOld' | 'nothing';

export interface CertificatePlan {
  readonly action: CertificateAction;
  /** The time of the next look at the certificates. */
  readonly dueMs: number;
}

export interface PlanInputs {
  readonly nowMs: number;
  readonly hosts: readonly string[];
  readonly times: CertificateTimes;
  /** The time since which the API servers have had the whole bundle; undefined = not yet. */
  readonly trustedSinceMs: number | undefined;
}

/** Returns the next step; another one may follow it. */
export function planCertificates(state: CertificateState | undefined, inputs: PlanInputs): CertificatePlan {
  const { nowMs, times, trustedSinceMs } = inputs;
  const parsed = state === undefined ? undefined : parse(state);
  if (parsed === undefined) return { action: 'replace', dueMs: nowMs };
  const { newest, serving, isOfNewest } = parsed;
  if (endOf(newest) <= nowMs) return { action: 'replace', dueMs: nowMs };
  const authorityDueMs = endOf(newest) - times.authorityRenewBeforeMs;
  if (authorityDueMs <= nowMs) return { action: 'addAuthority', dueMs: nowMs };
  if (endOf(serving) <= nowMs) return { action: 'issue', dueMs: nowMs };
  if (!isOfNewest) {
    // The old certificate serves until the new authority is trusted, however long that takes; the time to learn of the
    // change begins only then.
    const usableMs = trustedSinceMs === undefined ? nowMs + untrustedLookMs : trustedSinceMs + times.overlapMs;
    return usableMs <= nowMs
      ? { action: 'issue', dueMs: nowMs }
      : { action: 'nothing', dueMs: Math.min(usableMs, endOf(serving)) };
  }
  return planServing(parsed, { authorityDueMs, inputs });
}

/** The certificate is of the newest authority. */
function planServing(
  { serving, old }: Parsed,
  { authorityDueMs, inputs: { nowMs, hosts, times } }: { readonly authorityDueMs: number; readonly inputs: PlanInputs },
): CertificatePlan {
  const servingDueMs = endOf(serving) - times.servingRenewBeforeMs;
  if (servingDueMs <= nowMs) return { action: 'issue', dueMs: nowMs };
  // A full certificate would lose the name of another replica, which would do the same at once.
  const roomMs = hostsOf(serving).length < maxHosts ? nowMs : madeOf(serving) + times.overlapMs;
  const isMissing = !covers(serving, hosts);
  if (isMissing && roomMs <= nowMs) return { action: 'issue', dueMs: nowMs };
  const dropMs = madeOf(serving) + times.overlapMs;
  if (old > 0 && dropMs <= nowMs) return { action: 'dropOld', dueMs: nowMs };
  const more = [...(old > 0 ? [dropMs] : []), ...(isMissing ? [roomMs] : [])];
  return { action: 'nothing', dueMs: Math.min(authorityDueMs, servingDueMs, ...more) };
}

const untrustedLookMs = 1000;

/** Maximum number of names in a certificate. */
export const maxHosts = 100;

/**
 * Returns the names of the next serving certificate: the given ones, then those of the present certificate. Replicas that share
 * certificates may have different hosts, for example a separate `url` each, and would otherwise remove each other's names.
 */
export function hostsToIssue(state: CertificateState | undefined, hosts: readonly string[]): readonly string[] {
  const present = state === undefined ? undefined : parse(state)?.serving;
  return [...new Set([...hosts, ...(present === undefined ? [] : hostsOf(present))])].slice(0, maxHosts);
}

/** Returns the names in a certificate as it spells them, with IPv6 addresses in their long form. */
function hostsOf({ subjectAltName = '' }: X509Certificate): readonly string[] {
  return [...subjectAltName.matchAll(/(?:^|, )(?:DNS|IP Address):([^,"]+)/g)].map(([, host = '']) => host);
}

interface Parsed {
  readonly newest: X509Certificate;
  /** Number of older authorities. */
  readonly old: number;
  readonly serving: X509Certificate;
  readonly isOfNewest: boolean;
}

/** Returns undefined for anything that cannot be used; it is then replaced. */
function parse({ bundle, authorityKey, serving }: CertificateState): Parsed | undefined {
  return readable(() => {
    const [newest, ...old] = blocksOf(bundle).map((block) => new X509Certificate(block));
    const leaf = new X509Certificate(serving.cert);
    if (newest === undefined || !newest.checkPrivateKey(createPrivateKey(authorityKey))) return undefined;
    if (!leaf.checkPrivateKey(createPrivateKey(serving.key))) return undefined;
    const isOfNewest = leaf.verify(newest.publicKey);
    const isKnown = isOfNewest || old.some((authority) => leaf.verify(authority.publicKey));
    return isKnown ? { newest, old: old.length, serving: leaf, isOfNewest } : undefined;
  });
}

/** True when an authority of the bundle has signed the certificate, or one of its chain. Both are PEM. */
export function isSignedBy(chain: string, bundle: string): boolean {
  const signed = readable(() => {
    const authorities = blocksOf(bundle).map((block) => new X509Certificate(block));
    const certificates = blocksOf(chain).map((block) => new X509Certificate(block));
    return certificates.some((certificate) => authorities.some(({ publicKey }) => certificate.verify(publicKey)));
  });
  return signed === true;
}

/** Returns undefined for text that OpenSSL cannot read; OpenSSL's errors have a code. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && 'code' in error) return undefined;
    throw error;
  }
}

/** True = a server can serve it and its authority is known, whether or not its time is over. */
export function isUsable(state: CertificateState): boolean {
  return parse(state) !== undefined;
}

/** Returns the certificates of a PEM text. */
export function blocksOf(pem: string): readonly string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
}

function endOf(certificate: X509Certificate): number {
  return parseTime(certificate.validTo);
}

function madeOf(certificate: X509Certificate): number {
  return parseTime(certificate.validFrom) + clockSkewMs;
}

function covers(certificate: X509Certificate, hosts: readonly string[]): boolean {
  return hosts.every(
    (host) => (isAddress(host) ? certificate.checkIP(host) : certificate.checkHost(host)) !== undefined,
  );
}
