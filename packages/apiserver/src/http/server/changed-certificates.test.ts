// Tests certificates that change while a server runs, over real TLS: what new connections see, and which user open ones
// keep.
import { Agent, get as httpsGet } from 'node:https';
import { connect } from 'node:tls';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { certificateAuthenticator } from '../../authn/authenticator.ts';
import type { UserInfo } from '../../registry/definition/request-context.ts';
import { startTestServer, type TestServer } from '../../testing/api-server-fixture.ts';
import { selfSigned } from '../../testing/self-signed.ts';
import type { ServerCertificates } from './api-server.ts';

type Pair = Awaited<ReturnType<typeof selfSigned>>;
let [serving, next, alice, bob, proxy, newProxy]: Pair[] = [];
let server: TestServer;
let user: UserInfo | undefined;
let agent: Agent;

beforeAll(async () => {
  serving = await selfSigned('CN=old');
  next = await selfSigned('CN=new');
  alice = await selfSigned('CN=alice');
  bob = await selfSigned('CN=bob');
  proxy = await selfSigned('CN=front-proxy-client');
  newProxy = await selfSigned('CN=front-proxy-client');
});
beforeEach(() => {
  agent = new Agent({ keepAlive: true, maxSockets: 1 });
});
afterEach(async () => {
  agent.destroy();
  await server.close();
});

const certificates = (own = serving, client = alice, front = proxy): ServerCertificates => ({
  tls: { cert: own?.cert ?? '', key: own?.key ?? '', clientCa: client?.cert },
  frontProxyCa: front?.cert,
});

/** `front` 'none' = no proxy may name users in headers. */
async function serve(front: Pair | 'none' | undefined = proxy): Promise<void> {
  const requestHeader = front === 'none' || front === undefined ? undefined : { clientCa: front.cert };
  server = await startTestServer(openLmdbEngine, {
    definitions: [],
    tls: certificates().tls,
    authentication: { authenticators: [certificateAuthenticator], requestHeader, anonymous: false },
    authorizer: {
      authorize: (asked) => {
        ({ user } = asked);
        return { decision: 'allow', reason: '' };
      },
    },
  });
}

/** Returns the status of a request, and its user as seen by the server. */
function ask(own: Pair | undefined, over: Agent | false = false): Promise<readonly [number, string | undefined]> {
  user = undefined;
  const headers = { 'X-Remote-User': 'remote' };
  const options = { rejectUnauthorized: false, agent: over, cert: own?.cert, key: own?.key, headers };
  return new Promise((resolve, reject) => {
    const request = httpsGet(`${server.url}/version`, options, (response) => {
      const status = response.statusCode ?? 0;
      response.resume().on('end', () => resolve([status, user?.name]));
    });
    request.on('error', reject);
  });
}

/** Returns the common name of the certificate that a new connection sees. */
async function shown(): Promise<string | undefined> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(server.url).port), rejectUnauthorized: false });
  await new Promise((resolve) => socket.once('secureConnect', resolve));
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return String(CN);
}

describe('a server whose certificates change', () => {
  it('shows the new certificate to new connections', async () => {
    await serve();
    expect(await shown()).toBe('old');
    server.useCertificates(certificates(next));
    expect(await shown()).toBe('new');
    expect(await ask(alice)).toEqual([200, 'alice']);
  });

  it.each([
    ['beside front proxies', true],
    ['without front proxies', false],
  ])(
    'believes certificates of the new authority alone, also over connections that are open, %s',
    async (_, hasFront) => {
      await serve(hasFront ? proxy : 'none');
      expect(await ask(alice, agent)).toEqual([200, 'alice']);
      expect(await ask(bob)).toEqual([401, undefined]);
      const { tls } = certificates(serving, bob);
      server.useCertificates({ tls });
      expect(await ask(bob)).toEqual([200, 'bob']);
      expect(await ask(alice)).toEqual([401, undefined]);
      expect(await ask(alice, agent)).toEqual([401, undefined]);
    },
  );

  it('believes a certificate of the new authority over a connection that was open before, as Go does', async () => {
    await serve();
    expect(await ask(bob, agent)).toEqual([401, undefined]);
    server.useCertificates(certificates(serving, bob));
    expect(await ask(bob, agent)).toEqual([200, 'bob']);
    server.useCertificates(certificates(serving, alice));
    expect(await ask(bob, agent)).toEqual([401, undefined]);
  });

  it('believes the headers of front proxies of the new authority alone', async () => {
    await serve();
    expect(await ask(proxy, agent)).toEqual([200, 'remote']);
    server.useCertificates(certificates(serving, alice, newProxy));
    expect(await ask(newProxy)).toEqual([200, 'remote']);
    expect(await ask(proxy, agent)).toEqual([401, undefined]);
    expect(await ask(alice)).toEqual([200, 'alice']);
  });

  it('keeps what it had when TLS cannot use the new ones', async () => {
    await serve();
    const mixed = { cert: next?.cert ?? '', key: serving?.key ?? '' };
    expect(() => server.useCertificates(certificates(mixed, bob))).toThrow(/key values mismatch/);
    expect(await shown()).toBe('old');
    expect(await ask(alice)).toEqual([200, 'alice']);
    expect(await ask(bob)).toEqual([401, undefined]);
  });
});
