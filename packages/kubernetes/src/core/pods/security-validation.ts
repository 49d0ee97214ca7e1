// Rules for the security contexts of pods and containers. The rules for Windows are in windows-validation.ts. Source:
// pkg/apis/core/validation validatePodSpecSecurityContext, ValidateSecurityContext.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type {
  AppArmorProfile,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
} from '@kapstan/kinds/core/v1';
import { internalForm } from '../../validation/internal-form.ts';
import { rangeErrors } from '../../validation/value-rules.ts';
import { validateDescendingPath } from './volume-source-validation.ts';
import { validateWindowsOptions } from './windows-validation.ts';

const maxId = 2_147_483_647;

function validateIds(at: Field, ids: Readonly<Record<string, number | undefined>>): void {
  for (const [name, id] of Object.entries(ids))
    if (id !== undefined) at.child(name).invalidAll(id, rangeErrors(id, 0, maxId));
}

/** `at` is the security context. */
export function validatePodSecurity(at: Field, spec: DeepReadonly<PodSpec>): void {
  const context = spec.securityContext;
  if (context === undefined) return;
  const { fsGroup, runAsUser, runAsGroup } = context;
  validateIds(at, { fsGroup, runAsUser, runAsGroup });
  at.child('supplementalGroups').each(context.supplementalGroups, (id, place) =>
    place.invalidAll(id, rangeErrors(id, 0, maxId)),
  );
  if (spec.shareProcessNamespace === true && spec.hostPID === true)
    at.child('shareProcessNamespace').invalid(true, 'ShareProcessNamespace and HostPID cannot both be enabled');
  validateSysctls(at.child('sysctls'), context.sysctls, spec);
  for (const [name, values] of Object.entries(policies)) {
    const value = context[name as keyof typeof policies];
    if (value !== undefined) at.child(name).oneOf(value, values);
  }
  validateSeccomp(at.child('seccompProfile'), context.seccompProfile);
  validateWindowsOptions(at.child('windowsOptions'), context.windowsOptions);
  validateAppArmor(at.child('appArmorProfile'), context.appArmorProfile);
}

const policies = {
  fsGroupChangePolicy: ['Always', 'OnRootMismatch'],
  supplementalGroupsPolicy: ['Merge', 'Strict'],
  // The feature gate SELinuxMount is off.
  seLinuxChangePolicy: ['Recursive'],
} as const;

const sysctlSegment = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const sysctlPattern = `^(${sysctlSegment}[\\./])*${sysctlSegment}$`;
const maxSysctlBytes = 253;

function validateSysctls(
  at: Field,
  sysctls: DeepReadonly<PodSecurityContext>['sysctls'],
  spec: DeepReadonly<PodSpec>,
): void {
  const seen = new Set<string>();
  at.each(sysctls, ({ name }, place) => {
    const namePlace = place.child('name');
    if (name === '') namePlace.required();
    else if (Buffer.byteLength(name) > maxSysctlBytes || !new RegExp(sysctlPattern).test(name))
      namePlace.invalid(name, `must have at most ${maxSysctlBytes} characters and match regex ${sysctlPattern}`);
    else if (seen.has(name)) namePlace.duplicate(name);
    validateHostSysctl(namePlace, name, spec);
    seen.add(name);
  });
}

const ipcSysctls = /^(kernel\.shm|kernel\.msg|fs\.mqueue\.)|^kernel\.sem$/;

/** A pod may not tune the host's namespaces. Source: ValidateHostSysctl. */
function validateHostSysctl(at: Field, name: string, spec: DeepReadonly<PodSpec>): void {
  // Slashes may replace dots.
  const dotted = name.replaceAll('/', '.');
  if (spec.hostNetwork === true && dotted.startsWith('net.'))
    at.invalid(name, "may not be specified when 'hostNetwork' is true");
  else if (spec.hostIPC === true && ipcSysctls.test(dotted))
    at.invalid(name, "may not be specified when 'hostIPC' is true");
}

const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined'];

function validateSeccomp(at: Field, profile: DeepReadonly<SeccompProfile> | undefined): void {
  if (profile === undefined) return;
  const { type, localhostProfile: local } = profile;
  if ((type as string) === '') at.child('type').required('type is required when seccompProfile is set');
  else at.child('type').oneOf(type, profileTypes);
  const place = at.child('localhostProfile');
  if (type !== 'Localhost') {
    if (local !== undefined) place.invalid(profile, 'can only be set when seccomp type is Localhost');
  } else if (local === undefined) place.required('must be set when seccomp type is Localhost');
  else validateDescendingPath(place, local);
}

const maxProfileBytes = 4095;

/** Checks a profile; absent is valid. */
export function validateAppArmor(at: Field, profile: DeepReadonly<AppArmorProfile> | undefined): void {
  if (profile === undefined) return;
  const { type, localhostProfile: local } = profile;
  const place = at.child('localhostProfile');
  if ((type as string) === '') return at.child('type').required('type is required when appArmorProfile is set');
  if (!profileTypes.includes(type)) return at.child('type').notSupported(type, profileTypes);
  if (type !== 'Localhost') {
    if (local !== undefined) place.invalid(local, 'can only be set when AppArmor type is Localhost');
    return;
  }
  if (local === undefined) return place.required('must be set when AppArmor type is Localhost');
  if (local !== local.trim()) place.invalid(local, 'must not be padded with whitespace');
  else if (local === '') place.required('must be set when AppArmor type is Localhost');
  if (Buffer.byteLength(local) > maxProfileBytes) place.tooLong(maxProfileBytes);
}

/** Checks the security context of a container. */
export function validateSecurityContext(
  at: Field,
  context: DeepReadonly<SecurityContext>,
  hostUsers: boolean | undefined,
): void {
  const { runAsUser, runAsGroup, procMount } = context;
  if (context.privileged === true && !at.capabilities.allowsPrivileged)
    at.child('privileged').forbidden('disallowed by cluster policy');
  validateIds(at, { runAsUser, runAsGroup });
  if (procMount !== undefined) {
    at.child('procMount').oneOf(procMount, ['Default', 'Unmasked']);
    if (procMount === 'Unmasked' && hostUsers !== false)
      at.child('procMount').invalid(procMount, '`hostUsers` must be false to use `Unmasked`');
  }
  validateSeccomp(at.child('seccompProfile'), context.seccompProfile);
  if (context.allowPrivilegeEscalation === false) validateNoEscalation(at, context);
  validateWindowsOptions(at.child('windowsOptions'), context.windowsOptions);
  validateAppArmor(at.child('appArmorProfile'), context.appArmorProfile);
}

function validateNoEscalation(at: Field, context: DeepReadonly<SecurityContext>): void {
  const refuse = (what: string): void =>
    at.invalid(
      internalForm('core.SecurityContext', context),
      `cannot set \`allowPrivilegeEscalation\` to false and ${what}`,
    );
  if (context.privileged === true) refuse('`privileged` to true');
  for (const capability of context.capabilities?.add ?? []) {
    if (capability === 'CAP_SYS_ADMIN') refuse('`capabilities.Add` CAP_SYS_ADMIN');
  }
}

/** A pod with separate users may share little with the host. `at` is the spec. Source: validateHostUsers. */
export function validateHostUsers(at: Field, spec: DeepReadonly<PodSpec>): void {
  if (spec.hostUsers !== false) return;
  const refused = 'when `hostUsers` is false';
  if (spec.hostNetwork === true) at.child('hostNetwork').forbidden(refused);
  if (spec.hostPID === true) at.child('HostPID').forbidden(refused);
  if (spec.hostIPC === true) at.child('HostIPC').forbidden(refused);
  for (const name of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    at.child(name).each(
      spec[name] as readonly DeepReadonly<{ volumeDevices?: unknown[] }>[] | undefined,
      (container, place) => {
        if ((container.volumeDevices?.length ?? 0) > 0) place.child('volumeDevices').forbidden(refused);
      },
    );
  }
}
