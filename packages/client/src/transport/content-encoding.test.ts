import { createServer } from 'node:http';
import { type AddressInfo, connect as connectTo, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { type KubernetesObject, resource } from '@kapstan/api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Client } from '../client.ts';
import type { ClientConfig, ClientOptions } from '../config/client-config.ts';
import { type Answer, json, ScriptedServer, stream } from '../testing/scripted-server.ts';
import { withDecodedBody } from './content-encoding.ts';
import type { AnswerBody } from './sender.ts';

const Node = resource<KubernetesObject>({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });
const node = { kind: 'Node', apiVersion: 'v1', metadata: { name: 'a' } };
const target = { name: 'a' };
const packed = gzipSync(JSON.stringify(node));

describe('an answer in gzip', () => {
  let server: ScriptedServer;
  const clients: Client[] = [];
  const connect = (options: ClientOptions = {}, config: Partial<ClientConfig> = {}): Client => {
    const client = new Client({ server: server.url, ...config }, { maxRetries: 0, ...options });
    clients.push(client);
    return client;
  };
  const encoded =
    (body: Buffer, encoding = 'gzip', status = 200): Answer =>
    (response) =>
      void response.writeHead(status, { 'content-type': 'application/json', 'content-encoding': encoding }).end(body);
  beforeEach(async () => {
    server = await ScriptedServer.start();
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
    await server[Symbol.asyncDispose]();
  });

  it.each<[string, ClientOptions, Partial<ClientConfig>, string | undefined]>([
    ['of a server on this machine', {}, {}, undefined],
    ['of a server on this machine, where it is wanted', { compression: true }, {}, 'gzip'],
    ['where it is not wanted', { compression: false }, {}, undefined],
    ['where the kubeconfig does not want it', {}, { disableCompression: true }, undefined],
    ['wanted against the kubeconfig', { compression: true }, { disableCompression: true }, 'gzip'],
  ])('is asked for or not: %s', async (_, options, config, expected) => {
    server.always(json(node));
    await connect(options, config).get(Node, target);
    expect(server.last.headers['accept-encoding']).toBe(expected);
  });

  it('is asked for by default of a server that is not on this machine, or is reached through a proxy', async () => {
    server.always(json(node));
    const { port } = new URL(server.url);
    await connect({}, { server: `http://0.0.0.0:${port}` }).get(Node, target);
    const proxy = createServer().on('connect', (_, socket: Socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(connectTo(Number(port), '127.0.0.1')).pipe(socket);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const through = connect({}, { proxyUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` });
    await through.get(Node, target);
    expect(server.requests.map(({ headers }) => headers['accept-encoding'])).toEqual(['gzip', 'gzip']);
    await through.close();
    await new Promise((resolve) => proxy.close(resolve));
  });

  it('is not asked for by watches and logs, and understood if it comes anyway, event by event', async () => {
    const client = connect({ compression: true });
    server.next(stream(`${JSON.stringify({ type: 'ADDED', object: node })}\n`));
    await client.watchEvents(Node).next();
    expect(server.last.headers['accept-encoding']).toBeUndefined();
    const line = Buffer.from(`${JSON.stringify({ type: 'ADDED', object: node })}\n`);
    // The body stays open, so the bytes received so far must be delivered without more.
    server.next((response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.write(gzipSync(line).subarray(0, -8));
    });
    expect((await client.watchEvents(Node).next()).value).toMatchObject({ type: 'ADDED', object: node });
  });

  it.each([
    ['an object', packed],
    [
      'several members',
      Buffer.concat([gzipSync('{"kind":"Node","apiVersion":"v1",'), gzipSync('"metadata":{"name":"a"}}')]),
    ],
    ['padding of zeros', Buffer.concat([packed, Buffer.alloc(8)])],
  ])('is read: %s', async (_, body) => {
    server.next(encoded(body), encoded(body, 'X-GZIP'));
    const client = connect({ compression: true });
    expect(await client.get(Node, target)).toEqual(node);
    expect(await client.get(Node, target)).toEqual(node);
  });

  it.each([
    ['ends early', packed.subarray(0, -9), 'ECONNRESET', 'cannot decompress the answer: unexpected end of file'],
    [
      'ends within its head',
      packed.subarray(0, 4),
      'ECONNRESET',
      'cannot decompress the answer: unexpected end of file',
    ],
    ['is none', Buffer.from('{"kind":"Node"}'), 'EBADMSG', 'cannot decompress the answer: incorrect header check'],
    ['is followed by other bytes', Buffer.concat([packed, Buffer.from('more')]), 'EBADMSG', 'incorrect header check'],
    ['has a wrong checksum', flipped(packed, -6), 'EBADMSG', 'cannot decompress the answer: incorrect data check'],
  ])('that %s is an error', async (_, body, code, message) => {
    server.always(encoded(body));
    const client = connect({ compression: true });
    const calls = [() => client.get(Node, target), () => client.listPage(Node), () => client.raw({ path: '/x' })];
    for (const call of calls)
      await expect(call()).rejects.toMatchObject({
        name: 'TransportError',
        code,
        message: expect.stringContaining(message),
      });
  });

  it('that carries a Status is the error that it says', async () => {
    const failure = {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason: 'NotFound',
      code: 404,
      message: 'no node',
    };
    server.always(encoded(gzipSync(JSON.stringify(failure)), 'gzip', 404));
    const client = connect({ compression: true });
    await expect(client.get(Node, target)).rejects.toMatchObject({
      name: 'StatusError',
      code: 404,
      message: 'no node',
    });
    await expect(client.watchEvents(Node).next()).rejects.toMatchObject({ code: 404, message: 'no node' });
  });

  it.each(['br', 'deflate', 'gzip, gzip'])('in another encoding, %s, is refused by its name', async (encoding) => {
    server.always(encoded(brotliCompressSync('{}'), encoding));
    const client = connect({ compression: true });
    const message = expect.stringContaining(
      `the answer has the content encoding "${encoding}", but only gzip is supported`,
    );
    await expect(client.get(Node, target)).rejects.toMatchObject({ code: 'EBADMSG', message });
    await expect(client.watchEvents(Node).next()).rejects.toMatchObject({ code: 'EBADMSG', message });
    server.always(json(node));
    expect(await client.get(Node, target)).toEqual(node);
  });

  it('is decompressed no faster than it is read, whatever its ratio', async () => {
    const bomb = gzipSync(Buffer.alloc(256 * 1024 * 1024));
    const source = Readable.from([bomb]) as unknown as AnswerBody;
    const { body } = withDecodedBody({ statusCode: 200, headers: { 'content-encoding': 'gzip' }, body: source });
    let largest = 0;
    let read = 0;
    for await (const chunk of body) {
      largest = Math.max(largest, (chunk as Buffer).length);
      read += (chunk as Buffer).length;
      expect(body.readableLength).toBeLessThan(1024 * 1024);
      if (read > 4 * 1024 * 1024) break;
    }
    expect(largest).toBeLessThanOrEqual(65_536);
    expect([body.destroyed, source.destroyed]).toEqual([true, true]);
  });

  it('ends with its call', async () => {
    const gone = new Promise<void>((resolve) => {
      server.next((response, { socket }) => {
        socket.once('close', () => resolve());
        response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' });
        response.write(gzipSync('x'.repeat(1000)).subarray(0, 20));
      });
    });
    const body = await connect({ compression: true }).rawStream({ path: '/x' });
    body.destroy();
    await gone;
  });
});

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  const index = copy.length + at;
  copy[index] = (copy[index] ?? 0) ^ 1;
  return copy;
}
