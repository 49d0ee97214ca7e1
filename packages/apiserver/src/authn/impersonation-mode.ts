// ImpersonationMode: one way in which a requester may act as someone else, with the permissions it needs. Four modes
// also limit the actions while impersonating (verbs "impersonate:<mode>" and "impersonate-on:<mode>:<verb>"); the old
// one allows everything (verb "impersonate"). impersonator.ts tries them in turn. Source: filters/impersonation/mode.go
// (KEP 5284).
import { dnsLabelErrors, dnsSubdomainErrors } from '@kapstan/api/errors';
import type { AuthorizationAttributes } from '../authz/authorizer.ts';
import type { UserInfo } from '../registry/definition/request-context.ts';
import type { WantedUser } from './impersonation.ts';

export interface ImpersonationMode {
  /** Undefined = the old mode, without limits. */
  readonly constraint: 'associated-node' | 'arbitrary-node' | 'serviceaccount' | 'user-info' | undefined;
  /** Returns whether the mode is intended for such a user at all. */
  fits(wanted: WantedUser, requester: UserInfo): boolean;
  /** Returns the attributes to ask the authorizer for instead of the given ones. Absent = the given ones. */
  asks?(attributes: AuthorizationAttributes): AuthorizationAttributes;
}

export const impersonationModes: readonly ImpersonationMode[] = [
  { constraint: 'associated-node', fits: isOwnNode, asks: forAnyNode },
  {
    constraint: 'arbitrary-node',
    fits: (wanted) => hasNameAlone(wanted) && nodeNamed(wanted.name) !== undefined,
  },
  {
    constraint: 'serviceaccount',
    fits: (wanted) => hasNameAlone(wanted) && accountNamed(wanted.name) !== undefined,
  },
  {
    constraint: 'user-info',
    fits: ({ name }) => nodeNamed(name) === undefined && accountNamed(name) === undefined,
  },
  { constraint: undefined, fits: () => true },
];

/** Returns the namespace and name of a service account from its user name. Source: serviceaccount.SplitUsername. */
export function accountNamed(userName: string): { readonly namespace: string; readonly name: string } | undefined {
  const [namespace = '', name = '', ...rest] = afterPrefix(userName, 'system:serviceaccount:')?.split(':') ?? [];
  if (rest.length > 0 || dnsLabelErrors(namespace).length > 0 || dnsSubdomainErrors(name).length > 0) return undefined;
  return { namespace, name };
}

/** Returns the node of a kubelet's user name. */
export function nodeNamed(userName: string): string | undefined {
  const name = afterPrefix(userName, 'system:node:');
  return name === undefined || dnsSubdomainErrors(name).length > 0 ? undefined : name;
}

function afterPrefix(text: string, prefix: string): string | undefined {
  return text.startsWith(prefix) ? text.slice(prefix.length) : undefined;
}

function hasNameAlone({ uid, groups, extra }: WantedUser): boolean {
  return uid === '' && groups.length === 0 && extra.size === 0;
}

/** True for the service account of a pod that wants to act as its own node. */
function isOwnNode(wanted: WantedUser, requester: UserInfo): boolean {
  const node = nodeNamed(wanted.name);
  if (node === undefined || !hasNameAlone(wanted) || accountNamed(requester.name) === undefined) return false;
  const [own, ...others] = requester.extra?.['authentication.kubernetes.io/node-name'] ?? [];
  return own === node && others.length === 0;
}

/** Makes the question the same for every node: only the keys of the requester's extras count. */
function forAnyNode(attributes: AuthorizationAttributes): AuthorizationAttributes {
  const { user } = attributes;
  const extra = { 'authentication.kubernetes.io/associated-node-keys': Object.keys(user.extra ?? {}).sort() };
  const isOfNode = attributes.type === 'resource' && attributes.verb === 'impersonate:associated-node';
  return { ...attributes, ...(isOfNode && { name: '*' }), user: { ...user, extra } };
}
