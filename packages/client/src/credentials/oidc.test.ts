import { chmod, lstat, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resource, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Client } from '../client.ts';
import { connect } from '../connect.ts';
import { type TestAuthority, testAuthority } from '../testing/certificates.ts';
import { json, ScriptedServer, status } from '../testing/scripted-server.ts';
import { type OidcConfig, OidcTokenSource, type OidcTokens } from './oidc.ts';

const Node = resource({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });
const node = { kind: 'Node', apiVersion: 'v1', metadata: { name: 'a' } };

/** Builds a token as an issuer does; nothing here checks its signature. */
const jwt = (expMs: number, claims: object = {}): string => {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part({ exp: Math.floor(expMs / 1000), ...claims })}.sig`;
};

describe('OidcTokenSource', () => {
  let issuer: ScriptedServer;
  let clock: VirtualClock;
  let serial: number;
  beforeEach(async () => {
    issuer = await ScriptedServer.start();
    clock = new VirtualClock();
    serial = 0;
    issuer.always((response, request) => {
      if (request.path.endsWith('/.well-known/openid-configuration'))
        return json({ token_endpoint: `${issuer.url}/token` })(response, request);
      const idToken = jwt(clock.now() + 3_600_000, { n: ++serial });
      return json({ id_token: idToken, refresh_token: `r${serial}`, access_token: 'unused' })(response, request);
    });
  });
  afterEach(async () => {
    await issuer[Symbol.asyncDispose]();
  });
  it('ends a refresh that runs when the client is closed, and begins no more', async () => {
    issuer.always(() => undefined);
    const own = source();
    const refresh = Promise.resolve(own.headers()).catch(() => 'ended');
    while (issuer.requests.length === 0) await new Promise(setImmediate);
    own.stop();
    expect(await refresh).toBe('ended');
    await expect(own.headers()).rejects.toThrow('the client is closed');
    expect(issuer.requests).toHaveLength(1);
  });

  it('is stopped by the close() of its client', async () => {
    issuer.always(() => undefined);
    const oidc = { issuerUrl: issuer.url, clientId: 'c', refreshToken: 'r' };
    const client = new Client({ server: 'http://127.0.0.1:1', oidc });
    const call = client.get(Node, { name: 'a' }).catch(({ code }: { code: string }) => code);
    while (issuer.sockets.size === 0) await new Promise(setImmediate);
    await client.close();
    expect(await call).toBe('ECANCELED');
    while (issuer.sockets.size > 0) await new Promise(setImmediate);
  });

  const source = (oidc: Partial<OidcConfig> = {}, logger = silentLogger): OidcTokenSource =>
    new OidcTokenSource({
      oidc: { issuerUrl: issuer.url, clientId: 'kube', refreshToken: 'r0', ...oidc },
      clock,
      logger,
    });
  const claims = async (tokens: OidcTokenSource): Promise<{ n?: number; exp: number }> => {
    const { authorization } = await tokens.headers();
    return JSON.parse(Buffer.from(String(authorization).split('.')[1] ?? '', 'base64url').toString());
  };
  const tokenRequests = () => issuer.requests.filter(({ path }) => path === '/token');

  it('uses the id-token while it is valid for ten seconds more, without asking anybody', async () => {
    const idToken = jwt(clock.now() + 60_000);
    const tokens = source({ idToken });
    expect(await tokens.headers()).toEqual({ authorization: `Bearer ${idToken}` });
    await clock.advance(49_000);
    expect(await tokens.headers()).toEqual({ authorization: `Bearer ${idToken}` });
    expect(issuer.requests).toEqual([]);
    await clock.advance(1_000);
    expect(await claims(tokens)).toMatchObject({ n: 1 });
  });

  it('refreshes once for all who wait, with the refresh token that the issuer gave last', async () => {
    const tokens = source();
    const all = await Promise.all(Array.from({ length: 20 }, () => claims(tokens)));
    expect(new Set(all.map(({ n }) => n))).toEqual(new Set([1]));
    await clock.advance(3_600_000);
    expect(await claims(tokens)).toMatchObject({ n: 2 });
    expect(tokenRequests().map(({ body }) => body)).toEqual([
      'grant_type=refresh_token&refresh_token=r0',
      'grant_type=refresh_token&refresh_token=r1',
    ]);
  });

  it('shows the client by the Authorization header, or in the body to an issuer that wants that, and remembers which', async () => {
    const tokens = source({ clientSecret: 's/ecret' });
    const discovery = json({ token_endpoint: `${issuer.url}/token` });
    issuer.next(discovery, json({ error: 'invalid_client' }, { status: 401 }));
    await tokens.headers();
    await clock.advance(3_600_000);
    await tokens.headers();
    const basic = `Basic ${Buffer.from('kube:s%2Fecret').toString('base64')}`;
    expect(tokenRequests().map(({ headers }) => headers.authorization)).toEqual([basic, undefined, undefined]);
    expect(tokenRequests()[2]?.body).toBe(
      'grant_type=refresh_token&refresh_token=r1&client_id=kube&client_secret=s%2Fecret',
    );
  });

  it('hands new tokens to be kept, and works on where that fails', async () => {
    const kept: OidcTokens[] = [];
    await source({ persist: (tokens) => void kept.push(tokens) }).headers();
    expect(kept).toEqual([{ idToken: expect.any(String), refreshToken: 'r1' }]);
    const errors: string[] = [];
    const logger = { ...silentLogger, error: (text: string) => void errors.push(text) };
    const failing = source({ persist: () => Promise.reject(new Error('read-only')) }, logger);
    expect(await claims(failing)).toMatchObject({ n: 2 });
    expect(errors).toEqual(['could not persist new tokens']);
  });

  it('refreshes once after a 401, if it can', async () => {
    const idToken = jwt(clock.now() + 60_000);
    const tokens = source({ idToken });
    const used = await tokens.headers();
    expect(await Promise.all([tokens.onUnauthorized(used), tokens.onUnauthorized(used)])).toEqual([true, true]);
    expect(tokenRequests()).toHaveLength(1);
    expect(await source({ idToken, refreshToken: '' }).onUnauthorized(used)).toBe(false);
  });

  it.each<[string, Partial<OidcConfig>, object | string, number, string]>([
    ['no refresh token', { refreshToken: '' }, {}, 200, 'No valid id-token, and cannot refresh without refresh-token'],
    ['a token that is none', { idToken: 'abc' }, {}, 200, 'ID Token is not a valid JWT'],
    ['claims that are none', { idToken: 'a.b.c' }, {}, 200, 'parsing claims'],
    ['a failing issuer', {}, 'x'.repeat(200), 500, `oidc: failed to query metadata endpoint 500: "${'x'.repeat(80)}"`],
    ['no endpoint', {}, {}, 200, "oidc: discovery object doesn't contain a token_endpoint"],
    ['metadata that is none', {}, 'hello', 200, 'oidc: failed to decode provider discovery object'],
  ])('says what is wrong with %s', async (_, oidc, body, code, message) => {
    issuer.always((response, request) => json(body, { status: code })(response, request));
    if (typeof body === 'string') issuer.always((response) => void response.writeHead(code).end(body));
    await expect((async () => await source(oidc).headers())()).rejects.toThrow(message);
  });

  it.each([
    [
      { error: 'invalid_grant', error_description: 'expired' },
      400,
      'failed to refresh token: oauth2: "invalid_grant" "expired"',
    ],
    [{}, 503, 'failed to refresh token: oauth2: cannot fetch token: 503'],
    [{ access_token: 'a' }, 200, 'token response did not contain an id_token'],
  ])('passes on the refusal %o', async (body, code, message) => {
    const discovery = json({ token_endpoint: `${issuer.url}/token` });
    issuer.next(discovery, json(body, { status: code }));
    // After a refusal the second way of sending the secret is tried, so a second answer is needed.
    if (code !== 200) issuer.next(json(body, { status: code }));
    await expect(source().headers()).rejects.toThrow(message);
    // Failures are not cached.
    expect(await claims(source())).toMatchObject({ n: 1 });
  });

  it.each([
    [{ issuerUrl: '' }, 'Must provide idp-issuer-url'],
    [{ clientId: '' }, 'Must provide client-id'],
    [{ issuerUrl: 'nowhere' }, 'is not a URL'],
  ])('refuses %o', (oidc, message) => {
    expect(() => source(oidc)).toThrow(message);
  });
});

describe('a kubeconfig with the auth-provider oidc', () => {
  let authority: TestAuthority;
  let issuer: ScriptedServer;
  let server: ScriptedServer;
  let directory: string;
  const idToken = jwt(4_000_000_000_000);
  beforeEach(async () => {
    authority = await testAuthority();
    const tls = { ...(await authority.issue('server', ['127.0.0.1'])), ca: authority.ca };
    issuer = await ScriptedServer.start(tls);
    server = (await ScriptedServer.start(tls)).always(json(node));
    directory = await mkdtemp(join(tmpdir(), 'kapstan-oidc-'));
  });
  afterEach(async () => {
    await issuer[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });

  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const writeConfig = async (): Promise<string> => {
    const file = join(directory, 'config');
    await writeFile(
      file,
      `# mine, by hand
apiVersion: v1
kind: Config
current-context: c
clusters:
- {name: k, cluster: {server: '${server.url}', certificate-authority-data: ${base64(authority.ca)}}}
contexts:
- {name: c, context: {cluster: k, user: u}}
users:
- name: other # stays
  user: {token: x}
- name: u
  user:
    auth-provider:
      name: oidc
      config:
        idp-issuer-url: ${issuer.url}
        idp-certificate-authority-data: ${base64(authority.ca)}
        client-id: kube
        refresh-token: r0 # old
`,
      { mode: 0o640 },
    );
    await chmod(file, 0o640);
    return file;
  };
  const answerTokens = (): void => {
    issuer.next(json({ token_endpoint: `${issuer.url}/token` }), json({ id_token: idToken, refresh_token: 'r1' }));
  };

  it('sends a refreshed token, and writes it back into the file, comments and all else stay', async () => {
    const file = await writeConfig();
    const before = await readFile(file, 'utf8');
    answerTokens();
    await using client = await connect({ kubeconfig: file });
    expect(await client.get(Node, { name: 'a' })).toEqual(node);
    expect(server.last.headers.authorization).toBe(`Bearer ${idToken}`);
    const after = await readFile(file, 'utf8');
    expect(after).toContain(`id-token: ${idToken}`);
    expect(after).toContain('refresh-token: r1');
    const words = (text: string): string => text.replace(/^.*(?:id|refresh)-token:.*$/gm, '').replace(/[\s{}']/g, '');
    expect(words(after)).toBe(words(before));
    expect(after).toContain('# mine, by hand');
    expect(after).toContain('# stays');
    expect((await stat(file)).mode & 0o777).toBe(0o640);
    await using again = await connect({ kubeconfig: file });
    await again.get(Node, { name: 'a' });
    expect(issuer.requests).toHaveLength(2);
  });

  it('writes through a link, and leaves a file alone that somebody else has locked', async () => {
    const file = await writeConfig();
    const link = join(directory, 'link');
    await symlink(file, link);
    answerTokens();
    await using client = await connect({ kubeconfig: link });
    await client.get(Node, { name: 'a' });
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
    expect(await readFile(file, 'utf8')).toContain('refresh-token: r1');

    await writeConfig();
    await writeFile(`${file}.lock`, '');
    answerTokens();
    const errors: unknown[] = [];
    const logger = { ...silentLogger, error: (_: string, fields?: object) => void errors.push(fields) };
    await using locked = await connect({ kubeconfig: file, logger });
    await locked.get(Node, { name: 'a' });
    expect(errors).toMatchObject([{ error: { code: 'EEXIST' } }]);
    expect(await readFile(file, 'utf8')).toContain('refresh-token: r0');
  });

  it('is refreshed once more after a 401', async () => {
    const file = await writeConfig();
    answerTokens();
    answerTokens();
    await using client = await connect({ kubeconfig: file });
    server.next(json(status(401, 'Unauthorized', 'Unauthorized'), { status: 401 }));
    expect(await client.get(Node, { name: 'a' })).toEqual(node);
    expect(issuer.requests).toHaveLength(4);
  });

  it('fails the call when the issuer cannot be trusted', async () => {
    const file = await writeConfig();
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace(/ *idp-certificate-authority-data.*\n/, ''));
    await expect(connect({ kubeconfig: file })).rejects.toThrow('getting credentials: ');
  });
});
