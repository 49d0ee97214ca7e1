import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { systemClock } from '@kapstan/api';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { selfSigned } from '../testing/self-signed.ts';
import { WebhookError, WebhookPool, type WebhookPoolOptions } from './webhook-pool.ts';
import type { WebhookIdentity } from './webhook-target.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let own: { readonly cert: string; readonly key: string };
let ca: string;
let answer: Answer;
let connections: number;
let pool: WebhookPool;

const echo: Answer = (request, response) => {
  request.pipe(response);
};

beforeEach(async () => {
  own = await selfSigned('CN=hook');
  const { cert, key } = own;
  ca = cert;
  answer = echo;
  connections = 0;
  server = createServer({ cert, key, requestCert: true, rejectUnauthorized: false }, (request, response) =>
    answer(request, response),
  );
  server.on('secureConnection', () => {
    connections++;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  pool = new WebhookPool();
});
afterEach(async () => {
  pool.close();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const port = (): number => (server.address() as AddressInfo).port;
const url = (path = '/convert'): string => `https://127.0.0.1:${port()}${path}`;
const call = { body: Buffer.from('{"a":1}'), timeoutSeconds: 30, maxAnswerBytes: 1024 };

const ask = async (asked: WebhookPool, ...args: Parameters<WebhookPool['ask']>): Promise<Buffer> =>
  (await asked.ask(...args)).body;
const post = (...args: Parameters<WebhookPool['ask']>): Promise<Buffer> => ask(pool, ...args);

async function failure(posting: Promise<unknown>): Promise<string> {
  const error = await posting.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof WebhookError)) throw new Error(`no WebhookError: ${String(error)}`);
  return `${error.reason}: ${error.message.replaceAll(String(port()), 'PORT')}`;
}

/** Returns a certificate for another name; nobody checks its signature. */
function renamed(pem: string, name: string, index: number): string {
  const der = Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64').toString('latin1');
  const other = der.replaceAll(name, String(index).padStart(name.length, '1'));
  const base64 = Buffer.from(other, 'latin1').toString('base64');
  return `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`;
}

function poolWith(options: WebhookPoolOptions): WebhookPool {
  pool.close();
  pool = new WebhookPool(options);
  return pool;
}

describe('WebhookPool', () => {
  it('posts JSON, says how long it waits, and keeps the connection', async () => {
    const seen: string[] = [];
    answer = (request, response) => {
      seen.push(`${request.method} ${request.url} ${request.headers['content-type']}`);
      echo(request, response);
    };
    expect((await post({ url: url(), caBundle: ca }, call)).toString()).toBe('{"a":1}');
    await post({ url: url(), caBundle: ca }, { ...call, timeoutSeconds: 5 });
    expect(seen).toEqual(['POST /convert?timeout=30s application/json', 'POST /convert?timeout=5s application/json']);
    expect(connections).toBe(1);
  });

  it('does not trust a certificate that the bundle does not vouch for', async () => {
    const { cert: stranger } = await selfSigned('CN=stranger');
    const unknown =
      'unreachable: Post "https://127.0.0.1:PORT/convert?timeout=30s": tls: failed to verify certificate: x509: certificate signed by unknown authority';
    expect(await failure(post({ url: url(), caBundle: stranger }, call))).toBe(unknown);
    expect(await failure(post({ url: url(), caBundle: ' \n' }, call))).toBe(unknown);
  });

  it('trusts the last of a thousand authorities, which it reads in turns, and refuses more', async () => {
    const { cert: stranger } = await selfSigned('CN=00000000');
    const others = Array.from({ length: 999 }, (_, index) => renamed(stranger, '00000000', index)).join('');
    const posting = post({ url: url(), caBundle: others + ca }, call);
    let turns = 0;
    const counting = setInterval(() => turns++, 0);
    expect((await posting).toString()).toBe('{"a":1}');
    clearInterval(counting);
    expect(turns).toBeGreaterThanOrEqual(15);
    expect(await failure(post({ url: url(), caBundle: others + ca + ca }, call))).toContain(
      'unable to load root certificates: more than 1000 of them',
    );
  });

  it('presents its certificate and credentials, and verifies the given server name', async () => {
    const { cert, key } = await selfSigned('CN=server');
    server.setSecureContext({ ...own, ca: cert });
    let tokens = 0;
    answer = (request, response) => {
      const peer = (request.socket as TLSSocket).getPeerCertificate();
      response.end(`${peer.subject?.CN ?? 'nobody'} ${request.headers.authorization ?? 'nothing'}`);
    };
    const asked = async (identity: WebhookIdentity): Promise<string> =>
      (await post({ url: url(), caBundle: ca, identity }, call)).toString();
    expect(await asked({})).toBe('nobody nothing');
    expect(await asked({ certificate: () => ({ cert, key }) })).toBe('server nothing');
    expect(await asked({ authorization: () => `Bearer t${++tokens}` })).toBe('nobody Bearer t1');
    expect(await asked({ authorization: async () => `Bearer t${++tokens}` })).toBe('nobody Bearer t2');
    expect(await failure(asked({ serverName: 'other' }))).toContain(
      'certificate is not valid for any names, but wanted to match other',
    );
    expect(await asked({ serverName: 'other', trustsAnyone: true })).toBe('nobody nothing');
  });

  it("reports an answer with an error code in the Go client's words", async () => {
    const refused = (code: number, body: string, contentType = 'text/plain'): Promise<string> => {
      answer = (_request, response) => void response.writeHead(code, { 'content-type': contentType }).end(body);
      return failure(post({ url: url(), caBundle: ca }, call));
    };
    expect(await refused(500, 'broken')).toBe(
      'refused: an error on the server ("broken") has prevented the request from succeeding',
    );
    expect(await refused(500, '')).toBe(
      'refused: an error on the server ("") has prevented the request from succeeding',
    );
    expect(await refused(500, 'broken', 'application/json')).toBe(
      'refused: an error on the server ("unknown") has prevented the request from succeeding',
    );
    expect(await refused(500, 'kind: Status\napiVersion: v1\nstatus: Failure\nmessage: own words')).toBe(
      'refused: own words',
    );
    expect(await refused(500, '{"kind":"Status","message":"no failure"}', 'application/json')).toBe(
      'refused: an error on the server ("unknown") has prevented the request from succeeding',
    );
    expect(await refused(404, 'x')).toBe('refused: the server could not find the requested resource');
    expect(await refused(418, 'x')).toBe(
      'refused: the server responded with the status code 418 but did not return more information',
    );
    expect(await refused(500, '{"kind":"Status","status":"Failure","message":"own words"}')).toBe('refused: own words');
    expect(await refused(502, '{"kind":')).toMatch(/^refused: an error on the server/);
  });

  it('takes only the codes from 200 to 206 for an answer, and only what Go can read for its type', async () => {
    const asked = (code: number, contentType: string): Promise<string> => {
      answer = (_request, response) => void response.writeHead(code, { 'content-type': contentType }).end('{}');
      return post({ url: url(), caBundle: ca }, call).then(String, (error: Error) => error.message);
    };
    expect(await asked(206, 'text/html')).toBe('{}');
    expect(await asked(200, '')).toBe('{}');
    expect(await asked(207, 'application/json')).toBe(
      'the server responded with the status code 207 but did not return more information',
    );
    for (const [contentType, why] of [
      ['a b', 'expected slash after first token'],
      ['application/json; charset', 'invalid media parameter'],
      ['application/json; a=b; a=c', 'duplicate parameter name'],
      ['application/json, text/plain', 'unexpected content after media subtype'],
      ['application/', 'expected token after slash'],
      [';', 'no media type'],
    ] as const) {
      expect(await asked(200, contentType)).toBe(`Internal error occurred: mime: ${why}`);
      expect(await asked(500, contentType)).toBe(`Internal error occurred: mime: ${why}`);
    }
  });

  it('reads an answer that is compressed, up to its maximum size', async () => {
    let body = gzipSync('{"b":2}');
    answer = (_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(body);
    expect((await post({ url: url(), caBundle: ca }, call)).toString()).toBe('{"b":2}');
    body = gzipSync('x'.repeat(1025));
    expect(await failure(post({ url: url(), caBundle: ca }, call))).toBe(
      'refused: the answer of the webhook is larger than 1024 bytes',
    );
    const unread = 'refused: unexpected error when reading response body. Please retry. Original error: ';
    body = Buffer.from('{"a":"bcd"}');
    expect(await failure(post({ url: url(), caBundle: ca }, call))).toBe(`${unread}gzip: invalid header`);
    for (const end of [5, -1]) {
      body = gzipSync('{"b":2}').subarray(0, end);
      expect(await failure(post({ url: url(), caBundle: ca }, call))).toBe(`${unread}unexpected EOF`);
    }
  });

  it('reads an answer as compressed however the encoding is spelt, unless it is empty', async () => {
    let body = gzipSync('{"b":2}');
    answer = (_request, response) => void response.writeHead(200, { 'content-encoding': 'GZip' }).end(body);
    expect((await post({ url: url(), caBundle: ca }, call)).toString()).toBe('{"b":2}');
    body = Buffer.alloc(0);
    expect((await post({ url: url(), caBundle: ca }, call)).toString()).toBe('');
  });

  it.each([
    [301, 'GET undefined '],
    [302, 'GET undefined '],
    [303, 'GET undefined '],
    [307, 'POST application/json {"a":1}'],
    [308, 'POST application/json {"a":1}'],
  ])('follows a redirect with code %i as Go does', async (code, expected) => {
    answer = (request, response) => {
      if (request.url?.startsWith('/convert') === true) {
        response.writeHead(code, { location: '/to?x=1#part' }).end('moved');
        return;
      }
      const { referer, 'content-type': contentType } = request.headers;
      response.write(`${request.url} ${referer?.replace(String(port()), 'PORT')} ${request.method} ${contentType} `);
      echo(request, response);
    };
    expect((await post({ url: url(), caBundle: ca }, call)).toString()).toBe(
      `/to?x=1 https://127.0.0.1:PORT/convert?timeout=30s ${expected}`,
    );
  });

  it('does not follow other codes, nor a redirect to nowhere', async () => {
    const redirected = (code: number, headers: Record<string, string>): Promise<string> => {
      answer = (_request, response) => void response.writeHead(code, headers).end();
      return failure(post({ url: url(), caBundle: ca }, call));
    };
    for (const [code, headers] of [
      [300, { location: '/to' }],
      [304, { location: '/to' }],
      [307, {}],
    ] as const) {
      expect(await redirected(code, headers)).toBe(
        `refused: the server responded with the status code ${code} but did not return more information`,
      );
    }
  });

  it('gives up at the tenth redirect', async () => {
    let asked = 0;
    let last = 9;
    answer = (request, response) => {
      if (++asked > last) echo(request, response);
      else response.writeHead(307, { location: '/again' }).end();
    };
    expect((await post({ url: url(), caBundle: ca }, call)).toString()).toBe('{"a":1}');
    asked = 0;
    last = 10;
    expect(await failure(post({ url: url(), caBundle: ca }, call))).toBe(
      'unreachable: Post "/again": stopped after 10 redirects',
    );
    expect(asked).toBe(10);
  });

  it('names the place of a redirect that cannot be asked', async () => {
    const redirected = (location: string): Promise<string> => {
      answer = (request, response) => {
        if (request.url === '/cut') request.socket.destroy();
        else response.writeHead(307, { location }).end();
      };
      return failure(post({ url: url(), caBundle: ca }, call));
    };
    expect(await redirected('/cut')).toBe('unreachable: Post "https://127.0.0.1:PORT/cut": EOF');
    expect(await redirected(`https://localhost:${port()}/`)).toMatch(
      /^unreachable: Post "https:\/\/localhost:PORT\/": tls: failed to verify certificate: x509: certificate is/,
    );
    // A review may hold secrets, so it stays with https, unlike in kube-apiserver.
    expect(await redirected('http://127.0.0.1:1/to')).toBe(
      'unreachable: Post "http://127.0.0.1:1/to": unsupported protocol scheme "http"',
    );
    expect(await redirected('/%zz')).toBe(
      'unreachable: Post "https://127.0.0.1:PORT/convert?timeout=30s": failed to parse Location header "/%zz": parse "/%zz": invalid URL escape "%zz"',
    );
    expect(await redirected('https://127.0.0.1:bad/')).toMatch(
      /^unreachable: Post "https:\/\/127\.0\.0\.1:PORT\/convert\?timeout=30s": failed to parse Location header "https:\/\/127\.0\.0\.1:bad\/": /,
    );
  });

  it('looks for broken escapes in the path and the fragment of a redirect, not in its query', async () => {
    let location = '/to?a=%zz';
    answer = (request, response) => {
      if (request.url === '/to?a=%zz') echo(request, response);
      else response.writeHead(307, { location }).end();
    };
    expect((await post({ url: url(), caBundle: ca }, call)).toString()).toBe('{"a":1}');
    for (location of ['/%zz?a', '/to?a#%zz', '/to#?%zz'])
      expect(await failure(post({ url: url(), caBundle: ca }, call))).toMatch(/: invalid URL escape "%zz"$/);
  });

  it('shows no user and password of a redirect in an error', async () => {
    const redirected = (location: string): Promise<string> => {
      answer = (_request, response) => void response.writeHead(307, { location }).end();
      return failure(post({ url: url(), caBundle: ca }, call));
    };
    const place = `127.0.0.1:${port()}`;
    expect(await redirected(`https://me:secret@${place}/`)).toBe(
      'unreachable: Post "https://127.0.0.1:PORT/": stopped after 10 redirects',
    );
    for (const user of [
      'https://me:secret@',
      'HTTPS:\\\\me:secret@',
      '//me:secret@',
      'http:me:secret@',
      'https://a@b:secret@',
    ]) {
      const text = await redirected(`${user}${place}/%zz`);
      expect(text).toMatch(/failed to parse Location header ".*127\.0\.0\.1:PORT\/%zz"/);
      expect(text).not.toContain('secret');
    }
    expect(await redirected('https://me:secret@127.0.0.1:bad/')).not.toContain('secret');
  });

  it('shows its credentials to the host for which they were given, not to those to which that redirects', async () => {
    const seen: (string | undefined)[] = [];
    answer = (request, response) => {
      seen.push(`${request.headers.host?.split(':')[0]} ${request.headers.authorization}`);
      if (request.url === '/here') response.writeHead(307, { location: `https://localhost:${port()}/there` }).end();
      else if (request.url === '/there') echo(request, response);
      else response.writeHead(307, { location: '/here' }).end();
    };
    const identity = { authorization: () => 'Bearer t', trustsAnyone: true };
    await post({ url: url(), identity }, call);
    expect(seen).toEqual(['127.0.0.1 Bearer t', '127.0.0.1 Bearer t', 'localhost undefined']);
  });

  it('presents its certificate to the host for which it was given, not to those to which that redirects', async () => {
    const { cert, key } = await selfSigned('CN=server');
    server.setSecureContext({ ...own, ca: cert });
    const seen: string[] = [];
    answer = (request, response) => {
      const peer = (request.socket as TLSSocket).getPeerCertificate();
      seen.push(`${request.headers.host?.split(':')[0]} ${peer.subject?.CN ?? 'nobody'}`);
      if (request.url === '/here') response.writeHead(307, { location: `https://localhost:${port()}/there` }).end();
      else if (request.url === '/there') response.writeHead(307, { location: url('/back') }).end();
      else if (request.url === '/back') echo(request, response);
      else response.writeHead(307, { location: '/here' }).end();
    };
    const identity = { certificate: () => ({ cert, key }), trustsAnyone: true };
    await post({ url: url(), identity }, call);
    expect(seen).toEqual(['127.0.0.1 server', '127.0.0.1 server', 'localhost nobody', '127.0.0.1 server']);
  });

  it('sends a body that holds credentials to no other host', async () => {
    const seen: string[] = [];
    let code = 307;
    answer = (request, response) => {
      seen.push(`${request.method} ${request.headers.host?.split(':')[0]}`);
      if (request.url === '/here') response.writeHead(code, { location: `https://localhost:${port()}/there` }).end();
      else if (request.url === '/there') response.end('{}');
      else response.writeHead(307, { location: '/here' }).end();
    };
    const target = { url: url(), identity: { trustsAnyone: true } };
    const secret = { ...call, holdsCredentials: true };
    for (code of [307, 308]) {
      expect(await failure(post(target, secret))).toBe(
        'unreachable: Post "https://localhost:PORT/there": the webhook redirects to another host, to which the credentials in the review are not sent',
      );
      expect(seen.splice(0)).toEqual(['POST 127.0.0.1', 'POST 127.0.0.1']);
    }
    code = 303;
    await post(target, secret);
    expect(seen).toEqual(['POST 127.0.0.1', 'POST 127.0.0.1', 'GET localhost']);
  });

  it('asks the first place again when the one to which that redirects wants to be asked later', async () => {
    const paths: unknown[] = [];
    answer = (request, response) => {
      paths.push(request.url?.split('?')[0]);
      if (request.url !== '/to') response.writeHead(307, { location: '/to' }).end();
      else if (paths.length < 4) response.writeHead(503, { 'retry-after': '0' }).end();
      else echo(request, response);
    };
    await post({ url: url(), caBundle: ca }, call);
    expect(paths).toEqual(['/convert', '/to', '/convert', '/to']);
  });

  it('follows a Service that redirects to itself on the way to it, and looks for its name elsewhere', async () => {
    own = await selfSigned('CN=hook', ['hook.ns.svc']);
    server.setSecureContext(own);
    const paths: string[] = [];
    let location = 'https://hook.ns.svc:443/a';
    answer = (request, response) => {
      paths.push(`${request.headers.host?.replace(String(port()), 'PORT')}${request.url?.split('?')[0]}`);
      if (request.url?.startsWith('/c') === true) response.writeHead(307, { location }).end();
      else echo(request, response);
    };
    const service = { namespace: 'ns', name: 'hook', port: 443, path: '/c' };
    poolWith({ resolveService: async () => ({ host: '127.0.0.1', port: port() }) });
    await post({ service, caBundle: own.cert }, call);
    location = url('/b');
    await post({ service, caBundle: own.cert }, call);
    expect(paths).toEqual(['hook.ns.svc:443/c', 'hook.ns.svc:443/a', 'hook.ns.svc:443/c', '127.0.0.1:PORT/b']);
  });

  it('finds the way to a Service again when a redirect leads back to it', async () => {
    own = await selfSigned('CN=hook', ['hook.ns.svc']);
    server.setSecureContext(own);
    const hosts: unknown[] = [];
    answer = (request, response) => {
      hosts.push(request.headers.host?.split(':')[0]);
      if (request.url === '/away') response.writeHead(307, { location: 'https://hook.ns.svc/back' }).end();
      else if (request.url === '/back') echo(request, response);
      else response.writeHead(307, { location: url('/away') }).end();
    };
    poolWith({ resolveService: async () => ({ host: '127.0.0.1', port: port() }) });
    await post({ service: { namespace: 'ns', name: 'hook', port: 443 }, caBundle: own.cert }, call);
    expect(hosts).toEqual(['hook.ns.svc', '127.0.0.1', 'hook.ns.svc']);
  });

  it.each([429, 503])(
    'asks again after the time that an answer with code %i names, ten times at most',
    async (code) => {
      const waits: number[] = [];
      const clock = {
        ...systemClock,
        setTimer: (callback: () => void, delayMs: number) => {
          waits.push(delayMs);
          return systemClock.setTimer(callback, 0);
        },
      };
      let asked = 0;
      answer = (request, response) => {
        asked++;
        if (asked <= 3) response.writeHead(code, { 'retry-after': '2' }).end();
        else echo(request, response);
      };
      const target = { url: url(), caBundle: ca };
      expect((await ask(poolWith({ clock }), target, call)).toString()).toBe('{"a":1}');
      expect(waits).toEqual([2000, 2000, 2000]);
      asked = 0;
      answer = (_request, response) => {
        asked++;
        response.writeHead(code, { 'retry-after': '0' }).end();
      };
      expect(await failure(post(target, call))).toMatch(/^refused: /);
      expect(asked).toBe(11);
    },
  );

  it('does not ask again after a refusal that names no time in seconds, nor after another code', async () => {
    let asked = 0;
    const refuse = (code: number, retryAfter: string): Promise<string> => {
      answer = (_request, response) => {
        asked++;
        response.writeHead(code, { 'retry-after': retryAfter }).end();
      };
      return failure(post({ url: url(), caBundle: ca }, call));
    };
    await refuse(429, 'Wed, 21 Oct 2026 07:28:00 GMT');
    await refuse(429, '');
    await refuse(404, '1');
    expect(asked).toBe(3);
  });

  it('gives up while it waits to ask again, when the time of the call is over', async () => {
    answer = (_request, response) => void response.writeHead(429, { 'retry-after': '3600' }).end();
    expect(await failure(post({ url: url(), caBundle: ca }, { ...call, timeoutSeconds: 0.2 }))).toMatch(
      /^timeout: Post .*context deadline exceeded/,
    );
  });

  it('ends calls that wait to ask again, or for a connection, when it is closed, and asks nobody afterwards', async () => {
    let asked = 0;
    const both = new Promise<void>((resolve) => {
      answer = (request, response) => {
        if (request.url?.startsWith('/later') === true) response.writeHead(429, { 'retry-after': '3600' }).end();
        if (++asked === 2) resolve();
      };
    });
    poolWith({ maxConnections: 1 });
    const target = { url: url('/later'), caBundle: ca };
    const later = post(target, call);
    const { cert, key } = await selfSigned('CN=server');
    const other = { url: url('/held'), caBundle: ca, identity: { certificate: () => ({ cert, key }) } };
    const held = [post(other, call), post(other, call)];
    const failures = Promise.all([later, ...held].map(failure));
    await both;
    pool.close();
    const closed = expect.stringMatching(/^unreachable: Post .*: context canceled$/);
    expect(await failures).toEqual([closed, closed, closed]);
    expect(await failure(post(target, call))).toEqual(closed);
    expect(asked).toBe(2);
  });

  it('opens none of the connections that wait for their turn once it is closed', async () => {
    const sockets: Socket[] = [];
    const silent = createTcpServer((socket) => void sockets.push(socket.on('error', () => undefined).resume()));
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const target = { url: `https://127.0.0.1:${(silent.address() as AddressInfo).port}/`, caBundle: ca };
    const failures = Promise.all(Array.from({ length: 40 }, () => failure(post(target, call))));
    await vi.waitFor(() => expect(sockets.length).toBe(16));
    pool.close();
    await failures;
    await Promise.all(sockets.map((socket) => socket.closed || once(socket, 'close')));
    expect(sockets.length).toBe(16);
    silent.close();
    await once(silent, 'close');
  });

  it('keeps the connections of a wave of calls', async () => {
    const held: ServerResponse[] = [];
    answer = (request, response) => {
      request.resume();
      // Each call of a wave needs a connection of its own, because none is answered before all have come.
      if (held.push(response) === 60) for (const one of held.splice(0)) one.end('{}');
    };
    const wave = (): Promise<unknown> =>
      Promise.all(Array.from({ length: 60 }, () => post({ url: url(), caBundle: ca }, call)));
    await wave();
    expect(connections).toBe(60);
    await wave();
    expect(connections).toBe(60);
  });

  it('gives a connection that becomes free to a call that waits for a handshake', async () => {
    await Promise.all(Array.from({ length: 200 }, () => post({ url: url(), caBundle: ca }, call)));
    expect(connections).toBeLessThan(200);
  });

  it('opens sixteen connections to one webhook at a time', async () => {
    const sockets: Socket[] = [];
    const mute = createTcpServer((socket) => void sockets.push(socket.on('error', () => undefined)));
    mute.listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const { port: mutePort } = mute.address() as AddressInfo;
    const stop = new AbortController();
    const asked = Array.from({ length: 60 }, () =>
      post({ url: `https://127.0.0.1:${mutePort}/`, caBundle: ca }, { ...call, signal: stop.signal }),
    );
    const all = Promise.allSettled(asked);
    await vi.waitFor(() => expect(sockets.length).toBeGreaterThanOrEqual(16));
    // Connections are accepted in the order in which they come, so all before the last one are there.
    const last = connect(mutePort, '127.0.0.1', () => undefined);
    await vi.waitFor(() => expect(sockets.some(({ remotePort }) => remotePort === last.localPort)).toBe(true));
    expect(sockets).toHaveLength(17);
    // Another webhook can be reached meanwhile.
    expect((await post({ url: url(), caBundle: ca }, call)).toString()).toBe('{"a":1}');
    stop.abort(new Error('over'));
    expect((await all).every(({ status }) => status === 'rejected')).toBe(true);
    last.destroy();
    for (const socket of sockets) socket.destroy();
    mute.close();
  });

  it('gives up no connections of calls that are about to be made, for whom there are more authorities than it keeps', async () => {
    const trusts = Array.from({ length: 300 }, (_, blanks) => `${ca}${'\n'.repeat(blanks + 1)}`);
    const posts = trusts.map((caBundle) => post({ url: url(), caBundle }, call));
    expect((await Promise.all(posts)).every((answered) => answered.toString() === '{"a":1}')).toBe(true);
  });

  it('counts the connections of a place after all calls to it were given up and others came in between', async () => {
    poolWith({ maxConnections: 2 });
    let open = 0;
    let most = 0;
    answer = (request, response) => {
      most = Math.max(most, ++open);
      setTimeout(() => {
        open -= 1;
        echo(request, response);
      }, 20);
    };
    const target = { url: url(), caBundle: ca };
    const [first, second] = [new AbortController(), new AbortController()];
    const given = [first, second].map(({ signal }) => failure(post(target, { ...call, signal })).catch(() => ''));
    await vi.waitFor(() => expect(open).toBe(0));
    const later: Promise<Buffer>[] = [];
    const ask = (): void => void later.push(...Array.from({ length: 6 }, () => post(target, call)));
    first.abort(new Error('over'));
    setImmediate(ask);
    second.abort(new Error('over'));
    await Promise.all(given);
    await vi.waitFor(() => expect(later).toHaveLength(6));
    ask();
    await Promise.all(later);
    expect(most).toBe(2);
  });

  it('reaches a Service whose host is a name that only DNS allows, or says that there is none', async () => {
    const service = { namespace: 'ns', name: 'hook', port: 443 };
    poolWith({ resolveService: async () => ({ host: 'hook.123', port: 443 }) });
    expect(await failure(post({ service, caBundle: ca }, call))).toMatch(/dial tcp: lookup hook\.123: no such host$/);
  });

  it('uses no connection that the webhook has closed with its answer', async () => {
    poolWith({ maxConnections: 1 });
    const asked: string[] = [];
    answer = (request, response) => {
      asked.push(request.url ?? '');
      response.setHeader('connection', 'close');
      echo(request, response);
    };
    const posts = Array.from({ length: 8 }, (_, at) => post({ url: url(`/${at}`), caBundle: ca }, call));
    await Promise.all(posts);
    // The calls were made in their order, each on a connection of its own.
    expect(asked.map((path) => path.split('?')[0])).toEqual(posts.map((_, at) => `/${at}`));
    expect(connections).toBe(8);
  });

  it('ends the handshakes of calls that were given up', async () => {
    const sockets: Socket[] = [];
    const mute = createTcpServer((socket) => void sockets.push(socket.on('error', () => undefined).resume()));
    mute.listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const target = { url: `https://127.0.0.1:${(mute.address() as AddressInfo).port}/`, caBundle: ca };
    const calls = Array.from({ length: 16 }, () => failure(post(target, { ...call, timeoutSeconds: 0.3 })));
    expect((await Promise.all(calls)).every((text) => text.startsWith('timeout: '))).toBe(true);
    await vi.waitFor(() => expect(sockets.filter((socket) => socket.closed)).toHaveLength(16));
    mute.close();
  });

  it('gives up after the time of the call', async () => {
    let isAsked: (() => void) | undefined;
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    answer = () => isAsked?.();
    let fire: (() => void) | undefined;
    const clock = {
      setBackgroundTimer: (callback: () => void, delayMs: number) => {
        expect(delayMs).toBe(30_000);
        fire = callback;
        return () => undefined;
      },
    };
    const failing = failure(ask(poolWith({ clock: clock as never }), { url: url(), caBundle: ca }, call));
    await asked;
    fire?.();
    expect(await failing).toBe(
      'timeout: Post "https://127.0.0.1:PORT/convert?timeout=30s": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
    );
  });

  it('gives up in time while it waits behind others for a connection', async () => {
    poolWith({ maxConnections: 1 });
    let isAsked = (): void => undefined;
    const asked = new Promise<void>((resolve) => (isAsked = resolve));
    answer = () => isAsked();
    const target = { url: url(), caBundle: ca };
    const held = failure(post(target, call));
    await asked;
    const waiting = failure(post(target, { ...call, timeoutSeconds: 0.1 }));
    const first = await Promise.race([waiting, held.then(() => 'the call that holds the connection')]);
    expect(first).toMatch(/^timeout: Post .*context deadline exceeded/);
    pool.close();
    await held;
  });

  it('ends with the request that it is for', async () => {
    const abort = new AbortController();
    answer = () => abort.abort(new Error('the client went away'));
    await expect(post({ url: url(), caBundle: ca }, { ...call, signal: abort.signal })).rejects.toThrow(
      'the client went away',
    );
  });

  it('fails where nobody listens, where the connection is cut, and where the answer is cut off', async () => {
    answer = (request) => void request.socket.destroy();
    expect(await failure(post({ url: url(), caBundle: ca }, call))).toBe(
      'unreachable: Post "https://127.0.0.1:PORT/convert?timeout=30s": EOF',
    );
    for (const headers of [
      { 'content-length': 100 },
      {},
      { connection: 'close', 'content-length': 100 },
      { connection: 'close' },
    ]) {
      answer = (request, response) => {
        response.writeHead(200, headers);
        // The head has to arrive before the end.
        response.write('{', () => setTimeout(() => request.socket.destroy(), 20));
      };
      expect(await failure(post({ url: url(), caBundle: ca }, call))).toBe(
        'unreachable: Post "https://127.0.0.1:PORT/convert?timeout=30s": unexpected EOF',
      );
    }
    const closed = url();
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
    await expect(post({ url: closed, caBundle: ca }, call)).rejects.toThrow(
      /dial tcp 127\.0\.0\.1:\d+: connect: connection refused$/,
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  it('tries again where an idle connection was closed meanwhile', async () => {
    await post({ url: url(), caBundle: ca }, call);
    let isFirst = true;
    answer = (request, response) => {
      if (!isFirst) return echo(request, response);
      isFirst = false;
      request.socket.destroy();
    };
    expect((await post({ url: url(), caBundle: ca }, call)).toString()).toBe('{"a":1}');
    expect(connections).toBe(2);
  });

  it('reads no more of an answer than it may', async () => {
    const tooLarge = 'refused: the answer of the webhook is larger than 1024 bytes';
    let sent = 0;
    answer = (_request, response) => {
      response.writeHead(200);
      const send = (): void => {
        sent += 1;
        if (sent < 1_000) response.write('x'.repeat(500), () => setTimeout(send, 1));
      };
      send();
    };
    expect(await failure(post({ url: url(), caBundle: ca }, call))).toBe(tooLarge);
    expect(sent).toBeLessThan(1_000);
    // The length that the webhook announces is enough, so nothing of the answer needs to come.
    answer = (_request, response) => response.writeHead(200, { 'content-length': 1025 }).flushHeaders();
    expect(await failure(post({ url: url(), caBundle: ca }, call))).toBe(tooLarge);
  });

  it('bounds connections and calls of a webhook, and one that hangs holds no other', async () => {
    const held: ServerResponse[] = [];
    let isHeld: (() => void) | undefined;
    const both = new Promise<void>((resolve) => {
      isHeld = resolve;
    });
    answer = (request, response) => {
      if (!request.url?.startsWith('/slow')) return echo(request, response);
      held.push(response);
      if (held.length === 2) isHeld?.();
    };
    poolWith({ maxConnections: 2, maxCalls: 3 });
    const slow = [1, 2, 3].map(() => post({ url: url('/slow'), caBundle: ca }, call));
    await both;
    expect(await failure(post({ url: url('/slow'), caBundle: ca }, call))).toMatch(
      /^busy: Post .*too many calls of this webhook are under way \(3\)/,
    );
    expect(held).toHaveLength(2);
    const { cert, key } = await selfSigned('CN=other');
    const other = createServer({ cert, key }, echo);
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    const target = { url: `https://127.0.0.1:${(other.address() as AddressInfo).port}/`, caBundle: cert };
    expect((await post(target, call)).toString()).toBe('{"a":1}');
    for (const response of held) response.end('{}');
    answer = (_request, response) => void response.end('{}');
    await Promise.all(slow);
    other.closeAllConnections();
    other.close();
  });

  it('finds a Service by the way that it was given, under the name in its certificate', async () => {
    const service = { namespace: 'ns', name: 'hook', port: 443, path: '/c' };
    const { cert, key } = await selfSigned('CN=hook');
    server.setSecureContext({ cert, key });
    const asked: unknown[] = [];
    poolWith({
      resolveService: async (wanted) => {
        asked.push(wanted);
        return { host: '127.0.0.1', port: port() };
      },
    });
    expect(await failure(post({ service, caBundle: cert }, call))).toBe(
      'unreachable: Post "https://hook.ns.svc:443/c?timeout=30s": tls: failed to verify certificate: x509: certificate is not valid for any names, but wanted to match hook.ns.svc',
    );
    expect(asked).toEqual([service]);
    poolWith({});
    expect(await failure(post({ service, caBundle: cert }, call))).toBe(
      'unreachable: Post "https://hook.ns.svc:443/c?timeout=30s": this server cannot reach Services',
    );
  });
});
