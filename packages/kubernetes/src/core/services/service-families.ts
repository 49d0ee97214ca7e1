// IP families and cluster addresses of a service: the rules, and the values that the server fills in on a cluster with
// IPv4 only. Source: initIPFamilyFields, ValidateServiceClusterIPsRelatedFields, validateUpgradeDowngrade*.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { ServiceSpec } from '@kapstan/kinds/core/v1';
import { isIpv6 } from '../../validation/ip-family.ts';
import { ipErrors } from '../../validation/value-rules.ts';
import { isHeadless } from './service-needs.ts';

type ReadonlySpec = DeepReadonly<ServiceSpec>;
type IpFamilies = NonNullable<ServiceSpec['ipFamilies']>;

const policies = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];

/** `at` is the spec. Source: ValidateServiceClusterIPsRelatedFields. */
export function validateClusterIps(at: Field, spec: ReadonlySpec, old: ReadonlySpec | undefined): void {
  if (spec.type === 'ExternalName') return;
  const ips = spec.clusterIPs ?? [];
  const place = at.child('clusterIPs');
  if (!spec.clusterIP) {
    if (ips.length > 0) place.invalid(ips, 'must be empty when `clusterIP` is not specified');
  } else if (ips.length === 0) place.required();
  else if (ips[0] !== spec.clusterIP) place.invalid(ips, 'first value must match `clusterIP`');
  validateFamilies(at.child('ipFamilies'), spec.ipFamilies ?? []);
  if (spec.ipFamilyPolicy !== undefined) at.child('ipFamilyPolicy').oneOf(spec.ipFamilyPolicy, policies);
  if (validateAddresses(place, ips, old?.clusterIPs ?? [])) validateAddressFamilies(place, spec, ips);
}

function validateFamilies(at: Field, families: readonly string[]): void {
  const seen = new Set<string>();
  at.each(families, (family, place) => {
    place.oneOf(family, ['IPv4', 'IPv6']);
    if (seen.has(family)) place.duplicate(family);
    seen.add(family);
  });
}

/** Returns true when all are addresses. Addresses that were there before are not checked. */
function validateAddresses(at: Field, ips: readonly string[], before: readonly string[]): boolean {
  const errorCount = at.errorCount;
  const isNone = ips[0] === 'None';
  if (isNone && ips.length > 1) at.invalid(ips, "'None' must be the first and only value");
  const known = new Set(before);
  at.each(ips, (ip, place, index) => {
    if (!(isNone && index === 0) && !known.has(ip)) place.invalidAll(ip, ipErrors(ip));
  });
  const isValid = at.errorCount === errorCount;
  if (ips.length > 2) at.invalid(ips, 'may only hold up to 2 values');
  return isValid;
}

function validateAddressFamilies(at: Field, spec: ReadonlySpec, ips: readonly string[]): void {
  const count6 = ips.filter((ip) => isIpv6(ip)).length;
  if (ips.length > 1 && (count6 === 0 || count6 === ips.length))
    at.invalid(ips, 'may specify no more than one IP for each IP family');
  if (isHeadless(spec)) return;
  at.each(ips, (ip, place, index) => {
    const family = spec.ipFamilies?.[index];
    if ((family === 'IPv4' && isIpv6(ip)) || (family === 'IPv6' && !isIpv6(ip)))
      place.invalid(ip, `expected an ${family} value as indicated by \`ipFamilies[${index}]\``);
  });
}

/** Fills in families and policy, and reports those that the cluster does not support. Source: initIPFamilyFields. */
export function initIpFamilies(at: Field, spec: ServiceSpec, old: ReadonlySpec | undefined): void {
  if (spec.type === 'ExternalName') return;
  const isSelectorless = spec.clusterIP === 'None' && Object.keys(spec.selector ?? {}).length === 0;
  spec.ipFamilyPolicy ??= old?.ipFamilyPolicy ?? (isSelectorless ? 'RequireDualStack' : 'SingleStack');
  validateClusterIps(at, spec, old);
  if (at.errorCount > 0) return;
  if (old !== undefined) releaseSecond(at, spec, old);
  validateStacks(at, spec);
  takeFamiliesOfAddresses(at, spec);
  if (at.errorCount > 0) return;
  if (isSelectorless) return setSelectorlessFamilies(spec);
  if (spec.ipFamilyPolicy === 'RequireDualStack')
    at.child('ipFamilyPolicy').invalid(spec.ipFamilyPolicy, 'this cluster is not configured for dual-stack services');
  at.child('ipFamilies').each(spec.ipFamilies, (family, place) => {
    if (family !== 'IPv4') place.invalid(family, 'not configured on this cluster');
  });
  if ((spec.ipFamilies?.length ?? 0) === 0) spec.ipFamilies = ['IPv4'];
}

const pairs = [
  { name: 'clusterIPs', short: 'cluster IP', long: 'cluster IPs' },
  { name: 'ipFamilies', short: 'IP family', long: 'IP families' },
] as const;

/** The second address depends on the policy; only SingleStack releases it. */
function releaseSecond(at: Field, spec: ServiceSpec, old: ReadonlySpec): void {
  for (const { name, short } of pairs) {
    const next: readonly string[] = spec[name] ?? [];
    const before: readonly string[] = old[name] ?? [];
    const isSame = next.length === before.length && next.every((value, index) => value === before[index]);
    if (spec.ipFamilyPolicy === 'SingleStack') {
      if (isSame && next.length > 1) spec[name]?.splice(1);
    } else if (next.length > 0 && next.length < before.length) {
      at.child('ipFamilyPolicy').invalid(
        spec.ipFamilyPolicy,
        `must be 'SingleStack' to release the secondary ${short}`,
      );
    }
  }
}

function validateStacks(at: Field, spec: ReadonlySpec): void {
  if (spec.ipFamilyPolicy !== 'SingleStack') return;
  for (const { name, long } of pairs) {
    if (spec[name]?.length !== 2) continue;
    at.child('ipFamilyPolicy').invalid(
      spec.ipFamilyPolicy,
      `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${long} are specified`,
    );
  }
}

function takeFamiliesOfAddresses(at: Field, spec: ServiceSpec): void {
  const families: IpFamilies = spec.ipFamilies ?? [];
  const ips = spec.clusterIPs ?? [];
  if (ips[0] === 'None') return;
  at.child('clusterIPs').each(ips, (ip, place, index) => {
    if (index < families.length) return;
    if (isIpv6(ip)) place.invalid(ips, 'IPv6 is not configured on this cluster');
    else families.push('IPv4');
  });
  if (families.length > 0) spec.ipFamilies = families;
}

/** For a headless service without a selector, only its author knows the families of its endpoints. */
function setSelectorlessFamilies(spec: ServiceSpec): void {
  const [first = 'IPv4', ...more] = spec.ipFamilies ?? [];
  const other = first === 'IPv4' ? 'IPv6' : 'IPv4';
  spec.ipFamilies = more.length === 0 && spec.ipFamilyPolicy !== 'SingleStack' ? [first, other] : [first, ...more];
}

/** Addresses must not change once set. `at` is the spec. Source: validateUpgradeDowngradeClusterIPs. */
export function validateAddressChange(at: Field, next: ReadonlySpec, old: ReadonlySpec): void {
  if (next.type === 'ExternalName' || old.type === 'ExternalName' || (isHeadless(old) && isHeadless(next))) return;
  const [after, before] = [next.clusterIPs ?? [], old.clusterIPs ?? []];
  const place = at.child('clusterIPs');
  const fixed = after.length === before.length ? before.length : Math.min(1, before.length, after.length);
  for (let index = 0; index < fixed; index++) {
    if (after[index] !== before[index]) place.index(index).invalid(after, 'may not change once set');
  }
  if (before.length <= after.length) return;
  if (after.length === 0) place.index(0).invalid(next.clusterIPs ?? null, 'primary clusterIP can not be unset');
  if (after.length === 1) validateRelease(at, next, 'clusterIP');
}

/** Source: validateUpgradeDowngradeIPFamilies. */
export function validateFamilyChange(at: Field, next: ReadonlySpec, old: ReadonlySpec): void {
  if (next.type === 'ExternalName' || old.type === 'ExternalName' || isHeadless(old) || isHeadless(next)) return;
  const [after, before] = [next.ipFamilies ?? [], old.ipFamilies ?? []];
  const place = at.child('ipFamilies').index(0);
  if (after.length === before.length) {
    const changed = before.filter((family, index) => after[index] !== family);
    for (const _ of changed) place.invalid(after, 'may not change once set');
    return;
  }
  const hasBoth = before.length > 0 && after.length > 0;
  if (hasBoth && after[0] !== before[0]) place.invalid(next.clusterIPs ?? null, 'may not change once set');
  if (before.length < after.length) return;
  if (next.clusterIPs === undefined) place.invalid(next.ipFamilies ?? null, 'primary ipFamily can not be unset');
  if (after.length === 1) validateRelease(at, next, 'ipFamily');
}

/** Checks a change from two addresses or families to one. */
function validateRelease(at: Field, next: ReadonlySpec, what: string): void {
  if (next.ipFamilyPolicy === 'SingleStack') return;
  at.child('ipFamilyPolicy').invalid(
    next.ipFamilyPolicy ?? null,
    `must be set to 'SingleStack' when releasing the secondary ${what}`,
  );
}
