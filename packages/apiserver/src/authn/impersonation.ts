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

/** Undefined when nobody is to be impersonated. Throws 400 for groups, uid or extras without a user. */
export function readImpersonation(headers: ImpersonationHeaders, requester: UserInfo): Impersonation | undefined {
  const name = headers.header('impersonate-user') ?? '';
  const groups = headers.headerValues('impersonate-group');
  const uid = headers.header('impersonate-uid') ?? '';
  const extra = readExtra(headers);
  if (name === '') {
    if (groups.length > 0 || uid !== '' || extra.size > 0) throw withoutUser({ groups, uid, extra });
    return undefined;
  }
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name);
  const checks: AuthorizationAttributes[] = [
    account === null
      ? check(requester, { resource: 'users', name })
      : check(requester, { resource: 'serviceaccounts', namespace: account[1] ?? '', name: account[2] ?? '' }),
    ...groups.map((group) => check(requester, { resource: 'groups', name: group })),
  ];
  const authentication = { group: 'authentication.k8s.io', version: 'v1' };
  for (const [key, values] of extra) {
    for (const value of values) {
      checks.push(check(requester, { ...authentication, resource: 'userextras', subresource: key, name: value }));
    }
  }
  if (uid !== '') checks.push(check(requester, { ...authentication, resource: 'uids', name: uid }));
  const accountGroups =
    account !== null && groups.length === 0
      ? ['system:serviceaccounts', `system:serviceaccounts:${account[1] ?? ''}`]
      : groups;
  const user = {
    name,
    groups: accountGroups,
    ...(uid === '' ? {} : { uid }),
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
  return {
    user: name === anonymousUser ? { ...user, groups: [unauthenticatedGroup] } : withAuthenticatedGroup(user),
    checks,
  };
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
function withoutUser(asked: {
  readonly groups: readonly string[];
  readonly uid: string;
  readonly extra: ReadonlyMap<string, readonly string[]>;
}): Error {
  const texts = (values: readonly string[]): string =>
    values.length === 0 ? '[]string(nil)' : `[]string{${values.map((value) => JSON.stringify(value)).join(', ')}}`;
  const entries = [...asked.extra].map(([key, values]) => `${JSON.stringify(key)}:${texts(values)}`);
  const extra = entries.length === 0 ? 'map[string][]string(nil)' : `map[string][]string{${entries.join(', ')}}`;
  const shown = `&user.DefaultInfo{Name:"", UID:${JSON.stringify(asked.uid)}, Groups:${texts(asked.groups)}, Extra:${extra}}`;
  return newBadRequest(`requested ${shown} without impersonating a user name`);
}
