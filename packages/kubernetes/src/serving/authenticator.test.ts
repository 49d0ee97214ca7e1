import {
  type AuthorizationAttributes,
  alwaysAllow,
  certificateAuthenticator,
  parseTokenFile,
  tokenAuthenticator,
  unionAuthorizer,
} from '@kapstan/apiserver';
import { authenticate, forbiddenError } from '@kapstan/apiserver/internal';
import { describe, expect, it } from 'vitest';
import { defaultAuthorizer } from '../testing/rbac-fixture.ts';

const users = parseTokenFile(
  't1,alice,1\nt2,bob,2,"dev,ops"\n\n,nobody,3\n"t""3",carol,4,system:masters\n',
  'tokens.csv',
);
const options = { authenticators: [certificateAuthenticator, tokenAuthenticator(users)] };

describe('authentication', () => {
  it.each([
    ['Bearer t1', { name: 'alice', uid: '1', groups: ['system:authenticated'] }],
    ['bearer t2', { name: 'bob', uid: '2', groups: ['dev', 'ops', 'system:authenticated'] }],
    ['Bearer t"3', { name: 'carol', uid: '4', groups: ['system:masters', 'system:authenticated'] }],
    ['Basic YTpi', { name: 'system:anonymous', groups: ['system:unauthenticated'] }],
    ['Bearer ', { name: 'system:anonymous', groups: ['system:unauthenticated'] }],
    ['Bearer nonsense', 'invalid'],
  ])('%s', async (authorization, user) => {
    expect(await authenticate({ authorization }, options)).toEqual(user);
  });

  it('takes client certificates, and refuses those it cannot trust', async () => {
    const certificate = { commonName: 'admin', organizations: ['system:masters'], sha256: 'ab' };
    expect(await authenticate({ certificate }, options)).toEqual({
      name: 'admin',
      groups: ['system:masters', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': ['X509SHA256=ab'] },
    });
    const withUids = (...uids: string[]) => authenticate({ certificate: { ...certificate, uids } }, options);
    expect(await withUids('u1')).toMatchObject({ uid: 'u1' });
    for (const uids of [['u1', 'u2'], ['']]) expect(await withUids(...uids)).toBe('invalid');
    expect(await authenticate({ certificateError: 'unknown authority' }, options)).toBe('invalid');
    expect(await authenticate({ certificateError: 'x', authorization: 'Bearer t1' }, options)).toMatchObject({
      name: 'alice',
    });
  });

  it('lets nobody in without credentials when anonymous is off', async () => {
    expect(await authenticate({}, { ...options, anonymous: false })).toBe('none');
  });

  it('refuses token files with too few columns', () => {
    expect(() => parseTokenFile('a,b', 'tokens.csv')).toThrow(
      "token file 'tokens.csv' must have at least 3 columns (token, user name, user uid), found 2",
    );
    expect(() => parseTokenFile('a"b,c,d', 'tokens.csv')).toThrow('bare "');
  });
});

describe('the default roles', () => {
  const masters = { name: 'm', groups: ['system:masters', 'system:authenticated'] };
  const alice = { name: 'alice', groups: ['system:authenticated'] };
  const nobody = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
  const path = (user: typeof alice, p: string, verb = 'get'): AuthorizationAttributes => ({
    type: 'path',
    user,
    verb,
    path: p,
  });
  const resource = (user: typeof alice, verb: string, name: string, group = ''): AuthorizationAttributes => ({
    type: 'resource',
    user,
    verb,
    group,
    version: 'v1',
    namespace: 'a',
    resource: name,
    subresource: '',
    name: '',
  });
  it.each<[AuthorizationAttributes, boolean]>([
    [resource(masters, 'delete', 'nodes'), true],
    [path(masters, '/metrics'), true],
    [path(alice, '/apis/apps/v1'), true],
    [path(alice, '/openapi/v3'), true],
    [path(alice, '/version'), true],
    [path(alice, '/metrics'), false],
    [path(alice, '/api', 'post'), false],
    [resource(alice, 'list', 'pods'), false],
    [resource(alice, 'create', 'selfsubjectaccessreviews', 'authorization.k8s.io'), true],
    [path(nobody, '/livez'), true],
    [path(nobody, '/api'), false],
    [resource(nobody, 'create', 'selfsubjectaccessreviews', 'authorization.k8s.io'), false],
  ])('%j: %s', async (attributes, isAllowed) => {
    const { decision } = await defaultAuthorizer().authorize(attributes);
    expect(decision).toBe(isAllowed ? 'allow' : 'noOpinion');
  });

  it('is one of several: the first opinion counts', async () => {
    const denies = { authorize: () => ({ decision: 'deny' as const, reason: 'never' }) };
    const union = unionAuthorizer([defaultAuthorizer(), denies, alwaysAllow]);
    expect(await union.authorize(path(masters, '/metrics'))).toMatchObject({ decision: 'allow' });
    expect(await union.authorize(path(alice, '/metrics'))).toEqual({ decision: 'deny', reason: 'never' });
  });

  it('refuses in words that clients know', () => {
    const message = (attributes: AuthorizationAttributes, reason = '') => forbiddenError(attributes, reason).message;
    expect(message(resource(alice, 'list', 'pods'))).toBe(
      'pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "a"',
    );
    expect(message(path(alice, '/metrics'), 'no')).toBe('forbidden: User "alice" cannot get path "/metrics": no');
    expect(forbiddenError(path(alice, '/metrics'), '').details).toEqual({});
  });
});
