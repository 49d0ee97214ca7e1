import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttp } from 'node:http';
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ClientConfig, ClientOptions } from '../config/client-config.ts';
import { type TestAuthority, testAuthority } from '../testing/certificates.ts';
import { status } from '../testing/scripted-server.ts';
import { plainAnswer, StreamServer, type StreamServerOptions } from '../testing/stream-server.ts';
import { WireClient as Client } from '../testing/wire-client.ts';
import type { RequestDiagnostics } from '../transport/request-diagnostics.ts';

const target = { namespace: 'n', name: 'p' };
const command = { command: ['true'] };
const silence = (socket: Socket): void => void socket.on('end', () => socket.end()).resume();

describe('the opening of a WebSocket', () => {
  let authority: TestAuthority;
  const open: AsyncDisposable[] = [];
  beforeAll(async () => {
    authority = await testAuthority();
  });
  afterEach(async () => {
    for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
  });
  const startServer = async (options: StreamServerOptions = {}): Promise<StreamServer> => {
    const server = await StreamServer.start(options);
    open.unshift(server);
    return server;
  };
  const clientOf = (config: ClientConfig, options: ClientOptions = {}): Client => {
    const client = new Client(config, options);
    open.unshift(client);
    return client;
  };

  describe('refused', () => {
    it.each<[string, number, object | string, object]>([
      [
        'by the authorizer',
        403,
        status(403, 'Forbidden', 'pods "p" is forbidden'),
        { code: 403, message: 'pods "p" is forbidden' },
      ],
      ['because there is no such pod', 404, status(404, 'NotFound', 'pods "p" not found'), { reason: 'NotFound' }],
      ['by a kubelet that says so in plain text', 500, 'container not running', { code: 500 }],
      ['by a server that knows no WebSocket', 400, 'Upgrade request required', { code: 400 }],
    ])('%s rejects with the Status of the server', async (_, code, body, expected) => {
      const server = (await startServer()).refuse(plainAnswer(code, body));
      await expect(clientOf({ server: server.url }).exec(target, command)).rejects.toMatchObject(expected);
      expect(server.requests).toHaveLength(1);
    });

    it('by an upgrade to SPDY rejects with EPROTONOSUPPORT and says what is needed', async () => {
      const server = (await startServer()).refuse(
        (socket) => void socket.write('HTTP/1.1 101 X\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\n\r\n'),
      );
      const refused = clientOf({ server: server.url }).exec(target, command);
      await expect(refused).rejects.toMatchObject({ code: 'EPROTONOSUPPORT' });
      await expect(refused).rejects.toThrow(
        'WebSocket with v5.channel.k8s.io or v4.channel.k8s.io is required, SPDY is not supported',
      );
    });

    it('by a server that chooses no subprotocol rejects with EPROTONOSUPPORT', async () => {
      const server = await startServer({ protocols: [] });
      await expect(clientOf({ server: server.url }).exec(target, command)).rejects.toMatchObject({
        code: 'EPROTONOSUPPORT',
        message: expect.stringContaining('the server chose no subprotocol'),
      });
    });

    it('with 429 and Retry-After is tried again, with 429 alone it is not', async () => {
      const clock = new VirtualClock();
      const busy = status(429, 'TooManyRequests', 'busy');
      const server = (await startServer()).refuse(plainAnswer(429, busy, { 'retry-after': '3' }));
      const client = clientOf({ server: server.url }, { clock });
      const opening = client.exec(target, command);
      while (server.requests.length < 2) {
        await new Promise(setImmediate);
        await clock.advance(server.requests.length * 500);
      }
      expect(clock.monotonicNow()).toBeGreaterThanOrEqual(3000);
      expect((await opening).protocol).toBe('v5.channel.k8s.io');
      server.refuse(plainAnswer(429, busy));
      await expect(client.exec(target, command)).rejects.toMatchObject({ code: 429 });
    });
  });

  it('fails with ECONNREFUSED when nobody listens', async () => {
    const server = await startServer();
    const { url } = server;
    open.splice(0, 1);
    await server[Symbol.asyncDispose]();
    await expect(clientOf({ server: url }).exec(target, command)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('fails when the server is silent for openTimeoutMs, timeoutMs, or until the signal aborts', async () => {
    const server = (await startServer()).refuse(...Array.from({ length: 3 }, () => silence));
    const clock = new VirtualClock();
    const client = clientOf({ server: server.url }, { clock, openTimeoutMs: 30 });
    const controller = new AbortController();
    const late = expect(client.exec(target, command)).rejects.toMatchObject({
      code: 'ETIMEDOUT',
      message: /within 30 ms/,
    });
    const later = expect(client.exec(target, { ...command, timeoutMs: 20 })).rejects.toThrow('within 20 ms');
    const { signal } = controller;
    const aborted = expect(client.exec(target, { ...command, timeoutMs: 0, signal })).rejects.toThrow(
      'changed my mind',
    );
    while (server.requests.length < 3) await new Promise(setImmediate);
    await clock.advance(20);
    await later;
    await clock.advance(10);
    await late;
    controller.abort(new Error('changed my mind'));
    await aborted;
    while (server.sockets.size > 0) await new Promise(setImmediate);
  });

  it('is published to diagnostics with its status, which is 101 when it succeeds', async () => {
    const seen: RequestDiagnostics[] = [];
    const server = (await startServer()).refuse(plainAnswer(401, status(401, 'Unauthorized', 'no')));
    const client = clientOf({ server: server.url }, { onRequest: (request) => seen.push(request) });
    await expect(client.exec(target, command)).rejects.toMatchObject({ code: 401 });
    await client.exec(target, command);
    expect(seen.map(({ method, path, status: code }) => [method, path, code])).toEqual([
      ['GET', '/api/v1/namespaces/n/pods/p/exec', 401],
      ['GET', '/api/v1/namespaces/n/pods/p/exec', 101],
    ]);
  });

  describe('over TLS', () => {
    const secure = async (names: readonly string[] = ['127.0.0.1']): Promise<StreamServer> =>
      await startServer({
        tls: {
          ...(await authority.issue('server', names)),
          ca: authority.ca,
          requestCert: true,
          rejectUnauthorized: false,
        },
      });
    const subject = (server: StreamServer): string | undefined =>
      (server.requests.at(-1)?.socket as TLSSocket | undefined)?.getPeerCertificate().subject?.CN as string | undefined;

    let directory: string;
    beforeEach(async () => {
      directory = await mkdtemp(join(tmpdir(), 'kapstan-stream-'));
    });
    afterEach(async () => {
      await rm(directory, { recursive: true });
    });

    it('sends a bearer token, impersonation and user agent', async () => {
      const server = await secure();
      const config = {
        server: server.url,
        tls: { ca: authority.ca },
        token: 't',
        impersonate: { user: 'jane', groups: ['a', 'b'] },
      };
      await clientOf(config, { userAgent: 'me/1' }).exec(target, command);
      const { headers, rawHeaders } = server.requests[0] ?? { headers: {}, rawHeaders: [] };
      expect(headers).toMatchObject({ authorization: 'Bearer t', 'user-agent': 'me/1', 'impersonate-user': 'jane' });
      expect(rawHeaders.filter((_, at) => rawHeaders[at - 1]?.toLowerCase() === 'impersonate-group')).toEqual([
        'a',
        'b',
      ]);
    });

    it('shows the client certificate', async () => {
      const server = await secure();
      const { cert, key } = await authority.issue('alice');
      await clientOf({ server: server.url, tls: { ca: authority.ca, cert, key } }).exec(target, command);
      expect(subject(server)).toBe('alice');
    });

    it('shows token and certificate of an exec plugin, and asks it once more after a 401', async () => {
      const server = (await secure()).refuse(plainAnswer(401, status(401, 'Unauthorized', 'expired')));
      const { cert, key } = await authority.issue('from-plugin');
      const path = join(directory, 'plugin.sh');
      const answer = (token: string): string =>
        JSON.stringify({
          kind: 'ExecCredential',
          apiVersion: 'client.authentication.k8s.io/v1',
          status: { token, clientCertificateData: cert, clientKeyData: key },
        });
      const script = `#!/bin/sh\nif [ -e ${directory}/ran ]; then cat <<'E'\n${answer('two')}\nE\nelse touch ${directory}/ran; cat <<'E'\n${answer('one')}\nE\nfi\n`;
      await writeFile(path, script);
      await chmod(path, 0o755);
      const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: path, interactiveMode: 'Never' };
      await clientOf({ server: server.url, tls: { ca: authority.ca }, exec }).exec(target, command);
      expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer one', 'Bearer two']);
      expect(subject(server)).toBe('from-plugin');
    });

    it('trusts no unknown authority and no other name, unless given that name or verification is off', async () => {
      const server = await secure(['api.internal']);
      const { ca } = authority;
      await expect(
        clientOf({ server: server.url, tls: { caFile: '/dev/null' } }).exec(target, command),
      ).rejects.toThrow();
      await expect(clientOf({ server: server.url, tls: { ca } }).exec(target, command)).rejects.toMatchObject({
        code: 'ERR_TLS_CERT_ALTNAME_INVALID',
      });
      expect(server.requests).toEqual([]);
      await clientOf({ server: server.url, tls: { ca, serverName: 'api.internal' } }).exec(target, command);
      await clientOf({ server: server.url, tls: { insecureSkipVerify: true } }).exec(target, command);
      expect(server.requests).toHaveLength(2);
    });

    it('looks for an IP address in the certificate if the given name is one', async () => {
      const server = await secure(['10.1.2.3']);
      const { ca } = authority;
      const to = (serverName: string) => clientOf({ server: server.url, tls: { ca, serverName } });
      await expect(to('10.1.2.4').exec(target, command)).rejects.toMatchObject({
        code: 'ERR_TLS_CERT_ALTNAME_INVALID',
      });
      expect(server.requests).toEqual([]);
      await to('10.1.2.3').exec(target, command);
      expect(server.requests).toHaveLength(1);
    });

    it('goes through the proxy, with its login, TLS end to end', async () => {
      const server = await secure();
      const logins: (string | undefined)[] = [];
      const proxy = createHttp().on('connect', (request, socket: Socket) => {
        logins.push(request.headers['proxy-authorization']);
        const [host = '', port] = (request.url ?? '').split(':');
        if (logins.length > 1) return void socket.end('HTTP/1.1 407 X\r\n\r\n');
        const upstream = connectTcp(Number(port), host, () => {
          socket.write('HTTP/1.1 200 OK\r\n\r\n');
          upstream.pipe(socket).pipe(upstream);
        });
        upstream.on('error', () => socket.destroy());
        return socket.on('error', () => upstream.destroy());
      });
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
      const proxyUrl = `http://u:p%40@127.0.0.1:${(proxy.address() as AddressInfo).port}`;
      const client = clientOf({ server: server.url, tls: { ca: authority.ca }, proxyUrl });
      const remote = await client.exec(target, command);
      (await server.peer()).exit(0);
      expect(await remote.exited).toBe(0);
      expect(logins).toEqual([`Basic ${Buffer.from('u:p@').toString('base64')}`]);
      await expect(client.exec(target, command)).rejects.toThrow('proxy connect: 407 X');
      proxy.closeAllConnections();
      proxy.close();
    });
  });

  it('puts the path of the server URL before its own', async () => {
    const server = await startServer();
    await clientOf({ server: `${server.url}/clusters/a/` }).attach(target);
    expect(server.requests[0]?.url).toMatch(/^\/clusters\/a\/api\/v1\/namespaces\/n\/pods\/p\/attach\?/);
  });

  it('leaves no socket when the server breaks off in the middle of its answer', async () => {
    const breaking = createServer((socket) => socket.once('data', () => socket.end('HTTP/1.1 101 Swi')));
    await new Promise<void>((resolve) => breaking.listen(0, '127.0.0.1', resolve));
    const client = clientOf({ server: `http://127.0.0.1:${(breaking.address() as AddressInfo).port}` });
    await expect(client.exec(target, command)).rejects.toMatchObject({ name: 'TransportError' });
    await new Promise<void>((resolve) => breaking.close(() => resolve()));
  });
});
