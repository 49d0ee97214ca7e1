// Impersonation: headers that ask to act as someone else, which the authorizer must allow for every part.
// Source: apiserver pkg/endpoints/filters/impersonation.go.
import { newBadRequest } from '@kapstan/api';
import type { AuthorizationAttributes } from '../authz/authorizer.ts';
import type { UserInfo } from '../registry/request-context.ts';
import { anonymousUser, unauthenticatedGroup, withAuthenticatedGroup } from './authenticator.ts';

export interface ImpersonationHeaders {
  header(name: string): string | undefined;
  headerNames(): readonly string[];
  headerValues(name: string): readonly string[];
}

export interface Impersonation {
  readonly user: UserInfo;
  /** Each must be allowed to the one who asks. */
  readonly checks: readonly AuthorizationAttributes[];
}

const extraPrefix = 'impersonate-extra-';

interface Asked {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
}

/** Undefined when nobody is to be impersonated. Throws 400 for groups, uid or extras without a user. */
export function readImpersonation(headers: ImpersonationHeaders, requester: UserInfo): Impersonation | undefined {
  const asked: Asked = {
    name: headers.header('impersonate-user') ?? '',
    uid: headers.header('impersonate-uid') ?? '',
    groups: headers.headerValues('impersonate-group'),
    extra: readExtra(headers),
  };
  if (asked.name !== '') return { user: userOf(asked), checks: checksOf(asked, requester) };
  if (asked.groups.length > 0 || asked.uid !== '' || asked.extra.size > 0) throw withoutUser(asked);
  return undefined;
}

/** Namespace and name of a service account's user name. */
function accountOf(name: string): { readonly namespace: string; readonly name: string } | undefined {
  const match = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name);
  return match === null ? undefined : { namespace: match[1] ?? '', name: match[2] ?? '' };
}

function checksOf({ name, uid, groups, extra }: Asked, requester: UserInfo): readonly AuthorizationAttributes[] {
  const account = accountOf(name);
  const who = account === undefined ? { resource: 'users', name } : { resource: 'serviceaccounts', ...account };
  const authentication = { group: 'authentication.k8s.io', version: 'v1' };
  const extras = [...extra].flatMap(([subresource, values]) =>
    values.map((value) => ({ ...authentication, resource: 'userextras', subresource, name: value })),
  );
  const parts: readonly CheckedPart[] = [
    who,
    ...groups.map((group) => ({ resource: 'groups', name: group })),
    ...extras,
    ...(uid === '' ? [] : [{ ...authentication, resource: 'uids', name: uid }]),
  ];
  return parts.map((part) => check(requester, part));
}

function userOf({ name, uid, groups, extra }: Asked): UserInfo {
  if (name === anonymousUser && groups.length === 0) return { name, groups: [unauthenticatedGroup] };
  const account = accountOf(name);
  const accountGroups =
    account === undefined ? [] : ['system:serviceaccounts', `system:serviceaccounts:${account.namespace}`];
  return withAuthenticatedGroup({
    name,
    groups: groups.length === 0 ? accountGroups : groups,
    ...(uid === '' ? {} : { uid }),
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
  });
}

type CheckedPart = {
  readonly resource: string;
  readonly name: string;
  readonly group?: string;
  readonly version?: string;
  readonly namespace?: string;
  readonly subresource?: string;
};

function check(user: UserInfo, part: CheckedPart): AuthorizationAttributes {
  const { group = '', version = 'v1', namespace = '', subresource = '' } = part;
  const { resource, name } = part;
  return { type: 'resource', user, verb: 'impersonate', group, version, namespace, resource, subresource, name };
}

function readExtra(headers: ImpersonationHeaders): ReadonlyMap<string, readonly string[]> {
  const extra = new Map<string, readonly string[]>();
  for (const name of headers.headerNames()) {
    if (!name.startsWith(extraPrefix)) continue;
    extra.set(decodeKey(name.slice(extraPrefix.length)), headers.headerValues(name));
  }
  return extra;
}

function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch (error) {
    if (error instanceof URIError) return key;
    throw error;
  }
}

/** The text shows Go's form of the user that would have been. */
function withoutUser(asked: Asked): Error {
  const texts = (values: readonly string[]): string =>
    values.length === 0 ? '[]string(nil)' : `[]string{${values.map((value) => JSON.stringify(value)).join(', ')}}`;
  const entries = [...asked.extra].map(([key, values]) => `${JSON.stringify(key)}:${texts(values)}`);
  const extra = entries.length === 0 ? 'map[string][]string(nil)' : `map[string][]string{${entries.join(', ')}}`;
  const shown = `&user.DefaultInfo{Name:"", UID:${JSON.stringify(asked.uid)}, Groups:${texts(asked.groups)}, Extra:${extra}}`;
  return newBadRequest(`requested ${shown} without impersonating a user name`);
}
