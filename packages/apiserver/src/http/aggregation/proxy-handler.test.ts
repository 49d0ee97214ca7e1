// Tests requests for a group version of another API server: what reaches it, what comes back, and how its faults affect others.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { VirtualClock } from '@kapstan/api/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiRegistrations, type ApiRegistrationsOptions } from '../../aggregation/api-registrations.ts';
import type { Authorizer } from '../../authz/authorizer.ts';
import {
  adminToken,
  startTestServer,
  type TestServer,
  type TestServerOptions,
} from '../../testing/api-server-fixture.ts';
import { ExtensionServer } from '../../testing/extension-server.ts';
import { selfSigned } from '../../testing/self-signed.ts';
import { requestUpgrade } from '../../testing/upgrade-client.ts';
import { RequestTracer } from '../../tracing/request-tracer.ts';
import type { FinishedSpan } from '../../tracing/span.ts';

vi.setConfig({ testTimeout: 30_000 });

const books = '/apis/example.com/v1/namespaces/a/books';
let extension: ExtensionServer;
let registrations: ApiRegistrations;
let server: TestServer;

async function serve(
  options: TestServerOptions = {},
  aggregation: Partial<ApiRegistrationsOptions> = {},
): Promise<void> {
  registrations = new ApiRegistrations({
    resolveService: async () => ({ host: '127.0.0.1', port: extension.port }),
    ...aggregation,
  });
  registrations.set(extension.registration());
  server = await startTestServer(openLmdbEngine, { definitions: [], aggregation: registrations, ...options });
}

beforeEach(async () => {
  extension = await ExtensionServer.start();
});
afterEach(async () => {
  registrations.close();
  await extension.close();
  await server.close();
});

/** Returns the headers that the last request had, by name in lower case. */
function received(): Readonly<Record<string, readonly string[]>> {
  const { rawHeaders = [] } = extension.asked.at(-1) ?? {};
  const byName: Record<string, string[]> = {};
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase();
    byName[name] = [...(byName[name] ?? []), rawHeaders[i + 1] ?? ''];
  }
  return byName;
}

const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
};

describe('a request for a group version of another API server', () => {
  it('arrives with method, path, query and body as they were authorized', async () => {
    await serve();
    await server.send('POST', `${books}/a%20b?q=a%20b&a=2&a=1`, { body: { spec: 1 } });
    expect(extension.asked).toMatchObject([
      { method: 'POST', url: `${books}/a%20b?a=2&a=1&q=a+b`, body: '{"spec":1}' },
    ]);
    const { host, 'x-forwarded-for': forwarded, 'x-forwarded-uri': uri, 'x-forwarded-proto': scheme } = received();
    expect({ host, forwarded, uri, scheme }).toEqual({
      host: [`127.0.0.1:${extension.port}`],
      forwarded: ['127.0.0.1'],
      uri: [`${books}/a%20b`],
      scheme: ['https'],
    });
  });

  it('says who asks, and nothing that the client says about it', async () => {
    const user = { name: 'jürgen', uid: 'u1', groups: ['g1', 'g2'], extra: { 'a/b%': ['x', 'y'] } };
    const authenticators = [{ authenticate: () => user }];
    const requestHeader = { clientCa: [], usernameHeaders: ['X-Other-User'], extraHeaderPrefixes: ['X-Other-'] };
    await serve({ authentication: { authenticators, requestHeader } });
    const headers = {
      authorization: 'Bearer secret',
      'X-Remote-User': 'root',
      'X-Remote-Group': 'system:masters',
      'X-Remote-Extra-Scopes': 'all',
      'x-remote-uid': '0',
      'X-Other-User': 'root',
      'X-Other-Thing': 'root',
      'X-Own': 'kept',
      Connection: 'close, X-Hop',
      'X-Hop': 'dropped',
    };
    await server.send('GET', books, { headers });
    expect(received()).toMatchObject({
      'x-remote-user': [Buffer.from('jürgen').toString('latin1')],
      'x-remote-uid': ['u1'],
      'x-remote-group': ['g1', 'g2', 'system:authenticated'],
      'x-remote-extra-a%2fb%25': ['x', 'y'],
      'x-own': ['kept'],
    });
    for (const name of ['authorization', 'x-remote-extra-scopes', 'x-other-user', 'x-other-thing', 'x-hop']) {
      expect(received()).not.toHaveProperty([name]);
    }
    expect(JSON.stringify(extension.asked)).not.toContain('root');
  });

  it('is refused when a name could add headers and so cannot be sent in one', async () => {
    await serve({
      authentication: { authenticators: [{ authenticate: () => ({ name: 'a\r\nX-Remote-Group: b', groups: [] }) }] },
    });
    const { status, text } = await server.send('GET', books);
    expect([status, text]).toEqual([
      503,
      'error trying to reach service: net/http: invalid header field value for "X-Remote-User"\n',
    ]);
    expect(extension.asked).toEqual([]);
  });

  it('shows the certificate of the proxy', async () => {
    const proxyCertificate = await selfSigned('CN=front-proxy-client');
    await serve({}, { proxyCertificate });
    await server.send('GET', books);
    expect(extension.asked[0]?.commonName).toBe('front-proxy-client');
  });

  it('shows the new certificate of the proxy once it has changed, over new connections', async () => {
    await serve({}, { proxyCertificate: await selfSigned('CN=front-proxy-client') });
    await server.send('GET', books);
    registrations.useProxyCertificate(await selfSigned('CN=next-proxy-client'));
    await server.send('GET', books);
    expect(extension.asked.map(({ commonName }) => commonName)).toEqual(['front-proxy-client', 'next-proxy-client']);
    registrations.set({ ...extension.registration({ skipsVerification: true, caBundle: undefined }) });
    await server.send('GET', books);
    expect(extension.asked.at(-1)?.commonName).toBe('next-proxy-client');
  });

  it('goes on in the trace of the caller, with the baggage that it has', async () => {
    const spans: FinishedSpan[] = [];
    const tracer = new RequestTracer({ sink: { add: (span) => void spans.push(span) } });
    await serve({ tracer });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await server.send('GET', books, {
      headers: { authorization: `Bearer ${adminToken}`, traceparent, baggage: 'a=1' },
    });
    const sent = await vi.waitFor(() => {
      const span = spans.find(({ name }) => name === 'HTTP GET');
      expect(span).toMatchObject({ kind: 'client', attributes: { 'http.response.status_code': 200 } });
      return span;
    });
    const { spanId = '' } = sent?.context ?? {};
    expect(received()).toMatchObject({
      traceparent: [`00-0af7651916cd43dd8448eb211c80319c-${spanId}-01`],
      baggage: ['a=1'],
    });
  });

  it('is authorized here first', async () => {
    const authorizer: Authorizer = { authorize: () => ({ decision: 'noOpinion', reason: '' }) };
    await serve({ authorizer });
    expect((await server.send('GET', books)).json).toMatchObject({
      code: 403,
      details: { group: 'example.com', kind: 'books' },
    });
    expect(extension.asked).toEqual([]);
  });

  it('carries the id under which both servers log it', async () => {
    extension.answer = (request, response) => {
      response.setHeader('Audit-Id', String(request.headers['audit-id']));
      response.end();
    };
    await serve();
    const { rawHeaders } = await server.send('GET', books, { headers: { 'audit-id': 'id-1' } });
    expect(received()['audit-id']).toEqual(['id-1']);
    expect(rawHeaders.filter((text) => text === 'id-1')).toHaveLength(1);
  });

  it('goes to this server where the registration names no Service, and beside the registered versions', async () => {
    await serve();
    expect((await server.send('GET', '/apis/example.com/v2/things')).status).toBe(404);
    expect((await server.send('GET', '//apis/example.com/v1/things')).status).toBe(404);
    registrations.set({ ...extension.registration(), remote: undefined });
    expect((await server.send('GET', books)).status).toBe(404);
    registrations.set(extension.registration());
    registrations.delete('v1.example.com');
    expect((await server.send('GET', books)).status).toBe(404);
    expect(extension.asked).toEqual([]);
  });
});

describe('the answer', () => {
  it('passes with its code, headers and bytes, without those of the connection', async () => {
    extension.answer = (_request, response) => {
      response.writeHead(418, ['X-Own', 'a', 'X-Own', 'b', 'Warning', '299 - "w"', 'Access-Control-Allow-Origin', '*']);
      response.end(Buffer.from([0, 255, 1]));
    };
    await serve();
    const answer = await server.send('GET', books);
    expect([answer.status, [...answer.bytes]]).toEqual([418, [0, 255, 1]]);
    expect(answer.headers).toMatchObject({ 'x-own': 'a, b', warning: '299 - "w"' });
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
  });

  it('is not a redirect, unless redirects are wanted', async () => {
    extension.answer = (_request, response) => {
      response.writeHead(302, { Location: '/elsewhere' });
      response.end();
    };
    await serve();
    const refused = await server.send('GET', books);
    expect([refused.status, refused.text]).toEqual([
      502,
      'the backend attempted to redirect this request, which is not permitted',
    ]);
    await server.close();
    await serve({}, { rejectsRedirects: false });
    expect((await server.send('GET', books)).headers.location).toBe('/elsewhere');
  });

  it('streams as it comes, and no faster than the client reads', async () => {
    const line = Buffer.alloc(64 * 1024, 'x');
    let written = 0;
    let isFull = false;
    extension.answer = (_request, response) => {
      const fill = (): void => {
        while (response.write(line)) written += line.length;
        isFull = true;
      };
      response.on('drain', fill);
      response.write('{"type":"ADDED"}\n');
      fill();
    };
    await serve();
    const stream = await server.stream(`${books}?watch=1`);
    expect(await stream.next()).toEqual({ type: 'ADDED' });
    stream.response.pause();
    await until(() => isFull);
    let before = -1;
    // The sockets between them take some megabytes, then the extension server has to wait.
    while (before !== written) {
      before = written;
      for (let turns = 0; turns < 200; turns++) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(written).toBeLessThan(64 * 1024 * 1024);
    stream.close();
  });

  it('is given up by the extension server when the client goes', async () => {
    let isGone = false;
    extension.answer = (_request, response) => {
      response.write('{}\n');
      response.once('close', () => {
        isGone = true;
      });
    };
    await serve();
    const stream = await server.stream(`${books}?watch=1`);
    await stream.next();
    stream.close();
    await until(() => isGone);
    await until(() => registrations.serverOf('v1.example.com')?.underWay === 0);
  });

  it('comes over connections that are used again', async () => {
    await serve();
    for (let i = 0; i < 5; i++) await server.send('GET', books);
    expect([extension.asked.length, extension.connections]).toEqual([5, 1]);
  });

  it('comes also when a kept connection was closed meanwhile', async () => {
    await serve();
    await server.send('GET', books);
    let count = 0;
    extension.answer = (request, response) => {
      count += 1;
      if (count === 1) request.socket.destroy();
      else response.end('again');
    };
    expect((await server.send('GET', books)).text).toBe('again');
  });
});

describe('an upgraded connection', () => {
  it('reaches the extension server, which learns who asks', async () => {
    extension.onUpgrade = (request, socket) => {
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n`);
      socket.write(`${request.url} ${request.headers['x-remote-user']} ${request.headers.authorization} `);
      socket.pipe(socket);
    };
    await serve();
    const headers = ['Connection: Upgrade', 'Upgrade: x', 'X-Remote-User: root'];
    const connection = await requestUpgrade(server.url, `${books}/b/exec?command=ls`, { headers, head: 'ping' });
    expect(connection.head).toContain('101 Switching Protocols');
    await connection.until('ping');
    expect(connection.received()).toBe(`${books}/b/exec?command=ls admin undefined ping`);
    connection.socket.end();
    await connection.closed;
    await until(() => registrations.serverOf('v1.example.com')?.underWay === 0);
  });

  it('that the extension server refuses shows its refusal', async () => {
    extension.onUpgrade = (_request, socket) =>
      void socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno');
    await serve();
    const connection = await requestUpgrade(server.url, `${books}/b/exec`);
    expect(connection.head).toContain('403 Forbidden');
    expect(await connection.closed).toBe('no');
  });
});

describe('an extension server that', () => {
  const refused = async (): Promise<string> => {
    const { status, text } = await server.send('GET', books);
    return `${status} ${text}`;
  };

  it('is not available is not asked', async () => {
    await serve();
    registrations.set(extension.registration({ isAvailable: false }));
    expect(await refused()).toBe('503 service unavailable\n');
    expect(extension.connections).toBe(0);
  });

  it('has no address gives 503', async () => {
    await serve(
      {},
      { resolveService: async () => Promise.reject(new Error('no endpoints available for service "api"')) },
    );
    expect(await refused()).toBe('503 service unavailable\n');
  });

  it('shows a certificate of another authority, or for another name, gives 503', async () => {
    await serve();
    const other = await selfSigned('CN=other');
    registrations.set(extension.registration({ caBundle: other.cert }));
    const text = '503 error trying to reach service: tls: failed to verify certificate: x509: ';
    expect(await refused()).toBe(`${text}certificate signed by unknown authority\n`);
    registrations.set(extension.registration({ service: { namespace: 'ns', name: 'other', port: 443 } }));
    expect(await refused()).toBe(`${text}certificate is valid for api.ns.svc, not other.ns.svc\n`);
    expect(extension.asked).toEqual([]);
  });

  it('shows any certificate is asked where the registration says so', async () => {
    await serve();
    const service = { namespace: 'ns', name: 'other', port: 443 };
    registrations.set(extension.registration({ caBundle: undefined, skipsVerification: true, service }));
    expect(await refused()).toBe('200 {}');
  });

  it('has a CA bundle without certificates gives 500', async () => {
    await serve();
    registrations.set(extension.registration({ caBundle: 'xxx' }));
    expect(await refused()).toBe('500 unable to load root certificates: unable to parse bytes as PEM block\n');
    const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
    registrations.set(extension.registration({ caBundle: broken }));
    expect(await refused()).toBe('500 unable to load root certificates: failed to parse certificate\n');
    registrations.set(extension.registration({ caBundle: extension.ca.repeat(101) }));
    expect(await refused()).toBe('500 unable to load root certificates: more than 100 of them\n');
  });

  it('speaks no TLS, or nothing at all, gives 503', async () => {
    const plain = createTcpServer((socket) => void socket.resume().end('HTTP/1.1 200 OK\r\n\r\n'));
    plain.listen(0, '127.0.0.1');
    await once(plain, 'listening');
    const { port } = plain.address() as AddressInfo;
    await serve({}, { resolveService: async () => ({ host: '127.0.0.1', port }) });
    expect(await refused()).toBe(
      '503 error trying to reach service: tls: first record does not look like a TLS handshake\n',
    );
    plain.close();
    await once(plain, 'close');
    expect(await refused()).toBe(
      `503 error trying to reach service: dial tcp 127.0.0.1:${port}: connect: connection refused\n`,
    );
  });

  it('hangs delays discovery for 5 s and others for as long as any request', async () => {
    const clock = new VirtualClock();
    const sockets: Socket[] = [];
    extension.answer = ({ socket }) => void sockets.push(socket);
    await serve({ clock });
    const discovery = server.send('GET', '/apis/example.com/v1');
    const other = server.send('GET', books);
    await until(() => sockets.length === 2);
    await clock.advance(5_000);
    expect(await discovery).toMatchObject({
      status: 503,
      text: 'error trying to reach service: context deadline exceeded\n',
    });
    await clock.advance(55_000);
    expect((await other).status).toBe(504);
    await until(() => registrations.serverOf('v1.example.com')?.underWay === 0);
  });

  it('breaks off cuts the answer for the client too', async () => {
    extension.answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half');
      setImmediate(() => response.destroy());
    };
    await serve();
    await expect(server.send('GET', books)).rejects.toThrow('aborted');
  });

  it('has too many requests under way gives 429, and leaves others alone', async () => {
    const open: (() => void)[] = [];
    extension.answer = (_request, response) => void open.push(() => response.end('{}'));
    await serve({}, { maxConnections: 2 });
    const slow = [1, 2].map(() => server.send('GET', books));
    await until(() => open.length === 2);
    const third = await server.send('GET', books);
    expect([third.status, third.headers['retry-after']]).toEqual([429, '1']);
    expect((await server.send('GET', '/version')).status).toBe(200);
    for (const answer of open.splice(0)) answer();
    await Promise.all(slow);
  });

  it('answers 10 MB to a client that does not read holds neither memory nor others', async () => {
    const piece = Buffer.alloc(10 * 1024 * 1024, 'x');
    extension.answer = (_request, response) => void response.end(piece);
    await serve();
    const whole = await server.send('GET', books);
    expect(whole.bytes.length).toBe(piece.length);
    const stream = await server.stream(`${books}?watch=1`);
    stream.response.pause();
    for (let i = 0; i < 20; i++) expect((await server.send('GET', '/version')).status).toBe(200);
    stream.close();
  });
});

it('a client that stops in its body ends the request to the extension server', async () => {
  await serve();
  const { hostname, port } = new URL(server.url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(
    `POST ${books} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin-token\r\nContent-Length: 100\r\n\r\nhalf`,
  );
  const remote = registrations.serverOf('v1.example.com');
  await until(() => extension.connections === 1);
  expect(remote?.underWay).toBe(1);
  socket.destroy();
  await until(() => remote?.underWay === 0);
});
