// The rules about the privileges of a pod's processes: privileged mode, capabilities, users, /proc and sysctls. Run by
// pod-checks.ts.

import {
  badSettings,
  type CheckedPod,
  type CheckFunction,
  containersOf,
  formatSetters,
  hasOwnUsers,
  isForWindows,
  listed,
  namesWhere,
  type PodCheck,
  quoted,
  sorted,
  type Violation,
} from './pod-check.ts';

function privilegedFault(pod: CheckedPod): Violation | undefined {
  const names = namesWhere(pod, ({ securityContext }) => securityContext?.privileged === true);
  if (names.length === 0) return undefined;
  return { reason: 'privileged', detail: `${listed('container', names)} must not set securityContext.privileged=true` };
}

export const privileged: PodCheck = { id: 'privileged', versions: [{ since: 0, check: privilegedFault }] };

const defaultCapabilities: ReadonlySet<string> = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]);

/** Names the containers that add forbidden capabilities; undefined when there are none. */
function addedCapabilities(pod: CheckedPod, isAllowed: (capability: string) => boolean): string | undefined {
  const bad: string[] = [];
  const names = namesWhere(pod, ({ securityContext }) => {
    const added = (securityContext?.capabilities?.add ?? []).filter((capability) => !isAllowed(capability));
    for (const capability of added) bad.push(capability);
    return added.length > 0;
  });
  if (names.length === 0) return undefined;
  return `${listed('container', names)} must not include ${quoted(sorted(bad))} in securityContext.capabilities.add`;
}

export const capabilitiesBaseline: PodCheck = {
  id: 'capabilities_baseline',
  versions: [
    {
      since: 0,
      check: (pod) => {
        const detail = addedCapabilities(pod, (capability) => defaultCapabilities.has(capability));
        return detail === undefined ? undefined : { reason: 'non-default capabilities', detail };
      },
    },
  ],
};

function capabilitiesFault(pod: CheckedPod): Violation | undefined {
  const names = namesWhere(pod, ({ securityContext }) => !securityContext?.capabilities?.drop?.includes('ALL'));
  const kept =
    names.length === 0 ? [] : [`${listed('container', names)} must set securityContext.capabilities.drop=["ALL"]`];
  const details = [...kept, addedCapabilities(pod, (capability) => capability === 'NET_BIND_SERVICE') ?? []].flat();
  return details.length === 0 ? undefined : { reason: 'unrestricted capabilities', detail: details.join('; ') };
}

export const capabilitiesRestricted: PodCheck = {
  id: 'capabilities_restricted',
  versions: [
    { since: 22, check: capabilitiesFault },
    { since: 25, check: unlessForWindows(capabilitiesFault) },
  ],
  replaces: capabilitiesBaseline.id,
};

function escalationFault(pod: CheckedPod): Violation | undefined {
  const names = namesWhere(pod, ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false);
  if (names.length === 0) return undefined;
  const what = 'must set securityContext.allowPrivilegeEscalation=false';
  return { reason: 'allowPrivilegeEscalation != false', detail: `${listed('container', names)} ${what}` };
}

export const allowPrivilegeEscalation: PodCheck = {
  id: 'allowPrivilegeEscalation',
  versions: [
    { since: 8, check: escalationFault },
    { since: 25, check: unlessForWindows(escalationFault) },
  ],
};

function procMountFault(pod: CheckedPod): Violation | undefined {
  const procMounts = containersOf(pod).map(({ securityContext }) => securityContext?.procMount ?? 'Default');
  const types = sorted(procMounts.filter((type) => type !== 'Default'));
  if (types.length === 0) return undefined;
  const names = namesWhere(pod, ({ securityContext }) => (securityContext?.procMount ?? 'Default') !== 'Default');
  const what = `must not set securityContext.procMount to ${quoted(types)}`;
  return { reason: 'procMount', detail: `${listed('container', names)} ${what}` };
}

export const procMountBaseline: PodCheck = {
  id: 'procMount',
  versions: [
    { since: 0, check: procMountFault },
    { since: 35, check: unlessWithOwnUsers(procMountFault) },
  ],
};

export const procMountRestricted: PodCheck = {
  id: 'procMount_restricted',
  versions: [{ since: 35, check: procMountFault }],
  replaces: procMountBaseline.id,
};

function rootFault(pod: CheckedPod): Violation | undefined {
  const reason = 'runAsNonRoot != true';
  const setters = formatSetters(badSettings(pod, ({ runAsNonRoot }) => runAsNonRoot === false));
  if (setters !== '') return { reason, detail: `${setters} must not set securityContext.runAsNonRoot=false` };
  if (pod.spec.securityContext?.runAsNonRoot === true) return undefined;
  const names = namesWhere(pod, ({ securityContext }) => securityContext?.runAsNonRoot === undefined);
  if (names.length === 0) return undefined;
  return { reason, detail: `pod or ${listed('container', names)} must set securityContext.runAsNonRoot=true` };
}

export const runAsNonRoot: PodCheck = {
  id: 'runAsNonRoot',
  versions: [
    { since: 0, check: rootFault },
    { since: 35, check: unlessWithOwnUsers(rootFault) },
  ],
};

function userFault(pod: CheckedPod): Violation | undefined {
  const setters = formatSetters(badSettings(pod, ({ runAsUser }) => runAsUser === 0));
  return setters === '' ? undefined : { reason: 'runAsUser=0', detail: `${setters} must not set runAsUser=0` };
}

export const runAsUser: PodCheck = {
  id: 'runAsUser',
  versions: [
    { since: 23, check: userFault },
    { since: 35, check: unlessWithOwnUsers(userFault) },
  ],
};

const sysctlsOf0 = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
];
const sysctlsOf27 = [...sysctlsOf0, 'net.ipv4.ip_local_reserved_ports'];
const sysctlsOf29 = [
  ...sysctlsOf27,
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
];
const sysctlsOf32 = [...sysctlsOf29, 'net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem'];

function sysctlCheck(allowed: readonly string[]): CheckFunction {
  const names: ReadonlySet<string> = new Set(allowed);
  return ({ spec }) => {
    const bad = (spec.securityContext?.sysctls ?? []).filter(({ name }) => !names.has(name));
    if (bad.length === 0) return undefined;
    return { reason: 'forbidden sysctls', detail: bad.map(({ name }) => name).join(', ') };
  };
}

export const sysctls: PodCheck = {
  id: 'sysctls',
  versions: [
    { since: 0, check: sysctlCheck(sysctlsOf0) },
    { since: 27, check: sysctlCheck(sysctlsOf27) },
    { since: 29, check: sysctlCheck(sysctlsOf29) },
    { since: 32, check: sysctlCheck(sysctlsOf32) },
  ],
};

function unlessForWindows(check: CheckFunction): CheckFunction {
  return (pod) => (isForWindows(pod) ? undefined : check(pod));
}

function unlessWithOwnUsers(check: CheckFunction): CheckFunction {
  return (pod) => (hasOwnUsers(pod) ? undefined : check(pod));
}
