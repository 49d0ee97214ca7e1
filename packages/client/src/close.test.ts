import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect as connectTcp, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type KubernetesObject, resource } from '@kapstan/api';
import { LeakCheck, VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { PortForward, PortForwardOptions } from './streaming/port-forward.ts';
import { type TestAuthority, testAuthority } from './testing/certificates.ts';
import { StreamServer } from './testing/stream-server.ts';
import { WireClient as Client } from './testing/wire-client.ts';

const Node = resource<KubernetesObject>({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });
const target = { namespace: 'n', name: 'p' };
const canceled = {
  name: 'TransportError',
  code: 'ECANCELED',
  message: expect.stringMatching(/^GET https:\/\/[^ ]+: the client is closed$/),
};

describe('close() of a client', () => {
  let authority: TestAuthority;
  let directory: string;
  let server: StreamServer;
  let clock: VirtualClock;
  let leaks: LeakCheck;
  const clients: Client[] = [];
  const connect = (): Client => {
    const path = (name: string): string => join(directory, name);
    const tls = { ca: authority.ca, certFile: path('crt'), keyFile: path('key') };
    const client = new Client({ server: server.url, tls }, { clock });
    clients.push(client);
    return client;
  };
  const dial = (forward: PortForward): Socket =>
    connectTcp(forward.ports[0]?.local ?? 0, '127.0.0.1').on('error', () => undefined);
  const forwardOf = (client: Client, options: Partial<PortForwardOptions> = {}): Promise<PortForward> =>
    client.portForward(target, { ports: ['0:80'], addresses: ['127.0.0.1'], ...options });
  /** Opens one watch through each of the two APIs, waits until the server accepts them, and returns how they end. */
  const openWatches = async (client: Client): Promise<Promise<unknown>[]> => {
    const accepted = new EventEmitter();
    const onOpen = (): void => void accepted.emit('open');
    const pushed = once(accepted, 'open');
    const error = new Promise((resolve) => client.watch(Node, { onOpen }).subscribe({ error: resolve }));
    await pushed;
    const pulled = once(accepted, 'open');
    const event = client.watchEvents(Node, { onOpen }).next();
    await pulled;
    return [error, event.catch((reason: unknown) => reason)];
  };
  const endOf = (socket: Socket): Promise<unknown> => new Promise((resolve) => socket.resume().once('close', resolve));
  const refusalOf = (forward: PortForward): Promise<unknown> =>
    new Promise((resolve) => dial(forward).once('error', resolve));
  beforeAll(async () => {
    authority = await testAuthority();
  });
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kapstan-close-'));
    const { cert, key } = await authority.issue('user');
    await writeFile(join(directory, 'crt'), cert);
    await writeFile(join(directory, 'key'), key);
    const own = await authority.issue('server', ['127.0.0.1']);
    server = await StreamServer.start({ tls: { ...own, ca: authority.ca, requestCert: true } });
    // Watches and logs get endless answers; other requests are never answered.
    server.onRead = (request, response) => {
      if (request.url === '/api/v1/namespaces/n/pods/p') return void response.end('{}');
      if (!/watch=|follow=/.test(request.url ?? '')) return;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.flushHeaders();
    };
    clock = new VirtualClock();
    leaks = new LeakCheck({ clock });
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
    await server[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });

  it('leaves nothing of what it had opened that would keep the process alive', async () => {
    const client = connect();
    const outcomes = await openWatches(client);
    const failure = (work: Promise<unknown>): void => void outcomes.push(work.catch((error: unknown) => error));
    failure(text(await client.podLog(target, { follow: true })));
    failure((await client.exec(target, { command: ['cat'], stdin: true })).exited);
    failure((await client.attach(target)).exited);
    failure(text(await client.dialPort(target, 80)));
    const forward = await forwardOf(client);
    const ended = endOf(dial(forward));
    for (let peers = 0; peers < 4; peers++) await server.peer();
    failure(client.get(Node, { name: 'a' }));
    const catalog = expect(client.discovery.catalog()).rejects.toMatchObject({ code: 'ECANCELED' });
    await client.close();
    for (const outcome of await Promise.all(outcomes)) expect(outcome).toMatchObject(canceled);
    expect(outcomes).toHaveLength(7);
    await Promise.all([catalog, ended]);
    await forward.close();
    while (server.sockets.size > 0) await new Promise(setImmediate);
    await leaks.assertNone();
  });

  it('ends its own port-forwards, and none of a client that shares its connections', async () => {
    const [one, two] = [connect(), connect()];
    const failures: Error[] = [];
    const onConnectionError = (error: Error): void => void failures.push(error);
    const [first, second] = await Promise.all([forwardOf(one, { onConnectionError }), forwardOf(two)]);
    const local = endOf(dial(first));
    const peer = await server.peer();
    const ended = [local, once(peer.socket, 'close')];
    await Promise.all([one.close(), one.close()]);
    expect(await refusalOf(first)).toMatchObject({ code: 'ECONNREFUSED' });
    await Promise.all(ended);
    expect(failures).toEqual([]);
    await first.close();
    const other = dial(second);
    await once(other, 'connect');
    await server.peer();
    await second.close();
    await expect(forwardOf(one)).rejects.toMatchObject({ code: 'ECANCELED' });
  });
});
