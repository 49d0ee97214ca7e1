import { readFileSync } from 'node:fs';
import { silentLogger, systemClock } from '@kapstan/api';
import { nextTurn } from '@kapstan/api/internal';
import { VirtualClock } from '@kapstan/api/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { longestTurnMs } from '../../testing/longest-turn.ts';
import { type IssuerKey, issuerKey, signedToken, TestIssuer } from '../../testing/token-issuer.ts';
import type { AuthenticationConfiguration, JwtConfiguration } from './authentication-configuration.ts';
import { JwtAuthenticators, type JwtAuthenticatorsOptions } from './jwt-authenticators.ts';

interface Recorded {
  readonly name: string;
  readonly jwt: JwtConfiguration;
  readonly claims?: unknown;
  readonly raw?: string;
  readonly alg?: string;
  readonly kid?: string;
  readonly otherKey?: boolean;
  readonly algs?: readonly string[];
  readonly configurationError?: string;
  readonly user?: unknown;
  readonly error?: string;
}

const fixture = new URL('../../../fixtures/issued-tokens.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(fixture, 'utf8')) as { readonly cases: readonly Recorded[] };

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function opened(
  configuration: AuthenticationConfiguration,
  options: Partial<JwtAuthenticatorsOptions> = {},
): Promise<JwtAuthenticators> {
  const ports = { disallowedIssuers: [], apiAudiences: ['api'], clock: systemClock, logger: silentLogger };
  const made = await JwtAuthenticators.open(configuration, { ...ports, ...options });
  closers.push(() => made.close());
  return made;
}

/** Resolves when all issuers can be used. */
async function ready(configuration: AuthenticationConfiguration, options: Partial<JwtAuthenticatorsOptions> = {}) {
  const made = await opened({}, options);
  await made.replace(configuration, 10_000);
  return made;
}

async function answer(authenticators: JwtAuthenticators, token: string): Promise<unknown> {
  const result = await authenticators.authenticateToken(token, ['api']);
  if (result.type === 'accepted') return result.user;
  return result.type === 'refused' ? result.error.replaceAll(/:\d{4,5}(?=[:/"])/g, ':PORT') : 'unknown';
}

/** Cases in which we differ from kube-apiserver, each with its reason. */
const ours: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  // Its claims are not a map for these operations, so that such rules always fail; inside a claim it looks up only the name.
  ['rule: in', { name: 'jane', groups: [] }],
  ['rule: not in', { name: 'jane', groups: [] }],
  ['rule: in escaped', { name: 'jane', groups: [] }],
  ['rule: nested in escaped', { name: 'jane', groups: [] }],
  ['rule: size', { name: 'jane', groups: [] }],
  ['rule: claims.size', { name: 'jane', groups: [] }],
  ['rule: type of claims', { name: 'jane', groups: [] }],
  // Our implementation cannot read lists made by functions of texts.
  ['groups expression: split', { name: 'jane', groups: ['a', 'b'] }],
  // kube-apiserver's decoder accepts names in any case.
  ['issuer case', 'unknown'],
  ['raw: bad header', 'oidc: verify token: oidc: malformed jwt: the header is no JSON object'],
  ['raw: no header', 'oidc: verify token: oidc: malformed jwt: the header is no JSON object'],
]);

it.each([
  ['compiles', "claims.c == 'x", undefined],
  ['refuses', "unknown.name == 'x", /undeclared reference to 'unknown'/],
])('%s 9,000 rules of one issuer in short turns', { timeout: 60_000 }, async (_what, expression, error) => {
  const claimValidationRules = Array.from({ length: 9_000 }, (_, index) => ({ expression: `${expression}${index}'` }));
  const username = { claim: 'sub', prefix: '' };
  const issuer = { url: 'https://127.0.0.1:1', audiences: ['a'] };
  const authenticators = await opened({});
  let refusal: unknown;
  const longest = await longestTurnMs(async () => {
    const jwt = [{ issuer, claimMappings: { username }, claimValidationRules }];
    await authenticators.replace({ jwt }, 1).catch((reason: Error) => {
      refusal = reason.message;
    });
  });
  // Nobody answers for the issuer, so the rules without a fault are refused for that alone.
  expect(refusal).toMatch(error ?? /is not healthy/);
  expect(longest).toBeLessThan(50);
});

describe('tokens that kube-apiserver was shown', () => {
  let issuer: TestIssuer;
  const keys = new Map<string, IssuerKey>();
  let stranger: IssuerKey;

  beforeAll(async () => {
    issuer = await TestIssuer.start();
    const rsa = await issuerKey('rsa', 'RS256');
    for (const alg of ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']) {
      keys.set(alg, alg === 'RS256' ? rsa : await issuerKey(`rsa ${alg}`, alg));
    }
    for (const alg of ['ES256', 'ES384', 'ES512']) keys.set(alg, await issuerKey(alg, alg));
    stranger = await issuerKey('rsa', 'RS256');
    issuer.keys = [...keys.values()];
    // RSA keys take seconds on a busy machine.
  }, 60_000);
  afterAll(() => issuer.close());

  async function tokenOf({ raw, claims, alg = 'RS256', kid, otherKey }: Recorded): Promise<string> {
    if (raw !== undefined) return raw;
    const key = otherKey === true ? stranger : keys.get(alg);
    if (key !== undefined) return signedToken(claims, { ...key, kid: kid ?? key.kid });
    const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    return `${part({ alg, kid: 'rsa' })}.${part(claims)}.AAAA`;
  }

  it.each(cases.map((recorded) => [recorded.name, recorded] as const))(
    'get the same answer: %s',
    async (name, recorded) => {
      const { jwt, user, error = '', algs, configurationError } = recorded;
      const { url = '' } = jwt.issuer ?? {};
      const discoveryURL = `${issuer.url}/of/${encodeURIComponent(url)}`;
      const local = { ...jwt, issuer: { ...jwt.issuer, discoveryURL, certificateAuthority: issuer.ca } };
      const opening = ready({ jwt: [local] }, { algorithms: algs });
      if (configurationError !== undefined) return expect(opening).rejects.toThrow(configurationError);
      const expected = ours.get(name) ?? user ?? (error === '' ? 'unknown' : error);
      const got = await answer(await opening, await tokenOf(recorded));
      // One of the texts contains the present time.
      if (name === 'nbf future')
        return expect(got).toContain('before the nbf (not before) time: 2096-10-02 07:06:40 +0000 UTC');
      expect(got).toEqual(expected);
    },
  );
});

describe('an issuer', () => {
  let issuer: TestIssuer;
  let first: IssuerKey;
  beforeEach(async () => {
    issuer = await TestIssuer.start();
    first = await issuerKey('first');
    issuer.keys = [first];
  });
  afterEach(() => issuer.close());

  const claims = (more: object = {}) => ({ iss: issuer.url, aud: 'kapstan', sub: 'jane', exp: 4_102_444_800, ...more });
  const of = (url: string, more: Partial<JwtConfiguration> = {}): JwtConfiguration => ({
    issuer: { url, audiences: ['kapstan'], certificateAuthority: issuer.ca },
    claimMappings: { username: { claim: 'sub', prefix: '' } },
    ...more,
  });
  const only = (): AuthenticationConfiguration => ({ jwt: [of(issuer.url)] });
  const jane = { name: 'jane', groups: [] };
  const fetches = (): number => issuer.requests.filter((path) => path === '/keys').length;

  it('may change its keys: the keys are fetched again for a token that names an unknown one', async () => {
    const clock = new VirtualClock();
    const authenticators = await ready(only(), { clock });
    expect(await answer(authenticators, await signedToken(claims(), first))).toEqual(jane);
    expect(await answer(authenticators, await signedToken(claims(), first))).toEqual(jane);
    expect(fetches()).toBe(1);
    const second = await issuerKey('second');
    issuer.keys = [second];
    const token = await signedToken(claims(), second);
    await clock.advance(1_000);
    expect(await Promise.all([answer(authenticators, token), answer(authenticators, token)])).toEqual([jane, jane]);
    expect(fetches()).toBe(2);
    const old = await signedToken(claims(), first);
    await clock.advance(1_000);
    expect(await answer(authenticators, old)).toContain('failed to verify id token signature');
  });

  it('is asked for keys once a second at most, however many tokens name keys that it has not', async () => {
    const clock = new VirtualClock();
    const authenticators = await ready(only(), { clock });
    await answer(authenticators, await signedToken(claims(), first));
    const made = await issuerKey('first');
    const tokens = await Promise.all(
      Array.from({ length: 50 }, (_, index) => signedToken(claims(), { ...made, kid: `made up ${index}` })),
    );
    const answers = tokens.map((token) => answer(authenticators, token));
    const known = await signedToken(claims(), first);
    expect(await answer(authenticators, known)).toEqual(jane);
    expect(fetches()).toBe(1);
    await clock.advance(1_000);
    expect(new Set(await Promise.all(answers)).size).toBe(1);
    expect(fetches()).toBe(2);
  });

  it('may say how long its keys are good for, and is not asked again before', async () => {
    issuer.keyHeaders = { 'cache-control': 'public, max-age=3600' };
    const clock = new VirtualClock();
    const authenticators = await ready(only(), { clock });
    await answer(authenticators, await signedToken(claims(), first));
    const second = await issuerKey('second');
    issuer.keys = [second];
    const token = await signedToken(claims(), second);
    await clock.advance(60_000);
    expect(await answer(authenticators, token)).toContain('failed to verify id token signature');
    expect(fetches()).toBe(1);
    await clock.advance(3_600_000);
    expect(await answer(authenticators, token)).toEqual(jane);
  });

  it('may be down when the server starts, and is asked again every ten seconds', async () => {
    const clock = new VirtualClock();
    let isDown = true;
    issuer.handle = (_request, response) => {
      if (isDown) response.writeHead(503).end('down');
      return isDown;
    };
    const told: unknown[] = [];
    const logger = { ...silentLogger, error: (_text: string, fields?: object) => void told.push(fields) };
    const authenticators = await opened(only(), { clock, logger });
    const token = await signedToken(claims(), first);
    expect(await answer(authenticators, token)).toBe('oidc: authenticator not initialized');
    expect(authenticators.check()?.message).toContain(`authenticator for issuer "${issuer.url}" is not healthy: `);
    await until(() => told.length > 0);
    expect(told).toEqual([{ issuer: issuer.url, error: '503 Service Unavailable: down' }]);
    isDown = false;
    await clock.advance(10_000);
    await until(() => authenticators.check() === undefined);
    expect(await answer(authenticators, token)).toEqual(jane);
  });

  it('that hangs holds no other, and its own tokens are refused after 30 seconds', async () => {
    const clock = new VirtualClock();
    const hanging = await TestIssuer.start();
    hanging.keys = [first];
    const other = of(hanging.url, {
      issuer: { url: hanging.url, audiences: ['kapstan'], certificateAuthority: hanging.ca },
    });
    const authenticators = await ready({ jwt: [other, of(issuer.url)] }, { clock });
    let isAsked = false;
    hanging.handle = () => {
      isAsked = true;
      return true;
    };
    const waiting = answer(authenticators, await signedToken({ ...claims(), iss: hanging.url }, first));
    await until(() => isAsked);
    expect(await answer(authenticators, await signedToken(claims(), first))).toEqual(jane);
    await clock.advance(30_000);
    expect(await waiting).toBe(
      'oidc: verify token: failed to verify signature: fetching keys oidc: get keys failed Get "https://127.0.0.1:PORT/keys": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
    );
    await hanging.close();
  });

  it('is not believed when its certificate is signed by another authority, or its document names another issuer', async () => {
    const other = await TestIssuer.start();
    const clock = new VirtualClock();
    const stranger = {
      ...of(issuer.url),
      issuer: { url: issuer.url, audiences: ['a'], certificateAuthority: other.ca },
    };
    const named = of('https://issuer.example.com', {
      issuer: {
        url: 'https://issuer.example.com',
        discoveryURL: `${issuer.url}/of/x`,
        audiences: ['a'],
        certificateAuthority: issuer.ca,
      },
    });
    const authenticators = await opened({ jwt: [stranger, named] }, { clock });
    const text = (): string => authenticators.check()?.message ?? '';
    await until(() => !text().includes('is not initialized'));
    expect(text()).toContain('tls: failed to verify certificate: x509: certificate signed by unknown authority');
    expect(text()).toContain('expected "https://issuer.example.com" got "x"');
    await other.close();
  });

  it('answers no more than a mebibyte', async () => {
    issuer.handle = (_request, response) => void response.end('x'.repeat(1_048_577)) === undefined;
    const authenticators = await opened(only(), { clock: new VirtualClock() });
    await until(() => authenticators.check()?.message.includes('is not initialized') === false);
    expect(authenticators.check()?.message).toContain('the answer is larger than 1048576 bytes');
  });

  it('is replaced only when the new ones answer; the old ones go on until then', async () => {
    const clock = new VirtualClock();
    const authenticators = await ready(only(), { clock });
    const other = await TestIssuer.start();
    other.keys = [first];
    const next = {
      jwt: [{ ...of(other.url), issuer: { url: other.url, audiences: ['b'], certificateAuthority: other.ca } }],
    };
    other.handle = (_request, response) => void response.writeHead(500).end() === undefined;
    const failing = authenticators.replace(next, 60_000).then(
      () => 'replaced',
      (error: Error) => error.message,
    );
    await until(() => other.requests.length > 0);
    await clock.advance(60_000);
    expect(await failing).toContain('is not healthy: 500 Internal Server Error');
    const token = await signedToken(claims(), first);
    expect(await answer(authenticators, token)).toEqual(jane);
    other.handle = () => false;
    await authenticators.replace(next, 60_000);
    expect(await answer(authenticators, token)).toBe('unknown');
    expect(await answer(authenticators, await signedToken({ ...claims(), iss: other.url, aud: 'b' }, first))).toEqual(
      jane,
    );
    expect(authenticators.metrics()).toContain('jwks_fetch_last_key_set_info');
    await other.close();
  });

  it('is asked no more, nor are those that would replace it, when they are closed', async () => {
    const clock = new VirtualClock();
    const authenticators = await ready(only(), { clock });
    const other = await TestIssuer.start();
    other.handle = () => true;
    const configuration = { url: other.url, audiences: ['b'], certificateAuthority: other.ca };
    const replacing = authenticators.replace({ jwt: [{ ...of(other.url), issuer: configuration }] }, 60_000);
    await until(() => other.requests.length > 0);
    authenticators.close();
    await replacing;
    await until(() => clock.pendingTimers === 0);
    await authenticators.replace({ jwt: [{ ...of(other.url), issuer: configuration }] }, 60_000);
    expect(clock.pendingTimers).toBe(0);
    expect(other.requests.length).toBe(1);
    await other.close();
  });

  it('may not rely on the common name of its certificate', async () => {
    const named = await TestIssuer.start(0, { hasNames: false });
    const url = named.url.replace('127.0.0.1', 'localhost');
    const configuration = { url, audiences: ['a'], certificateAuthority: named.ca };
    const authenticators = await opened(
      { jwt: [{ ...of(url), issuer: configuration }] },
      { clock: new VirtualClock() },
    );
    await until(() => authenticators.check()?.message.includes('is not initialized') === false);
    expect(authenticators.check()?.message).toContain('x509: certificate relies on legacy Common Name field');
    expect(named.requests).toEqual([]);
    await named.close();
  });

  it('answers for this server alone: a token is unknown to reviews for other audiences', async () => {
    const authenticators = await ready(only());
    const token = await signedToken(claims(), first);
    expect(await authenticators.authenticateToken(token, ['other'])).toEqual({ type: 'unknown' });
    expect(await authenticators.authenticateToken(token, ['other', 'api'])).toMatchObject({ audiences: ['api'] });
    expect(await authenticators.authenticateToken(token, [])).toMatchObject({ type: 'accepted', audiences: [] });
  });

  it('may have groups elsewhere, in a token of the source', async () => {
    const jwt = of(issuer.url, {
      claimMappings: { username: { claim: 'sub', prefix: '' }, groups: { claim: 'groups', prefix: 'g:' } },
    });
    const authenticators = await ready({ jwt: [jwt] });
    const asked: (string | undefined)[] = [];
    const source = await signedToken(claims({ groups: ['a'] }), first);
    issuer.handle = (request, response) => {
      if (request.url !== '/groups') return false;
      asked.push(request.headers.authorization);
      response.end(source);
      return true;
    };
    const elsewhere = { groups: 's' };
    const sources = { s: { endpoint: `${issuer.url}/groups`, access_token: 'secret' } };
    const token = await signedToken(claims({ _claim_names: elsewhere, _claim_sources: sources }), first);
    // The first token that names an issuer makes it known.
    expect(await answer(authenticators, token)).toContain('verifier not initialized for issuer');
    await until(() => issuer.requests.filter((path) => path.endsWith('openid-configuration')).length === 2);
    await untilAsync(async () => typeof (await answer(authenticators, token)) !== 'string');
    expect(await answer(authenticators, token)).toEqual({ name: 'jane', groups: ['g:a'] });
    expect(new Set(asked)).toEqual(new Set(['Bearer secret']));
  });

  it('is asked about groups elsewhere although tokens named sixteen issuers that do not exist', async () => {
    const clock = new VirtualClock({ startMs: systemClock.now() });
    const authenticators = await ready(
      {
        jwt: [
          of(issuer.url, {
            claimMappings: { username: { claim: 'sub', prefix: '' }, groups: { claim: 'groups', prefix: '' } },
          }),
        ],
      },
      { clock },
    );
    let source = '';
    issuer.handle = (request, response) => {
      if (request.url === '/groups') response.end(source);
      return request.url === '/groups';
    };
    const elsewhere = { _claim_names: { groups: 's' }, _claim_sources: { s: { endpoint: `${issuer.url}/groups` } } };
    const token = await signedToken(claims(elsewhere), first);
    const timers = clock.pendingTimers;
    for (let at = 0; at < 20; at++) {
      source = await signedToken(claims({ iss: `https://127.0.0.1:1/${at}`, groups: ['a'] }), first);
      expect(await answer(authenticators, token)).toContain('verifier not initialized for issuer');
    }
    source = await signedToken(claims({ groups: ['a'] }), first);
    await untilAsync(async () => typeof (await answer(authenticators, token)) !== 'string');
    // The remembered issuers are asked again; the forgotten ones are not.
    await until(() => clock.pendingTimers <= timers + 15);
    expect(await answer(authenticators, token)).toEqual({ name: 'jane', groups: ['a'] });
  }, 10_000);

  it('may sign with the allowed algorithms alone', async () => {
    const authenticators = await ready(only(), { algorithms: ['RS256'] });
    expect(await answer(authenticators, await signedToken(claims(), first))).toBe(
      'oidc: verify token: oidc: id token signed with unsupported algorithm, expected ["RS256"] got "ES256"',
    );
  });

  it('shows its latency and the hash of its keys in the metrics, and no URL', async () => {
    const authenticators = await ready(only(), { serverId: 'server' });
    await answer(authenticators, await signedToken(claims(), first));
    await answer(authenticators, await signedToken(claims({ aud: 'x' }), first));
    const text = authenticators.metrics();
    expect(text).toMatch(/jwt_authenticator_latency_seconds_count\{.*result="failure".*\} 1/);
    expect(text).toMatch(/jwt_authenticator_latency_seconds_count\{.*result="success".*\} 1/);
    expect(text).toMatch(/jwks_fetch_last_timestamp_seconds\{.*result="success".*apiserver_id_hash="sha256:b3eacd33/);
    expect(text).toMatch(/jwks_fetch_last_key_set_info\{.*hash="sha256:[0-9a-f]{64}".*\} 1/);
    expect(text).not.toContain('127.0.0.1');
  });
});

/** Waits for turns of the event loop, in which sockets deliver, until the condition holds. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await nextTurn();
}

async function untilAsync(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await nextTurn();
}
