import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { type KubernetesObject, resource, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClientOptions } from '../config/client-config.ts';
import { anonymous } from '../credentials/credentials.ts';
import { testAuthority } from '../testing/certificates.ts';
import { json, ScriptedServer, status } from '../testing/scripted-server.ts';
import { currentWire } from '../testing/wire.ts';
import { WireClient as Client } from '../testing/wire-client.ts';
import { ConnectionPool } from './connection-pool.ts';
import { TlsMaterial } from './tls-material.ts';

const Node = resource<KubernetesObject>({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });
const named = (name: string): KubernetesObject => ({ kind: 'Node', apiVersion: 'v1', metadata: { name } });

describe('connections and answers', () => {
  let server: ScriptedServer;
  const clients: Client[] = [];
  const connect = (options: ClientOptions = {}): Client => {
    const client = new Client({ server: server.url }, options);
    clients.push(client);
    return client;
  };
  beforeEach(async () => {
    server = await ScriptedServer.start();
    // Echoes the requested name; later names are answered first.
    server.always(async (response, request) => {
      const name = request.path.split('/').at(-1) ?? '';
      for (let turns = 10 - Number(name); turns > 0; turns--) await new Promise(setImmediate);
      json(named(name))(response, request);
    });
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
    await server[Symbol.asyncDispose]();
  });

  it('many calls at once get each its own answer', async () => {
    const client = connect();
    const names = Array.from({ length: 40 }, (_, at) => String(at % 10));
    const nodes = await Promise.all(names.map((name) => client.get(Node, { name })));
    expect(nodes.map(({ metadata }) => metadata?.name)).toEqual(names);
  });

  it('a connection that the server has ended while it was idle is replaced', async () => {
    const client = connect();
    await client.get(Node, { name: '1' });
    const [idle] = server.sockets;
    const gone = new Promise((resolve) => idle?.once('close', resolve));
    idle?.resetAndDestroy();
    await gone;
    expect(await client.get(Node, { name: '2' })).toEqual(named('2'));
    expect(server.connections).toBe(2);
  });

  it('a connection on which a call ran out of time is not used again', async () => {
    const clock = new VirtualClock();
    const client = connect({ clock });
    server.next(() => undefined);
    const late = expect(client.get(Node, { name: '1' })).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    while (server.requests.length === 0) await new Promise(setImmediate);
    await clock.advance(30_000);
    await late;
    const hung = server.last.socket;
    expect(await client.get(Node, { name: '2' })).toEqual(named('2'));
    // A stream over HTTP/2 ends without its connection.
    expect(server.last.socket === hung).toBe(currentWire().http2);
  });

  it('each call counts its own retries', async () => {
    const client = connect({ maxRetries: 10 });
    server.always(json(status(429, 'TooManyRequests', 'x'), { status: 429, headers: { 'retry-after': '0' } }));
    const calls = Array.from({ length: 20 }, () => client.get(Node, { name: '1' }).catch(({ code }) => code));
    expect(new Set(await Promise.all(calls))).toEqual(new Set([429]));
    expect(server.requests).toHaveLength(20 * 11);
  });

  it.each([200, 201, 202, 203, 206])('%d is a success', async (code) => {
    server.next(json(named('1'), { status: code }));
    expect(await connect().create(Node, named('1'))).toEqual(named('1'));
  });

  it('204 without a body is a success where no object is expected, and an error where one is', async () => {
    const nothing = (response: { writeHead(code: number): { end(): void } }): void => response.writeHead(204).end();
    server.next(nothing, nothing);
    expect(await connect().raw({ path: '/x', method: 'POST' })).toMatchObject({ status: 204, body: '' });
    await expect(connect().get(Node, { name: '1' })).rejects.toThrow('0-length response with status code: 204');
  });

  it.each([300, 304, 399])('%d is an error', async (code) => {
    server.next((response) => void response.writeHead(code).end());
    await expect(connect().get(Node, { name: '1' })).rejects.toMatchObject({ code });
  });

  it('no secret shows when a client or its errors are printed', async () => {
    const { cert, key } = await (await testAuthority()).issue('a');
    const config = { server: server.url, token: 'top-secret', tls: { key, cert } };
    const client = new Client(config);
    server.always(json(status(403, 'Forbidden', 'no'), { status: 403 }));
    const error = await client.get(Node, { name: '1' }).catch((reason: unknown) => reason);
    const options = { depth: 20, showHidden: true };
    expect(error).toMatchObject({ code: 403 });
    const printed = [inspect(client, options), JSON.stringify(client), inspect(error, options), String(client)].join();
    expect(printed).not.toMatch(/top-secret|PRIVATE KEY/);
  });
});

describe('a pool whose server never answers the TLS handshake', () => {
  it('ends the connections of its streams, and what they carry, with close()', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => void sockets.push(socket.on('error', () => undefined).resume()));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const server = new URL(`https://127.0.0.1:${(silent.address() as AddressInfo).port}`);
    const clock = new VirtualClock();
    const material = new TlsMaterial({ tls: {}, credentials: anonymous, clock, logger: silentLogger });
    const pool = new ConnectionPool({ server, tls: {}, material, proxyUrl: undefined, clock, http2: undefined });
    const stream = pool.openStream(await pool.generation(), () => undefined);
    const { signal } = new AbortController();
    const request = { origin: server.origin, path: '/', method: 'GET', headers: {}, body: null, signal } as const;
    const answer = stream
      .request({ ...request, beforeSend: () => undefined })
      .catch(({ code }: { code: string }) => code);
    while (sockets.length === 0) await new Promise(setImmediate);
    const gone = new Promise((resolve) => sockets[0]?.once('close', resolve));
    await pool.close();
    await gone;
    expect(await answer).toBe('UND_ERR_DESTROYED');
    await new Promise((resolve) => silent.close(resolve));
  });
});

describe('the pool when files of its certificates change', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kapstan-pool-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  it.each(['caFile', 'certFile', 'keyFile'] as const)(
    'is replaced for a new %s, and the old one retired',
    async (member) => {
      const clock = new VirtualClock();
      const authority = await testAuthority();
      const { cert, key } = await authority.issue('one');
      const texts = { caFile: authority.ca, certFile: cert, keyFile: key };
      const files = {
        caFile: join(directory, 'ca'),
        certFile: join(directory, 'cert'),
        keyFile: join(directory, 'key'),
      };
      for (const [name, path] of Object.entries(files)) await writeFile(path, texts[name as typeof member]);
      const material = new TlsMaterial({ tls: files, credentials: anonymous, clock, logger: silentLogger });
      const server = new URL('https://127.0.0.1:1');
      const pool = new ConnectionPool({ server, tls: files, material, proxyUrl: undefined, clock, http2: undefined });
      const first = await pool.generation();
      await clock.advance(60_000);
      expect(await pool.generation()).toBe(first);
      // The content differs but still fits the other two files.
      await writeFile(files[member], `${texts[member]}\n`);
      await clock.advance(60_000);
      expect(await pool.generation()).not.toBe(first);
      expect(first.pool).toMatchObject({ closed: true });
      await pool.close();
    },
  );
});
