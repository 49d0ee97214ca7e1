// Tests identities that a front proxy sends in headers, over real TLS: which proxies are trusted, and which headers are
// ignored.
import { get as httpsGet } from 'node:https';
import { VirtualClock } from '@kapstan/api/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { UserInfo } from '../registry/definition/request-context.ts';
import { startTestServer, type TestServer } from '../testing/api-server-fixture.ts';
import { selfSigned } from '../testing/self-signed.ts';
import { certificateAuthenticator } from './authenticator.ts';
import type { RequestHeaderOptions } from './request-header-names.ts';

type Pair = Awaited<ReturnType<typeof selfSigned>>;
let serving: Pair;
let proxy: Pair;
let root: Pair;
let client: Pair;
let stranger: Pair;
let server: TestServer;
let user: UserInfo | undefined;

beforeAll(async () => {
  serving = await selfSigned('CN=127.0.0.1');
  proxy = await selfSigned('CN=front-proxy-client');
  root = await selfSigned('CN=root,O=system:masters');
  client = await selfSigned('CN=carol,O=dev');
  stranger = await selfSigned('CN=front-proxy-client');
});
afterEach(() => server.close());

async function serve(options: Partial<RequestHeaderOptions> = {}, clock?: VirtualClock): Promise<void> {
  server = await startTestServer(openLmdbEngine, {
    definitions: [],
    ...(clock && { clock }),
    tls: { cert: serving.cert, key: serving.key, clientCa: client.cert },
    authentication: {
      authenticators: [certificateAuthenticator],
      requestHeader: { clientCa: [proxy.cert, root.cert], allowedNames: ['front-proxy-client'], ...options },
      anonymous: false,
    },
    authorizer: {
      authorize: (asked) => {
        ({ user } = asked);
        return { decision: 'allow', reason: '' };
      },
    },
  });
}

/** Returns the status of a request, and its user as seen by the server. */
function ask(headers: Readonly<Record<string, string | string[]>>, own?: Pair): Promise<readonly [number, UserInfo?]> {
  user = undefined;
  const options = { ca: serving.cert, agent: false as const, ...own, headers };
  return new Promise((resolve, reject) => {
    const request = httpsGet(`${server.url}/version`, options, (response) => {
      const status = response.statusCode ?? 0;
      response.resume().on('end', () => resolve(user === undefined ? [status] : [status, user]));
    });
    request.on('error', reject);
  });
}

describe('the headers of a front proxy', () => {
  it('say who asks: name, uid, groups and further attributes', async () => {
    await serve();
    const headers = {
      'X-Remote-User': Buffer.from('jürgen').toString('latin1'),
      'X-Remote-Uid': 'u1',
      'X-Remote-Group': ['a', 'b'],
      'X-Remote-Extra-Scopes%2Fx': ['view', 'edit'],
      'X-Remote-Extra-Bad%ZZ': 'kept',
    };
    const extra = { 'scopes/x': ['view', 'edit'], 'bad%zz': ['kept'] };
    const known = { name: 'jürgen', uid: 'u1', groups: ['a', 'b', 'system:authenticated'], extra };
    expect(await ask(headers, proxy)).toEqual([200, known]);
  });

  it('have the names that were asked for, the first that is set', async () => {
    await serve({
      usernameHeaders: ['X-One', 'X-Two'],
      groupHeaders: ['X-Team'],
      uidHeaders: [],
      extraHeaderPrefixes: [],
    });
    const headers = {
      'X-Two': 'bob',
      'X-Team': 'dev',
      'X-Remote-User': 'root',
      'X-Remote-Uid': '0',
      'X-Remote-Extra-A': 'b',
    };
    expect(await ask(headers, proxy)).toEqual([200, { name: 'bob', groups: ['dev', 'system:authenticated'] }]);
    expect(await ask({ ...headers, 'X-One': 'amy' }, proxy)).toMatchObject([200, { name: 'amy' }]);
  });

  it('count for nothing from anybody else', async () => {
    await serve();
    const headers = { 'X-Remote-User': 'root', 'X-Remote-Group': 'system:masters' };
    expect(await ask(headers)).toEqual([401]);
    expect(await ask(headers, stranger)).toEqual([401]);
    expect(await ask(headers, root)).toEqual([401]);
    expect(await ask(headers, client)).toMatchObject([200, { name: 'carol', groups: ['dev', 'system:authenticated'] }]);
  });

  it('count from every certificate of the authorities when no names are given', async () => {
    await serve({ allowedNames: [] });
    expect(await ask({ 'X-Remote-User': 'bob' }, root)).toMatchObject([200, { name: 'bob' }]);
  });

  it('count no longer when the certificate of the proxy has expired', async () => {
    await serve({}, new VirtualClock({ startMs: Date.parse('2200-01-01') }));
    expect(await ask({ 'X-Remote-User': 'bob' }, proxy)).toEqual([401]);
  });
});

it('a certificate of a front proxy is nobody by itself, whatever name and groups are in it', async () => {
  await serve({ allowedNames: [] });
  expect(await ask({}, root)).toEqual([401]);
  expect(await ask({}, proxy)).toEqual([401]);
  expect(await ask({}, client)).toMatchObject([200, { name: 'carol' }]);
});
