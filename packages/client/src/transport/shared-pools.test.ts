import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type KubernetesObject, type Logger, resource, silentLogger } from '@kapstan/api';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Client } from '../client.ts';
import type { ClientConfig, ClientOptions } from '../config/client-config.ts';
import { json, ScriptedServer, stream } from '../testing/scripted-server.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const Node = resource<KubernetesObject>({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });
const node = { kind: 'Node', apiVersion: 'v1', metadata: { name: 'a' } };
const target = { name: 'a' };

describe('clients that are configured alike', () => {
  let server: ScriptedServer;
  const clients: Client[] = [];
  const connect = (config: Partial<ClientConfig> = {}, options: ClientOptions = {}): Client => {
    const client = new Client({ server: server.url, token: 't', ...config }, options);
    clients.push(client);
    return client;
  };
  beforeEach(async () => {
    server = (await ScriptedServer.start()).always(json(node));
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
    await server[Symbol.asyncDispose]();
  });

  it('use the same connections, whatever they are otherwise', async () => {
    await connect().get(Node, target);
    await settle();
    await connect({ namespace: 'x', impersonate: { user: 'bob' } }, { userAgent: 'other', timeoutMs: 1000 }).get(
      Node,
      target,
    );
    expect(server.connections).toBe(1);
    expect(server.requests.map(({ headers }) => headers['impersonate-user'])).toEqual([undefined, 'bob']);
  });

  it.each<[string, Partial<ClientConfig>, ClientOptions, string]>([
    ['token', { token: 'u' }, {}, 'Bearer u'],
    ['base path', {}, {}, 'Bearer t'],
    ['TLS server name', { tls: { serverName: 'x' } }, {}, 'Bearer t'],
    ['clock', {}, { clock: new VirtualClock() }, 'Bearer t'],
  ])('but for the %s have connections of their own', async (what, config, options, authorization) => {
    await connect().get(Node, target);
    // The connection is idle, so a client that shared the pool would use it.
    await settle();
    await connect({ ...config, ...(what === 'base path' ? { server: `${server.url}/base` } : {}) }, options).get(
      Node,
      target,
    );
    expect(server.connections).toBe(2);
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer t', authorization]);
  });

  it('leave the connections of the others alone when one is closed, and the last one ends them', async () => {
    const [one, two] = [connect(), connect()];
    await one.get(Node, target);
    await settle();
    await one.close();
    await one.close();
    await expect(one.get(Node, target)).rejects.toThrow('the client is closed');
    await two.get(Node, target);
    expect(server.connections).toBe(1);
    await two.close();
    while (server.sockets.size > 0) await new Promise(setImmediate);
    await connect().get(Node, target);
    expect(server.connections).toBe(2);
  });

  it('hold nothing when their configuration was refused', async () => {
    const client = connect();
    await client.get(Node, target);
    const [first] = server.sockets;
    const ended = new Promise((resolve) => first?.once('close', resolve));
    expect(() => connect({ impersonate: { groups: ['x'] } })).toThrow(TypeError);
    expect(() => connect({}, { rateLimit: { qps: 0, burst: 1 } })).toThrow(TypeError);
    await settle();
    await client.close();
    // If the old pool were still in use, this client would find its idle connection.
    await connect().get(Node, target);
    expect(server.connections).toBe(2);
    await ended;
  });

  it('end their own calls and watches with close(), and none of the others', async () => {
    const [one, two] = [connect(), connect()];
    const held: (() => void)[] = [];
    server.always((response, request) => {
      if ('watch' in request.query)
        return stream(`${JSON.stringify({ type: 'ADDED', object: node })}\n`)(response, request);
      held.push(() => json(node)(response, request));
    });
    const watches = [one, two].map((client) => client.watchEvents(Node));
    for (const watch of watches) expect((await watch.next()).value).toMatchObject({ type: 'ADDED' });
    const calls = [one, two].map((client) => client.get(Node, target));
    const [ended, left] = watches.map((watch) => watch.next());
    while (held.length < 2) await new Promise(setImmediate);
    const canceled = { name: 'TransportError', code: 'ECANCELED' };
    const outcomes = Promise.all([
      expect(calls[0]).rejects.toMatchObject({ ...canceled, message: expect.stringContaining('the client is closed') }),
      expect(ended).rejects.toMatchObject(canceled),
    ]);
    await one.close();
    await outcomes;
    for (const answer of held) answer();
    expect(await calls[1]).toEqual(node);
    await watches[1]?.return();
    expect(await left).toMatchObject({ done: true });
  });

  it('end with close() also a call that waits for its turn', async () => {
    const clock = new VirtualClock();
    const client = connect({}, { clock, rateLimit: { qps: 0.001, burst: 1 }, timeoutMs: 0 });
    await client.get(Node, target);
    const waiting = expect(client.get(Node, target)).rejects.toMatchObject({ code: 'ECANCELED' });
    await client.close();
    await waiting;
    expect(clock.pendingTimers).toBe(0);
  });

  it('forget one that was dropped without close(), and its logger', async () => {
    const kept = connect();
    let dropped: WeakRef<Client> | undefined;
    let itsLogger: WeakRef<Logger> | undefined;
    // A separate function, so that no variable of the test keeps the values alive.
    const drop = async (): Promise<void> => {
      const logger = { ...silentLogger };
      const client = new Client({ server: server.url, token: 't' }, { logger });
      await client.get(Node, target);
      [dropped, itsLogger] = [new WeakRef(client), new WeakRef(logger)];
    };
    await drop();
    while (dropped?.deref() !== undefined || itsLogger?.deref() !== undefined) {
      // deref() keeps its target alive until the end of the turn.
      await new Promise(setImmediate);
      collectGarbage();
    }
    await kept.get(Node, target);
    expect(server.connections).toBe(1);
    await kept.close();
    // The sockets close with the last client, not after the idle timeout.
    while (server.sockets.size > 0) await new Promise(setImmediate);
  });

  describe('with a plugin or a file', () => {
    let directory: string;
    beforeEach(async () => {
      directory = await mkdtemp(join(tmpdir(), 'kapstan-shared-'));
    });
    afterEach(() => rm(directory, { recursive: true }));

    it('run the plugin once', async () => {
      const command = join(directory, 'plugin.sh');
      const apiVersion = 'client.authentication.k8s.io/v1';
      const credential = JSON.stringify({ kind: 'ExecCredential', apiVersion, status: { token: 'plugged' } });
      await writeFile(command, `#!/bin/sh\necho run >> "${directory}/runs"\necho '${credential}'\n`);
      await chmod(command, 0o755);
      const clientOf = (): Client => {
        const client = new Client({ server: server.url, exec: { apiVersion, command, interactiveMode: 'Never' } });
        clients.push(client);
        return client;
      };
      await Promise.all([clientOf(), clientOf()].map((client) => client.get(Node, target)));
      expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer plugged', 'Bearer plugged']);
      expect(await readFile(join(directory, 'runs'), 'utf8')).toBe('run\n');
    });

    it('report its failure to the loggers of all open clients, once each', async () => {
      const tokenFile = join(directory, 'token');
      await writeFile(tokenFile, 'first');
      const clock = new VirtualClock();
      const heard: string[] = [];
      const loggerOf = (name: string): Logger => ({ ...silentLogger, error: () => void heard.push(name) });
      const shared = loggerOf('shared');
      const open = [shared, shared, loggerOf('own'), loggerOf('closed')].map((logger) => {
        const client = new Client({ server: server.url, tokenFile }, { clock, logger });
        clients.push(client);
        return client;
      });
      await open[0]?.get(Node, target);
      await open[3]?.close();
      await rm(tokenFile);
      await clock.advance(60_000);
      await open[0]?.get(Node, target);
      expect(heard).toEqual(['shared', 'own']);
    });
  });
});
