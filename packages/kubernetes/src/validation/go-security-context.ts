// Shows a container's security context as an error does: with Go's names, in the order of the Go type, and null for what
// is not set.
import type { DeepReadonly } from '@kapstan/api';
import { isJsonObject } from '@kapstan/api/internal';
import type { SecurityContext } from '@kapstan/kinds/core/v1';

/** Go's name, the name in JSON, and what stands for a missing value (null) or the members of a struct. */
type GoMember = readonly [goName: string, name: string, missingOrMembers?: '' | readonly GoMember[]];

const profile: readonly GoMember[] = [
  ['Type', 'type'],
  ['LocalhostProfile', 'localhostProfile'],
];

const members: readonly GoMember[] = [
  [
    'Capabilities',
    'capabilities',
    [
      ['Add', 'add'],
      ['Drop', 'drop'],
    ],
  ],
  ['Privileged', 'privileged'],
  [
    'SELinuxOptions',
    'seLinuxOptions',
    [
      ['User', 'user', ''],
      ['Role', 'role', ''],
      ['Type', 'type', ''],
      ['Level', 'level', ''],
    ],
  ],
  [
    'WindowsOptions',
    'windowsOptions',
    [
      ['GMSACredentialSpecName', 'gmsaCredentialSpecName'],
      ['GMSACredentialSpec', 'gmsaCredentialSpec'],
      ['RunAsUserName', 'runAsUserName'],
      ['HostProcess', 'hostProcess'],
    ],
  ],
  ['RunAsUser', 'runAsUser'],
  ['RunAsGroup', 'runAsGroup'],
  ['RunAsNonRoot', 'runAsNonRoot'],
  ['ReadOnlyRootFilesystem', 'readOnlyRootFilesystem'],
  ['AllowPrivilegeEscalation', 'allowPrivilegeEscalation'],
  ['ProcMount', 'procMount'],
  ['SeccompProfile', 'seccompProfile', profile],
  ['AppArmorProfile', 'appArmorProfile', profile],
];

export function goSecurityContext(context: DeepReadonly<SecurityContext>): unknown {
  return goStruct(context, members);
}

function goStruct(value: object, words: readonly GoMember[]): unknown {
  const source = value as Readonly<Record<string, unknown>>;
  const shown: Record<string, unknown> = {};
  for (const [goName, name, inner] of words) {
    const member = source[name];
    if (typeof inner === 'object') shown[goName] = isJsonObject(member) ? goStruct(member, inner) : null;
    else shown[goName] = member ?? inner ?? null;
  }
  return shown;
}
