import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { isConflict, isNotFound, type UnstructuredObject } from '@kapstan/api';
import type { ResourceStore } from '@kapstan/apiserver';
import { ObjectReader, ResourceCatalog } from '@kapstan/apiserver';
import { refusal, StoreFixture, testContext, testDefinition } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { compactVerify, decodeJwt, importJWK, type JWK } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  generateSigningKey,
  ServiceAccountTokens,
  type ServiceAccountTokensOptions,
} from './service-account-tokens.ts';
import { tokenSubresource } from './token-subresource.ts';

const issuer = 'https://issuer.example';
const signingKey = generateSigningKey();

let fixture: StoreFixture;
let catalog: ResourceCatalog;
let tokens: ServiceAccountTokens;

function openTokens(key: string = signingKey, more: Partial<ServiceAccountTokensOptions> = {}): ServiceAccountTokens {
  const options = { issuer, apiAudiences: ['api'], reader: new ObjectReader(catalog), clock: fixture.clock };
  return new ServiceAccountTokens({ ...options, signingKey: key, ...more });
}

beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
  catalog = new ResourceCatalog();
  const kinds = { serviceaccounts: 'ServiceAccount', pods: 'Pod', secrets: 'Secret', nodes: 'Node' };
  for (const [resource, kind] of Object.entries(kinds)) {
    const changes = { resource, kind, namespaced: resource !== 'nodes' };
    catalog.install({ definition: testDefinition(changes), store: fixture.store(changes) });
  }
  tokens = openTokens();
  await create('serviceaccounts', 'bot');
});
afterEach(() => fixture.close());

function storeOf(resource: string): ResourceStore {
  return catalog.find('', 'v1', resource)?.store as ResourceStore;
}

async function create(resource: string, name: string, spec: unknown = {}): Promise<UnstructuredObject> {
  const object = { apiVersion: 'v1', kind: 'X', metadata: { name }, spec } as UnstructuredObject;
  const context = testContext(resource === 'nodes' ? { namespace: '' } : {});
  return (await storeOf(resource).create(context, object)).object as UnstructuredObject;
}

const remove = (resource: string, name: string): Promise<unknown> =>
  storeOf(resource).delete(testContext(resource === 'nodes' ? { namespace: '' } : {}), name, { gracePeriodSeconds: 0 });

interface Answer extends UnstructuredObject {
  status: { token: string; expirationTimestamp: string };
}

async function request(spec: unknown = {}, metadata: UnstructuredObject['metadata'] = {}): Promise<Answer> {
  const { clock } = fixture;
  const ports = {
    tokens,
    clock,
    findStore: (group: string, version: string, resource: string) => catalog.find(group, version, resource)?.store,
  };
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata, spec } as UnstructuredObject;
  const call = { name: 'bot', body, validate: async () => undefined };
  return (await tokenSubresource(ports).create?.(storeOf('serviceaccounts') as never, testContext(), call)) as Answer;
}

const bindTo = (kind: string, name: string, uid?: string): unknown => ({
  boundObjectRef: { apiVersion: 'v1', kind, name, ...(uid === undefined ? {} : { uid }) },
});

async function reasonAgainst(token: string, audiences: readonly string[] = ['api']): Promise<string> {
  const result = await tokens.authenticateToken(token, audiences);
  return result.type === 'refused' ? result.error : result.type;
}

describe('a token of a service account', () => {
  it('is answered with the account, its audiences and its end', async () => {
    const answer = await request();
    const account = (await storeOf('serviceaccounts').get(testContext(), 'bot')).object;
    expect(answer.metadata).toMatchObject({ name: 'bot', namespace: 'default', uid: account.metadata?.uid });
    expect(answer.spec).toEqual({ audiences: ['api'], expirationSeconds: 3600, boundObjectRef: null });
    expect(Date.parse(answer.status.expirationTimestamp)).toBe(Math.floor(fixture.clock.now() / 1000 + 3600) * 1000);
  });

  it('carries what Kubernetes puts into it, signed with the published key', async () => {
    const { status } = await request({ audiences: ['a', 'b'], expirationSeconds: 600 });
    const now = Math.floor(fixture.clock.now() / 1000);
    const uid = expect.any(String);
    expect(decodeJwt(status.token)).toEqual({
      aud: ['a', 'b'],
      exp: now + 600,
      iat: now,
      nbf: now,
      iss: issuer,
      jti: expect.any(String),
      'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'bot', uid } },
      sub: 'system:serviceaccount:default:bot',
    });
    const { keys } = tokens.keySet() as { keys: JWK[] };
    const key = await importJWK(keys[0] as JWK);
    expect((await compactVerify(status.token, key)).protectedHeader).toEqual({ alg: 'ES256', kid: keys[0]?.kid });
    expect(tokens.configuration('https://h:1')).toMatchObject({ issuer, jwks_uri: 'https://h:1/openid/v1/jwks' });
  });

  it('lets its account in, again after a restart with the same key', async () => {
    const { status } = await request();
    tokens = openTokens();
    const result = await tokens.authenticateToken(status.token, ['other', 'api']);
    expect(result).toMatchObject({
      type: 'accepted',
      audiences: ['api'],
      user: {
        name: 'system:serviceaccount:default:bot',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:default'],
        extra: { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^JTI=/)] },
      },
    });
    expect(await tokens.authenticateToken(status.token, ['api'])).toEqual(result);
  });

  it.each<[string, (token: string) => string, string]>([
    ['another text', () => 'nonsense', 'unknown'],
    ['three parts that are no token', () => 'a.b.c', 'unknown'],
    [
      'a token with another signature',
      (token) => `${token.slice(0, -8)}AAAAAAAA`,
      'the signature of the token is not valid',
    ],
  ])('is not %s', async (_name, change, expected) => {
    expect(await reasonAgainst(change((await request()).status.token))).toBe(expected);
  });

  it('is not one that another key signed', async () => {
    const { status } = await request();
    tokens = openTokens(generateSigningKey());
    expect(await reasonAgainst(status.token)).toBe('the signature of the token is not valid');
  });

  it('is good for its audiences alone', async () => {
    const { status } = await request({ audiences: ['x'] });
    const text = 'token audiences ["x"] is invalid for the target audiences ["api" "y"]';
    expect(await reasonAgainst(status.token, ['api', 'y'])).toBe(text);
    expect(await reasonAgainst(status.token, ['x'])).toBe('accepted');
  });

  it('ends in time, with a minute for clocks that differ', async () => {
    const { status } = await request({ expirationSeconds: 600 });
    await fixture.clock.advance(655_000);
    expect(await reasonAgainst(status.token)).toBe('accepted');
    await fixture.clock.advance(10_000);
    expect(await reasonAgainst(status.token)).toBe('service account token has expired');
  });

  it('ends with its account, also when there is a new one of that name', async () => {
    const { status } = await request();
    await remove('serviceaccounts', 'bot');
    expect(await reasonAgainst(status.token)).toBe('serviceaccounts "bot" not found');
    await create('serviceaccounts', 'bot');
    expect(await reasonAgainst(status.token)).toMatch(/^service account UID \(.+\) does not match claim \(.+\)$/);
  });

  it.each([
    ['Pod', 'pods', { serviceAccountName: 'bot' }],
    ['Secret', 'secrets', {}],
    ['Node', 'nodes', {}],
  ])('ends with the %s that it is bound to', async (kind, resource, spec) => {
    await create(resource, 'p', spec);
    const { status } = await request(bindTo(kind, 'p'));
    expect(await reasonAgainst(status.token)).toBe('accepted');
    await remove(resource, 'p');
    expect(await reasonAgainst(status.token)).toBe('service account token has been invalidated');
    await create(resource, 'p', spec);
    expect(await reasonAgainst(status.token)).toMatch(new RegExp(`^${kind.toLowerCase()} UID .* ref claim`));
  });

  it('tells the pod and its node, and lives for a year when a pod mounts it', async () => {
    await create('nodes', 'n');
    await create('pods', 'p', { serviceAccountName: 'bot', nodeName: 'n' });
    const { status, spec } = await request({ ...(bindTo('Pod', 'p') as object), expirationSeconds: 3607 });
    const {
      exp = 0,
      iat = 0,
      'kubernetes.io': claims,
    } = decodeJwt<{ 'kubernetes.io': { warnafter: number } }>(status.token);
    expect([exp - iat, claims.warnafter - iat]).toEqual([365 * 86_400, 3607]);
    expect(spec).toMatchObject({ expirationSeconds: 3607 });
    expect(await tokens.authenticateToken(status.token, ['api'])).toMatchObject({
      user: {
        extra: {
          'authentication.kubernetes.io/pod-name': ['p'],
          'authentication.kubernetes.io/pod-uid': [expect.any(String)],
          'authentication.kubernetes.io/node-name': ['n'],
          'authentication.kubernetes.io/node-uid': [expect.any(String)],
        },
      },
    });
  });

  it('names a node that is gone without its uid', async () => {
    await create('pods', 'p', { serviceAccountName: 'bot', nodeName: 'gone' });
    const { status } = await request(bindTo('Pod', 'p'));
    expect(decodeJwt(status.token)['kubernetes.io']).toMatchObject({ node: { name: 'gone', uid: '' } });
  });
});

describe('a request for a token', () => {
  it.each<[string, unknown, UnstructuredObject['metadata'], string]>([
    [
      'too short',
      { expirationSeconds: 60 },
      {},
      'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes',
    ],
    ['too long', { expirationSeconds: 2 ** 32 + 1 }, {}, 'may not specify a duration larger than 2^32 seconds'],
    [
      'for another account',
      {},
      { name: 'x' },
      'metadata.name: Invalid value: "x": must match the service account name',
    ],
    [
      'for another namespace',
      {},
      { namespace: 'x' },
      'metadata.namespace: Invalid value: "x": must match the service account namespace',
    ],
    [
      'bound to something else',
      bindTo('ConfigMap', 'c'),
      {},
      'cannot bind token to object of type /v1, Kind=ConfigMap',
    ],
    ['bound to nothing known', { boundObjectRef: { apiVersion: 'a/b/c', kind: 'Pod' } }, {}, 'cannot bind token to'],
  ])('%s is refused', async (_name, spec, metadata, text) => {
    expect((await refusal(request(spec, metadata))).message).toContain(text);
  });

  it('is refused for a pod of another account, a missing one, and another one of that name', async () => {
    await create('pods', 'other', { serviceAccountName: 'x' });
    await create('pods', 'p', { serviceAccountName: 'bot' });
    expect((await refusal(request(bindTo('Pod', 'other')))).message).toBe(
      'cannot bind token for serviceaccount "bot" to pod running with different serviceaccount name.',
    );
    expect(isNotFound(await refusal(request(bindTo('Pod', 'none'))))).toBe(true);
    expect(isConflict(await refusal(request(bindTo('Pod', 'p', 'another-uid'))))).toBe(true);
  });

  const rsa = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength });
  const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve });
  const privatePem = ({ privateKey }: { privateKey: KeyObject }, type: 'pkcs8' | 'pkcs1' | 'sec1' = 'pkcs8'): string =>
    privateKey.export({ type, format: 'pem' } as never) as unknown as string;
  const publicPem = ({ publicKey }: { publicKey: KeyObject }): string =>
    publicKey.export({ type: 'spki', format: 'pem' }) as string;

  it.each([
    ['RS256', () => privatePem(rsa(2048), 'pkcs1')],
    ['ES256', () => privatePem(ec('P-256'), 'sec1')],
    ['ES384', () => privatePem(ec('P-384'))],
    ['ES512', () => privatePem(ec('P-521'))],
  ])('is signed with %s by a key of that kind, which is published', async (alg, key) => {
    tokens = openTokens(key());
    const { token } = (await request()).status;
    expect(await tokens.authenticateToken(token, ['api'])).toMatchObject({ type: 'accepted' });
    const { keys } = tokens.keySet() as { keys: JWK[] };
    expect(keys).toMatchObject([{ use: 'sig', alg, kid: expect.any(String) }]);
    const { protectedHeader } = await compactVerify(token, await importJWK(keys[0] as JWK));
    expect(protectedHeader).toEqual({ alg, kid: keys[0]?.kid });
    expect(tokens.configuration('')).toMatchObject({ id_token_signing_alg_values_supported: [alg] });
  });

  it('lets accounts in that another server named, whose public key is known here', async () => {
    const { token } = (await request()).status;
    const [own, stranger] = [ec('P-384'), rsa(2048)];
    const verificationKeys = [`${publicPem(stranger)}\n${signingKey}`];
    tokens = openTokens(privatePem(own), { verificationKeys });
    expect(await tokens.authenticateToken(token, ['api'])).toMatchObject({ type: 'accepted' });
    expect(await reasonAgainst((await request()).status.token)).toBe('accepted');
    const { keys } = tokens.keySet() as { keys: JWK[] };
    expect(keys.map(({ alg }) => alg)).toEqual(['ES384', 'RS256', 'ES256']);
    const algorithms = ['ES256', 'ES384', 'RS256'];
    expect(tokens.configuration('')).toMatchObject({ id_token_signing_alg_values_supported: algorithms });
  });

  it('counts when one of the other issuers made it, and not when a third did', async () => {
    const { token } = (await request()).status;
    tokens = openTokens(signingKey, { issuer: 'https://new', otherIssuers: ['https://x', issuer] });
    expect(await tokens.authenticateToken(token, ['api'])).toMatchObject({ type: 'accepted' });
    tokens = openTokens(signingKey, { issuer: 'https://new', otherIssuers: ['https://x'] });
    expect(await reasonAgainst(token)).toBe('unknown');
  });

  it.each([
    ['no key', 'no key', undefined],
    ['an Edwards curve', () => privatePem(generateKeyPairSync('ed25519') as never), 'must be RSA, or ECDSA'],
    ['another curve', () => privatePem(ec('secp256k1')), 'must be RSA, or ECDSA'],
    ['too few bits', () => privatePem(rsa(1024)), 'at least 2048 bits'],
  ])('needs a key that can sign: not %s', (_what, key, message) => {
    const pem = typeof key === 'string' ? key : key();
    expect(() => openTokens(pem)).toThrow(TypeError);
    if (message !== undefined) expect(() => openTokens(pem)).toThrow(message);
  });

  it('needs a key in each text of keys', () => {
    const message = 'data does not contain any valid RSA or ECDSA public keys';
    expect(() => openTokens(signingKey, { verificationKeys: ['nothing'] })).toThrow(message);
  });
});
