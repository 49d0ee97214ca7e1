// The rules about profiles of the kernel's security modules: AppArmor, SELinux and seccomp. Run by pod-checks.ts.

import type { DeepReadonly } from '@kapstan/api';
import { goQuote } from '@kapstan/api/internal';
import type { SELinuxOptions, SeccompProfile } from '@kapstan/kinds/core/v1';
import {
  badSettings,
  type CheckedPod,
  containersOf,
  formatSetters,
  isForWindows,
  listed,
  namesWhere,
  ownText,
  type PodCheck,
  plural,
  quoted,
  sorted,
  type Violation,
} from './pod-check.ts';

const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/';

function isAppArmorAnnotationAllowed(profile: string): boolean {
  return profile === '' || profile === 'runtime/default' || profile.startsWith('localhost/');
}

function appArmorFault(pod: CheckedPod): Violation | undefined {
  const types: string[] = [];
  const bad = badSettings(pod, ({ appArmorProfile }) => {
    const type = appArmorProfile?.type;
    if (type === undefined || type === 'RuntimeDefault' || type === 'Localhost') return false;
    types.push(type);
    return true;
  });
  const annotations = Object.entries(pod.annotations)
    .filter(([key, value]) => key.startsWith(appArmorPrefix) && !isAppArmorAnnotationAllowed(value))
    .map(([key, value]) => `${key}=${goQuote(value)}`)
    .sort();
  const values = [...sorted(types), ...annotations];
  if (values.length === 0) return undefined;
  const setters = [formatSetters(bad), annotations.length === 0 ? '' : plural('annotation', annotations.length)];
  const who = setters.filter((setter) => setter !== '').join(' and ');
  const reason = plural('forbidden AppArmor profile', values.length);
  return { reason, detail: `${who} must not set AppArmor profile type to ${quoted(values)}` };
}

export const appArmorProfile: PodCheck = { id: 'appArmorProfile', versions: [{ since: 0, check: appArmorFault }] };

type Options = DeepReadonly<SELinuxOptions>;

function seLinuxFault(pod: CheckedPod, allowed: ReadonlySet<string>): Violation | undefined {
  const bad: Options[] = [];
  const settings = badSettings(pod, ({ seLinuxOptions: options }) => {
    if (options === undefined) return false;
    const { type = '', user = '', role = '' } = options;
    if (allowed.has(type) && user === '' && role === '') return false;
    bad.push(options);
    return true;
  });
  if (bad.length === 0) return undefined;
  const types = sorted(bad.flatMap(({ type = '' }) => (allowed.has(type) ? [] : type)));
  const faults: string[] = types.length === 0 ? [] : [listed('type', types)];
  if (bad.some(({ user = '' }) => user !== '')) faults.push('user may not be set');
  if (bad.some(({ role = '' }) => role !== '')) faults.push('role may not be set');
  const what = `set forbidden securityContext.seLinuxOptions: ${faults.join('; ')}`;
  return { reason: 'seLinuxOptions', detail: `${formatSetters(settings)} ${what}` };
}

const seLinuxTypes = ['', 'container_t', 'container_init_t', 'container_kvm_t'];
const olderSeLinuxTypes: ReadonlySet<string> = new Set(seLinuxTypes);
const newerSeLinuxTypes: ReadonlySet<string> = new Set([...seLinuxTypes, 'container_engine_t']);

export const seLinuxOptions: PodCheck = {
  id: 'seLinuxOptions',
  versions: [
    { since: 0, check: (pod) => seLinuxFault(pod, olderSeLinuxTypes) },
    { since: 31, check: (pod) => seLinuxFault(pod, newerSeLinuxTypes) },
  ],
};

const podSeccompKey = 'seccomp.security.alpha.kubernetes.io/pod';
const containerSeccompPrefix = 'container.seccomp.security.alpha.kubernetes.io/';

function isSeccompAnnotationAllowed(value: string): boolean {
  return value === 'runtime/default' || value === 'docker/default' || value.startsWith('localhost/');
}

/** Checks by the rule of versions before seccomp had fields. */
function seccompAnnotationFault(pod: CheckedPod): Violation | undefined {
  const keys = [podSeccompKey, ...containersOf(pod).map(({ name }) => containerSeccompPrefix + name)];
  const bad = keys.flatMap((key) => {
    const value = ownText(pod.annotations, key);
    return value === undefined || isSeccompAnnotationAllowed(value) ? [] : `${key}=${goQuote(value)}`;
  });
  if (bad.length === 0) return undefined;
  const shown = sorted(bad);
  return { reason: 'seccompProfile', detail: `forbidden ${plural('annotation', shown.length)} ${shown.join(', ')}` };
}

function isSeccompAllowed({ type }: DeepReadonly<SeccompProfile>): boolean {
  return type === 'RuntimeDefault' || type === 'Localhost';
}

function seccompFieldFault(pod: CheckedPod): Violation | undefined {
  const types: string[] = [];
  const bad = badSettings(pod, ({ seccompProfile: profile }) => {
    if (profile === undefined || isSeccompAllowed(profile)) return false;
    types.push(profile.type);
    return true;
  });
  if (types.length === 0) return undefined;
  const what = `must not set securityContext.seccompProfile.type to ${quoted(sorted(types))}`;
  return { reason: 'seccompProfile', detail: `${formatSetters(bad)} ${what}` };
}

export const seccompBaseline: PodCheck = {
  id: 'seccompProfile_baseline',
  versions: [
    { since: 0, check: seccompAnnotationFault },
    { since: 19, check: seccompFieldFault },
  ],
};

/** At the restricted level the pod, or each container, must choose a profile. */
function seccompChoiceFault(pod: CheckedPod): Violation | undefined {
  const fault = seccompFieldFault(pod);
  if (fault !== undefined || pod.spec.securityContext?.seccompProfile !== undefined) return fault;
  const names = namesWhere(pod, ({ securityContext }) => securityContext?.seccompProfile === undefined);
  if (names.length === 0) return undefined;
  const what = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"';
  return { reason: 'seccompProfile', detail: `pod or ${listed('container', names)} ${what}` };
}

export const seccompRestricted: PodCheck = {
  id: 'seccompProfile_restricted',
  versions: [
    { since: 19, check: seccompChoiceFault },
    { since: 25, check: (pod) => (isForWindows(pod) ? undefined : seccompChoiceFault(pod)) },
  ],
  replaces: seccompBaseline.id,
};
