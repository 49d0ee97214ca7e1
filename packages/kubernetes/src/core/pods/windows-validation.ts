// Rules for the fields that only Windows pods may have, and for the fields that they may not have. Source:
// pkg/apis/core/validation validateWindowsSecurityContextOptions, validateWindowsHostProcessPod, validateOS,
// validateLinux, validateWindows.
import type { DeepReadonly } from '@kapstan/api';
import { dnsSubdomainErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { Container, PodSpec, SecurityContext, WindowsSecurityContextOptions } from '@kapstan/kinds/core/v1';

type ReadonlySpec = DeepReadonly<PodSpec>;

const maxSpecKib = 64;
const maxDomainBytes = 256;
const maxUserBytes = 104;
const netBiosForm = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const dnsLabel = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?';
const dnsForm = new RegExp(`^${dnsLabel}(?:\\.${dnsLabel})*$`);

export function validateWindowsOptions(
  at: Field,
  options: DeepReadonly<WindowsSecurityContextOptions> | undefined,
): void {
  const { gmsaCredentialSpecName: name, gmsaCredentialSpec: spec, runAsUserName: user } = options ?? {};
  if (name !== undefined) at.child('gmsaCredentialSpecName').invalidAll(name, dnsSubdomainErrors(name));
  if (spec === '') at.child('gmsaCredentialSpec').invalid(spec, 'gmsaCredentialSpec cannot be an empty string');
  else if (spec !== undefined && Buffer.byteLength(spec) > maxSpecKib * 1024)
    at.child('gmsaCredentialSpec').invalid(spec, `gmsaCredentialSpec size must be under ${maxSpecKib} KiB`);
  if (user !== undefined) at.child('runAsUserName').invalidAll(user, userNameErrors(user));
}

/** Accepts "DOMAIN\\user" or "user". */
function userNameErrors(text: string): string[] {
  if (text === '') return ['runAsUserName cannot be an empty string'];
  if (/\p{Cc}/u.test(text)) return ['runAsUserName cannot contain control characters'];
  const parts = text.split('\\');
  if (parts.length > 2) return ['runAsUserName cannot contain more than one backslash'];
  const user = parts.at(-1) ?? '';
  return [...(parts.length === 2 ? domainErrors(parts[0] ?? '') : []), ...userErrors(user)];
}

function domainErrors(domain: string): string[] {
  const errors: string[] = [];
  if (Buffer.byteLength(domain) >= maxDomainBytes)
    errors.push(`runAsUserName's Domain length must be under ${maxDomainBytes} characters`);
  if (!netBiosForm.test(domain) && !dnsForm.test(domain))
    errors.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
  return errors;
}

function userErrors(user: string): string[] {
  const errors: string[] = [];
  if (user === '') errors.push("runAsUserName's User cannot be empty");
  else if (Buffer.byteLength(user) > maxUserBytes)
    errors.push(`runAsUserName's User length must not be longer than ${maxUserBytes} characters`);
  if (/^[. ]+$/.test(user)) errors.push("runAsUserName's User cannot contain only periods or spaces");
  if (/["/\\:;|=,+*?<>@[\]]/.test(user))
    errors.push('runAsUserName\'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]');
  return errors;
}

/** Calls back for every container with its place. */
function eachContainer(
  at: Field,
  spec: ReadonlySpec,
  visit: (context: DeepReadonly<SecurityContext> | undefined, at: Field) => void,
): void {
  for (const name of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    at.child(name).each(spec[name] as readonly DeepReadonly<Container>[] | undefined, ({ securityContext }, place) =>
      visit(securityContext, place.child('securityContext')),
    );
  }
}

/** Either all containers are host processes, or none. `at` is the spec. */
export function validateHostProcess(at: Field, spec: ReadonlySpec): void {
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess;
  let count = 0;
  let hostCount = 0;
  eachContainer(at, spec, (context, place) => {
    const own = context?.windowsOptions?.hostProcess;
    count++;
    if (own ?? ofPod) hostCount++;
    if (ofPod !== undefined && own !== undefined && own !== ofPod)
      place
        .child('windowsOptions', 'hostProcess')
        .invalid(own, `pod hostProcess value must be identical if both are specified, was ${ofPod}`);
  });
  if (hostCount === 0) return;
  if (hostCount !== count)
    at.invalid('', 'If pod contains any hostProcess containers then all containers must be HostProcess containers');
  if (spec.hostNetwork !== true)
    at.child('hostNetwork').invalid(false, 'hostNetwork must be true if pod contains any hostProcess containers');
  if (!at.capabilities.allowsPrivileged) at.forbidden('hostProcess containers are disallowed by cluster policy');
}

/** `at` is the spec. */
export function validateOs(at: Field, spec: ReadonlySpec): void {
  if (spec.os === undefined) return;
  const name: string = spec.os.name;
  if (name === '') at.child('os', 'name').required();
  else if (name === 'linux') refuseWindowsOptions(at, spec);
  else if (name === 'windows') refuseLinuxOptions(at, spec);
  else at.child('os').notSupported(name, ['linux', 'windows']);
}

function refuseWindowsOptions(at: Field, spec: ReadonlySpec): void {
  const refuse = (context: { readonly windowsOptions?: unknown } | undefined, place: Field): void => {
    if (context?.windowsOptions !== undefined)
      place.child('windowsOptions').forbidden('windows options cannot be set for a linux pod');
  };
  refuse(spec.securityContext, at.child('securityContext'));
  eachContainer(at, spec, refuse);
}

const ofLinuxPods = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'fsGroup',
  'fsGroupChangePolicy',
  'sysctls',
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'supplementalGroupsPolicy',
  'seLinuxChangePolicy',
] as const;
const ofLinuxContainers = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
] as const;

function refuseLinuxOptions(at: Field, spec: ReadonlySpec): void {
  const refused = 'cannot be set for a windows pod';
  const context = spec.securityContext ?? {};
  for (const name of ofLinuxPods) {
    const value = context[name];
    if (value === undefined || (name === 'sysctls' && Array.isArray(value) && value.length === 0)) continue;
    at.child('securityContext', name).forbidden(refused);
  }
  for (const name of ['hostPID', 'hostIPC'] as const) if (spec[name] === true) at.child(name).forbidden(refused);
  for (const name of ['hostUsers', 'shareProcessNamespace'] as const)
    if (spec[name] !== undefined) at.child(name).forbidden(refused);
  eachContainer(at, spec, (own, place) => {
    for (const name of ofLinuxContainers) if (own?.[name] !== undefined) place.child(name).forbidden(refused);
  });
}
