import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, request, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type LogFields, silentLogger } from '@kapstan/api';
import { nextTurn } from '@kapstan/api/internal';
import { VirtualClock } from '@kapstan/api/testing';
import { type IssuerKey, issuerKey, selfSigned, signedToken, TestIssuer } from '@kapstan/apiserver/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane, ControlPlaneOptions } from '../options/control-plane-options.ts';
import { OutsideIdentity } from './outside-identity.ts';

const audience = 'https://kubernetes.default.svc.cluster.local';

let directory: string;
let issuer: TestIssuer;
let key: IssuerKey;
let plane: ControlPlane | undefined;
let logged: string[];
const closers: (() => void | Promise<void>)[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kapstan-outside-'));
  issuer = await TestIssuer.start();
  key = await issuerKey('k');
  issuer.keys = [key];
  logged = [];
});
afterEach(async () => {
  await plane?.close();
  plane = undefined;
  for (const close of closers.splice(0)) await close();
  await issuer.close();
  await rm(directory, { recursive: true });
});

const log = (message: string, fields?: LogFields): void =>
  void logged.push(`${message} ${JSON.stringify(fields ?? {})}`);
const logger = { ...silentLogger, debug: log, info: log, warn: log, error: log };
const file = (): string => join(directory, 'authn.json');

function jwt(more: object = {}): object {
  return {
    issuer: { url: issuer.url, audiences: ['kapstan'], certificateAuthority: issuer.ca },
    claimMappings: { username: { claim: 'sub', prefix: 'out:' }, groups: { claim: 'groups', prefix: 'out:' } },
    ...more,
  };
}

function configure(more: object): Promise<void> {
  const head = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthenticationConfiguration' };
  return writeFile(file(), JSON.stringify({ ...head, ...more }));
}

async function start(options: Partial<ControlPlaneOptions>): Promise<ControlPlane> {
  plane = await startControlPlane({ dataDir: join(directory, 'data'), logger, ...options });
  return plane;
}

interface Answer {
  readonly code: number | undefined;
  readonly body: string;
}

async function call(path: string, token?: string, body?: object): Promise<Answer> {
  const { url, caCert } = plane as ControlPlane;
  const headers = { ...(token && { authorization: `Bearer ${token}` }), 'content-type': 'application/json' };
  const asked = request(`${url}${path}`, { ca: caCert, headers, agent: false, method: body ? 'POST' : 'GET' });
  asked.end(body && JSON.stringify(body));
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  return { code: answer.statusCode, body: await text(answer) };
}

async function review(token: string, audiences?: readonly string[]): Promise<unknown> {
  const spec = { token, audiences };
  const object = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec };
  const answer = await call('/apis/authentication.k8s.io/v1/tokenreviews', plane?.token, object);
  return (JSON.parse(answer.body) as { readonly status?: unknown }).status;
}

function token(claims: object = {}): Promise<string> {
  return signedToken({ iss: issuer.url, aud: 'kapstan', sub: 'jane', exp: 4_102_444_800, ...claims }, key);
}

/** Asks until the issuer has published its keys. */
async function whenKnown(known: string): Promise<void> {
  while (JSON.stringify(await review(known)).includes('not initialized')) await nextTurn();
}

const isUnauthorized = { code: 401, body: expect.stringContaining('"message":"Unauthorized"') };

describe('a control plane whose users come from an issuer', () => {
  it('serves them, reviews their tokens, and tells them who they are', async () => {
    await configure({ jwt: [jwt()] });
    await start({ outsideIdentity: { configFile: file() } });
    const jane = await token({ groups: ['dev'], jti: 'j1' });
    await whenKnown(jane);
    const user = {
      username: 'out:jane',
      groups: ['out:dev', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': ['JTI=j1'] },
    };
    expect(await review(jane)).toEqual({ authenticated: true, user, audiences: [audience] });
    expect(await review(jane, ['other'])).toEqual({ user: {}, error: 'invalid bearer token' });
    const self = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const told = await call('/apis/authentication.k8s.io/v1/selfsubjectreviews', jane, self);
    expect(JSON.parse(told.body)).toMatchObject({ status: { userInfo: user } });
    expect((await call('/api/v1/namespaces', jane)).body).toContain('User \\"out:jane\\" cannot list resource');
  });

  it('answers other tokens with 401, says why in reviews, and never shows a token', async () => {
    await configure({ jwt: [jwt()] });
    await start({ outsideIdentity: { configFile: file() } });
    const expired = await token({ exp: 1_000_000_000 });
    await whenKnown(expired);
    expect(await call('/api', expired)).toEqual(isUnauthorized);
    expect(await review(expired)).toEqual({
      user: {},
      error:
        '[invalid bearer token, oidc: verify token: oidc: token is expired (Token Expiry: 2001-09-09 01:46:40 +0000 UTC)]',
    });
    const broken = `${expired.slice(0, -4)}AAAA`;
    expect(await call('/api', broken)).toEqual(isUnauthorized);
    expect(await call('/api', 'a.b.c')).toEqual(isUnauthorized);
    const shown = `${logged.join('\n')}${(await call('/metrics', plane?.token)).body}`;
    for (const secret of [expired, broken, expired.split('.')[2] ?? '']) expect(shown).not.toContain(secret);
    expect(shown).toContain('apiserver_authentication_jwt_authenticator_latency_seconds_count');
    expect(shown).toContain('authentication_token_cache_request_total{status="miss"}');
    expect(shown).toContain('apiserver_authentication_config_controller_last_config_info{apiserver_id_hash="sha256:');
  });

  it('accepts the flags of one issuer, whose names get its URL', async () => {
    const oidc = { issuerUrl: issuer.url, clientId: 'kapstan', ca: issuer.ca, signingAlgorithms: ['ES256'] };
    await start({
      outsideIdentity: { oidc: { ...oidc, groupsClaim: 'groups', requiredClaims: new Map([['hd', 'x']]) } },
    });
    const jane = await token({ groups: 'dev', hd: 'x' });
    await whenKnown(jane);
    expect(await review(jane)).toMatchObject({
      user: { username: `${issuer.url}#jane`, groups: ['dev', 'system:authenticated'] },
    });
    expect(await review(await token())).toMatchObject({
      error: '[invalid bearer token, oidc: required claim hd not present in ID token]',
    });
  });

  it('serves anonymous requests only at the paths of the file', async () => {
    await configure({ anonymous: { enabled: true, conditions: [{ path: '/healthz' }, { path: '/livez' }] } });
    await start({ outsideIdentity: { configFile: file() } });
    const codes = [];
    for (const path of ['/healthz', '/livez', '/version', '/healthz/', '/healthz?x=1'])
      codes.push((await call(path)).code);
    expect(codes).toEqual([200, 200, 401, 401, 200]);
  });

  it('serves no anonymous requests where the file says so', async () => {
    await configure({ anonymous: { enabled: false } });
    await start({ outsideIdentity: { configFile: file() } });
    expect((await call('/healthz')).code).toBe(401);
  });

  it.each([
    [
      { jwt: [{}] },
      {},
      'invalid authentication configuration: [jwt[0].issuer.url: Required value, jwt[0].issuer.audiences: ',
    ],
    [
      { jwt: 5 },
      {},
      'json: cannot unmarshal number into Go struct field AuthenticationConfiguration.jwt of type []v1.JWTAuthenticator',
    ],
    [{ anonymous: {} }, { isAnonymousDecided: true }, 'anonymous: Forbidden: --anonymous-auth flag cannot be set when'],
    [
      { jwt: [{ ...jwtOf('https://kubernetes.default.svc.cluster.local') }] },
      {},
      'URL must not overlap with disallowed issuers: [https://kubernetes.default.svc.cluster.local]',
    ],
    [
      { jwt: [{ ...jwtOf('https://a', { egressSelectorType: 'cluster' }) }] },
      {},
      'oidc: egress lookup required with egress selector type "cluster"',
    ],
  ])('does not start with %j', async (configuration, options, message) => {
    await configure(configuration);
    const starting = start({ outsideIdentity: { configFile: file(), ...options } });
    await expect(starting).rejects.toThrow('outsideIdentity.configFile: ');
    await expect(starting).rejects.toThrow(message);
  });

  it('does not start where both the flag and the file say who may be anonymous', async () => {
    await configure({ anonymous: { enabled: true } });
    await expect(start({ outsideIdentity: { configFile: file(), isAnonymousDecided: true } })).rejects.toThrow(
      'anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured',
    );
  });

  it('does not start with an algorithm that is none', async () => {
    const oidc = { issuerUrl: 'https://a', clientId: 'c', signingAlgorithms: ['HS256'] };
    await expect(start({ outsideIdentity: { oidc } })).rejects.toThrow(
      'outsideIdentity.oidc: oidc: unsupported signing alg: "HS256"',
    );
  });
});

function jwtOf(url: string, more: object = {}): object {
  const issuerOf = { url, audiences: ['a'], ...more };
  return { issuer: issuerOf, claimMappings: { username: { claim: 'sub', prefix: '' } } };
}

describe('the configuration file', () => {
  async function open(clock: VirtualClock): Promise<OutsideIdentity> {
    const ports = { ownIssuers: [], apiAudiences: ['api'], serverId: 's', clock, logger };
    const opened = await OutsideIdentity.open({ configFile: file() }, ports);
    closers.push(() => opened.close());
    return opened;
  }
  const answer = async (opened: OutsideIdentity, text: string): Promise<string> => {
    const [first] = opened.authenticators;
    const result = await first?.authenticateToken(text, ['api']);
    return result?.type === 'accepted' ? result.user.name : (result?.type ?? '');
  };
  /** Waits while the file is read and the sockets deliver. */
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await nextTurn();
  };
  const metric = (opened: OutsideIdentity, status: string): boolean =>
    new RegExp(`automatic_reloads_total\\{apiserver_id_hash="sha256:[0-9a-f]+",status="${status}"\\} 1`).test(
      opened.metrics(),
    );

  it('counts as soon as it is changed and its issuers answer; answers from before are forgotten', async () => {
    const clock = new VirtualClock();
    await configure({ jwt: [] });
    const opened = await open(clock);
    const jane = await token();
    expect(await answer(opened, jane)).toBe('unknown');
    await configure({ jwt: [jwt()] });
    await clock.advance(60_000);
    await until(() => metric(opened, 'success'));
    await clock.advance(59_000);
    expect(await answer(opened, jane)).toBe('out:jane');
    await configure({ jwt: [] });
    await clock.advance(1_000);
    await until(() =>
      opened
        .metrics()
        .includes(
          'apiserver_id_hash="sha256:043a718774c572bd8a25adbeb1bfcd5c0256ae11cecf9f9c3f925d0e52beaf89",status="success"} 2',
        ),
    );
    expect(await answer(opened, jane)).toBe('unknown');
  });

  it.each([
    ['that is none', async () => writeFile(file(), 'hello'), 'json parse error'],
    ['with faults', () => configure({ jwt: [{}] }), 'jwt[0].issuer.url: Required value'],
    ['that is gone', () => rm(file()), 'ENOENT'],
    [
      'that says who is anonymous',
      () => configure({ anonymous: { enabled: true } }),
      'changed from initial configuration file',
    ],
  ])('%s is logged and counted, and the old one goes on', async (_what, change, message) => {
    const clock = new VirtualClock();
    await configure({ jwt: [jwt()] });
    const opened = await open(clock);
    await until(() => issuer.requests.length > 0);
    const jane = await token();
    while ((await answer(opened, jane)) !== 'out:jane') await nextTurn();
    await change();
    await clock.advance(60_000);
    await until(() => metric(opened, 'failure'));
    expect(logged.at(-1)).toContain('could not reload the authentication configuration; the old one stays in use');
    expect(logged.at(-1)).toContain(JSON.stringify(message).slice(1, -1));
    expect(await answer(opened, jane)).toBe('out:jane');
  });
});

describe('a control plane that asks a webhook about tokens', () => {
  let hook: Server;
  let asked: { readonly spec: { readonly token: string } }[];
  let authorizations: (string | undefined)[];
  const kubeconfig = (): string => join(directory, 'webhook.yaml');

  beforeEach(async () => {
    const { cert, key: privateKey } = await selfSigned('CN=hook');
    asked = [];
    authorizations = [];
    hook = createServer({ cert, key: privateKey }, async (incoming: IncomingMessage, response: ServerResponse) => {
      const question = JSON.parse(await text(incoming)) as (typeof asked)[number];
      asked.push(question);
      authorizations.push(incoming.headers.authorization);
      const authenticated = question.spec.token === 'good';
      const status = {
        authenticated,
        ...(authenticated && { user: { username: 'alice', groups: ['system:masters'] } }),
      };
      response.end(JSON.stringify({ ...question, status }));
    });
    hook.listen(0, '127.0.0.1');
    await once(hook, 'listening');
    closers.push(() => {
      hook.closeAllConnections();
      hook.close();
    });
    await kube({
      cluster: { 'certificate-authority-data': Buffer.from(cert).toString('base64') },
      user: { token: 'own-secret' },
    });
  });

  function kube({ cluster, user }: { readonly cluster: object; readonly user: object }): Promise<void> {
    const server = `https://127.0.0.1:${(hook.address() as AddressInfo).port}/authn/`;
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server, ...cluster } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    return writeFile(kubeconfig(), JSON.stringify(config));
  }

  it('serves whom it knows, asks once for many requests, and asks nothing about tokens of the server itself', async () => {
    await start({ outsideIdentity: { tokenWebhook: { kubeconfig: kubeconfig(), version: 'v1' } } });
    const answers = await Promise.all(Array.from({ length: 10 }, () => call('/api/v1/namespaces/default', 'good')));
    expect(new Set(answers.map(({ code }) => code))).toEqual(new Set([200]));
    expect((await call('/api/v1/namespaces/default', plane?.token)).code).toBe(200);
    expect(asked).toHaveLength(1);
    expect(authorizations).toEqual(['Bearer own-secret']);
    expect(await review('good')).toEqual({
      authenticated: true,
      user: { username: 'alice', groups: ['system:masters', 'system:authenticated'] },
      audiences: [audience],
    });
    expect(await call('/api', 'bad')).toEqual(isUnauthorized);
    expect(await call('/api', 'bad')).toEqual(isUnauthorized);
    expect(asked).toHaveLength(2);
    const shown = `${logged.join('\n')}${(await call('/metrics', plane?.token)).body}`;
    expect(shown).not.toContain('own-secret');
    expect(shown).toContain('authentication_token_cache_fetch_total{status="ok"} 2');
  });

  it.each([
    [
      { user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'x', interactiveMode: 'Never' } } },
      'an exec plug-in in the kubeconfig of a token webhook is not supported',
    ],
    [{ cluster: { 'proxy-url': 'http://p' } }, 'a proxy-url in the kubeconfig of a token webhook is not supported'],
    [
      { cluster: { server: 'http://a' } },
      'a server without https in the kubeconfig of a token webhook is not supported',
    ],
  ])('does not start with %j', async (parts, message) => {
    await kube({ cluster: {}, user: {}, ...parts });
    await expect(start({ outsideIdentity: { tokenWebhook: { kubeconfig: kubeconfig() } } })).rejects.toThrow(
      `outsideIdentity.tokenWebhook: ${message}`,
    );
  });

  it('does not start with another version, or without the file', async () => {
    const settings = { kubeconfig: kubeconfig(), version: 'v2' };
    await expect(start({ outsideIdentity: { tokenWebhook: settings } })).rejects.toThrow(
      'unsupported authentication webhook version "v2", supported versions are "v1", "v1beta1"',
    );
    const none = { kubeconfig: join(directory, 'none') };
    await expect(start({ outsideIdentity: { tokenWebhook: none } })).rejects.toThrow('error loading config file');
  });
});
