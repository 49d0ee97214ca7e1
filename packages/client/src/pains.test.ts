// One test for each problem that users of Node clients report, as listed in docs/parity/pains.md. Those about informers are in that
// package.
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { type CallOptions, defineResource, formatTime, resource } from '@kapstan/api';
import { RequestMetrics } from '@kapstan/api/internal';
import { VirtualClock } from '@kapstan/api/testing';
import { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { lastValueFrom } from 'rxjs';
import { afterEach, beforeAll, beforeEach, describe, expect, expectTypeOf, it } from 'vitest';
import { stringify } from 'yaml';
import { Client as PlainClient } from './client.ts';
import { connect } from './connect.ts';
import { type TestAuthority, testAuthority } from './testing/certificates.ts';
import { json, ScriptedServer, status, stream } from './testing/scripted-server.ts';
import { connectionTimers } from './testing/wire.ts';
import { WireClient as Client } from './testing/wire-client.ts';

const target = { namespace: 'n', name: 'a' };
const configMap = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { ...target, resourceVersion: '7' } };
const list = { kind: 'ConfigMapList', apiVersion: 'v1', metadata: { resourceVersion: '9' }, items: [configMap] };

describe('what hurts in Node clients:', () => {
  let authority: TestAuthority;
  let server: ScriptedServer;
  let client: Client;
  let directory: string;
  beforeAll(async () => {
    authority = await testAuthority();
  });
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kapstan-pains-'));
    server = (await ScriptedServer.start()).always(json(list));
    client = new Client({ server: server.url });
  });
  afterEach(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });

  /** Starts a server that goes silent after this many bytes of an answer; -1 = before a TLS handshake. */
  const silentAfter = async (bytes: number): Promise<AsyncDisposable & { readonly url: string }> => {
    const sockets = new Set<Socket>();
    const answer = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"kind":';
    const silent = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined));
      if (bytes > 0) socket.once('data', () => socket.write(answer.slice(0, bytes)));
    });
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const dispose = async (): Promise<void> => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => silent.close(resolve));
    };
    const scheme = bytes < 0 ? 'https' : 'http';
    return { url: `${scheme}://127.0.0.1:${(silent.address() as AddressInfo).port}`, [Symbol.asyncDispose]: dispose };
  };

  it.each([
    ['the TLS handshake', -1],
    ['the first byte', 0],
    ['the headers', 30],
    ['the body', 90],
  ])('a call hangs for ever when the server goes silent in %s', async (_, bytes) => {
    await using silent = await silentAfter(bytes);
    await using hung = new Client({ server: silent.url }, { timeoutMs: 50 });
    await expect(hung.get(ConfigMap, target)).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  });

  it('connections pile up as watches are opened again and again', async () => {
    server.always(stream(`${JSON.stringify({ type: 'ADDED', object: configMap })}\n`));
    for (let at = 0; at < 200; at++) for await (const event of client.watchEvents(ConfigMap)) if (event) break;
    while (server.occupied > 0) await new Promise(setImmediate);
    expect(server.requests).toHaveLength(200);
  });

  it('every request opens a connection of its own', async () => {
    for (let at = 0; at < 50; at++) await client.list(ConfigMap);
    // Two connections are allowed, because a call that begins in the same turn in which another ends may find its connection still busy.
    expect(server.connections).toBeLessThanOrEqual(2);
  });

  it('a rotated certificate needs a restart, or leaves the old connections behind', async () => {
    const tls = { ...(await authority.issue('server', ['127.0.0.1'])), ca: authority.ca, requestCert: true };
    await using secure = (await ScriptedServer.start(tls)).always(json(list));
    const files = { certFile: join(directory, 'crt'), keyFile: join(directory, 'key') };
    const rotate = async (name: string): Promise<void> => {
      const { cert, key } = await authority.issue(name);
      await writeFile(files.certFile, cert);
      await writeFile(files.keyFile, key);
    };
    const clock = new VirtualClock();
    await rotate('one');
    await using rotating = new Client({ server: secure.url, tls: { ca: authority.ca, ...files } }, { clock });
    const names: string[] = [];
    for (const name of ['one', 'two', 'three']) {
      await rotate(name);
      await clock.advance(60_000);
      await rotating.list(ConfigMap);
      names.push(String((secure.last.socket as TLSSocket).getPeerCertificate().subject.CN));
    }
    expect(names).toEqual(['one', 'two', 'three']);
    while (secure.sockets.size > 1) await new Promise(setImmediate);
  });

  it('a list longer than the longest string cannot be read', { timeout: 60_000 }, async () => {
    const padding = ' '.repeat(1_048_576);
    const items = 520;
    server.always(async (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[');
      for (let at = 0; at < items; at++) {
        const written = response.write(`${at === 0 ? '' : ','}{"metadata":{"name":"${at}"}${padding}}`);
        if (!written) await new Promise((resolve) => response.once('drain', resolve));
      }
      response.end(']}');
    });
    expect(items * padding.length).toBeGreaterThan(536_870_888);
    const page = await client.listPage(ConfigMap, { timeoutMs: 0 });
    expect(page.items.map(({ metadata }) => metadata?.name)).toEqual(Array.from({ length: items }, (_, at) => `${at}`));
  });

  /** Every method that sends a request, with the options that all calls take. */
  const calls: Readonly<
    Record<string, (client: Client, options: Pick<CallOptions, 'signal' | 'timeoutMs'>) => unknown>
  > = {
    get: (of, options) => of.get(ConfigMap, target, options),
    listPage: (of, options) => of.listPage(ConfigMap, options),
    list: (of, options) => of.list(ConfigMap, options).then(undefined),
    create: (of, options) => of.create(ConfigMap, configMap, options),
    update: (of, options) => of.update(ConfigMap, configMap, options),
    patch: (of, options) => of.patch(ConfigMap, target, { type: 'merge', body: {} }, options),
    mergePatch: (of, options) => of.mergePatch(ConfigMap, target, {}, options),
    jsonPatch: (of, options) => of.jsonPatch(ConfigMap, target, [], options),
    strategicPatch: (of, options) => of.strategicPatch(ConfigMap, target, {}, options),
    apply: (of, options) => of.apply(ConfigMap, configMap, { fieldManager: 'm', ...options }),
    delete: (of, options) => of.delete(ConfigMap, target, options),
    deleteCollection: (of, options) => of.deleteCollection(ConfigMap, options),
    createSubresource: (of, options) =>
      of.createSubresource(ConfigMap, { ...target, subresource: 'x' }, { body: configMap, ...options }),
    watch: (of, options) => lastValueFrom(of.watch(ConfigMap, options)),
    watchEvents: (of, options) => of.watchEvents(ConfigMap, options).next(),
    podLog: (of, options) => of.podLog(target, options),
    rawStream: (of, options) => of.rawStream({ path: '/x', ...options }),
    raw: (of, options) => of.raw({ path: '/x', ...options }),
    exec: (of, options) => of.exec(target, { command: ['x'], ...options }),
    attach: (of, options) => of.attach(target, options),
    dialPort: (of, options) => of.dialPort(target, 80, options),
    portForward: (of, options) => of.portForward(target, { ports: [':80'], ...options }),
  };

  it('a signal is accepted and not passed on', async () => {
    const withoutCall = ['constructor', 'prepare', 'listerWatcher', 'close'];
    expect([...Object.keys(calls), ...withoutCall].sort()).toEqual(
      Object.getOwnPropertyNames(PlainClient.prototype).sort(),
    );
    server.always(() => undefined);
    for (const [name, call] of Object.entries(calls)) {
      const controller = new AbortController();
      const before = server.requests.length;
      const outcome = Promise.resolve(call(client, { signal: controller.signal })).then(
        () => 'resolved',
        (error: unknown) => error,
      );
      while (server.requests.length === before) await new Promise(setImmediate);
      const reason = new Error(name);
      controller.abort(reason);
      expect(await outcome).toBe(reason);
    }
    // The remaining sockets belong to the pool, not to single calls.
    while (server.sockets.size > 2) await new Promise(setImmediate);
  });

  it('some calls cannot be given a time, and wait as long as the server likes', async () => {
    const clock = new VirtualClock();
    await using timed = new Client({ server: server.url }, { clock });
    server.always(() => undefined);
    for (const [name, call] of Object.entries(calls)) {
      const before = server.requests.length;
      const outcome = Promise.resolve(call(timed, { timeoutMs: 7 })).then(
        () => 'resolved',
        ({ code }: { readonly code: string }) => code,
      );
      while (server.requests.length === before) await new Promise(setImmediate);
      await clock.advance(7);
      expect(await outcome, name).toBe('ETIMEDOUT');
    }
    expect(clock.pendingTimers).toBe(connectionTimers(1));
  });

  it('custom resources have no types, and built-in kinds other calls than they', async () => {
    const Echo = defineResource({
      group: 'example.com',
      version: 'v1',
      kind: 'Echo',
      spec: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    });
    server.next(
      json({ apiVersion: 'example.com/v1', kind: 'Echo', metadata: target, spec: { text: 'hi' } }),
      json(configMap),
    );
    const echo = await client.get(Echo, target);
    const map = await client.get(ConfigMap, target);
    expectTypeOf(echo.spec.text).toEqualTypeOf<string>();
    expectTypeOf(map.data).toEqualTypeOf<Record<string, string> | undefined>();
    expect([echo, map].map((object) => Object.getPrototypeOf(object))).toEqual([Object.prototype, Object.prototype]);
    expect(echo.spec.text).toBe('hi');
  });

  it('times become Dates and lose their microseconds, so that a Lease is refused', async () => {
    const times = { acquireTime: '2026-01-02T03:04:05.123456Z', renewTime: '2026-01-02T03:04:05.000001Z' };
    const lease = { kind: 'Lease', apiVersion: 'coordination.k8s.io/v1', metadata: target, spec: times };
    server.always(json(lease));
    await client.update(Lease, await client.get(Lease, target));
    expect(JSON.parse(server.last.body)).toEqual(lease);
  });

  it('a patch goes out with the wrong content type', async () => {
    server.always(json(configMap));
    await client.mergePatch(ConfigMap, target, {});
    await client.jsonPatch(ConfigMap, target, []);
    await client.strategicPatch(ConfigMap, target, {});
    await client.apply(ConfigMap, configMap, { fieldManager: 'm' });
    expect(server.requests.map(({ headers }) => headers['content-type'])).toEqual([
      'application/merge-patch+json',
      'application/json-patch+json',
      'application/strategic-merge-patch+json',
      'application/apply-patch+yaml',
    ]);
  });

  /** Returns an exec plugin that counts its runs in a file. */
  const plugin = async (name: string, status_: object) => {
    const command = join(directory, name);
    const answer = { kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1', status: status_ };
    const text = JSON.stringify(answer).replace('RUN', '$RUN').replaceAll('"', '\\"');
    await writeFile(
      command,
      `#!/bin/sh\necho x >> ${command}.runs\nRUN=$(wc -l < ${command}.runs | tr -d ' ')\necho "${text}"\n`,
    );
    await chmod(command, 0o755);
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never' };
    const runs = async (): Promise<number> => (await readFile(`${command}.runs`, 'utf8')).split('\n').length - 1;
    return { exec, runs };
  };

  it('the token of an exec plugin expires and calls get a 401, or each starts the plugin', async () => {
    const clock = new VirtualClock();
    const credential = () => ({ token: 'RUN', expirationTimestamp: formatTime(clock.now() + 2000) });
    const { exec, runs } = await plugin('p', credential());
    await using exact = new Client({ server: server.url, exec }, { clock });
    const hundred = async (): Promise<unknown> =>
      await Promise.all(Array.from({ length: 100 }, () => exact.list(ConfigMap)));
    await hundred();
    await clock.advance(2000);
    await plugin('p', credential());
    await hundred();
    expect(new Set(server.requests.map(({ headers }) => headers.authorization))).toEqual(
      new Set(['Bearer 1', 'Bearer 2']),
    );
    expect(await runs()).toBe(2);
    const refuse = json(status(401, 'Unauthorized', 'Unauthorized'), { status: 401 });
    server.next(...Array.from({ length: 100 }, () => refuse));
    await hundred();
    expect(await runs()).toBe(3);
  });

  it("users of one name in two kubeconfigs get each other's credentials", async () => {
    const tls = await authority.issue('server', ['127.0.0.1']);
    await using secure = (await ScriptedServer.start(tls)).always(json(list));
    for (const token of ['first', 'second', 'first']) {
      const { exec } = await plugin(token, { token });
      const kubeconfig = join(directory, 'config');
      const cluster = {
        server: secure.url,
        'certificate-authority-data': Buffer.from(authority.ca).toString('base64'),
      };
      const file = {
        'current-context': 'c',
        clusters: [{ name: 'k', cluster }],
        users: [{ name: 'admin', user: { exec } }],
        contexts: [{ name: 'c', context: { cluster: 'k', user: 'admin' } }],
      };
      await writeFile(kubeconfig, stringify(file));
      await using own = await connect({ kubeconfig });
      await own.list(ConfigMap);
      expect(secure.last.headers.authorization).toBe(`Bearer ${token}`);
    }
  });

  it('only one group can be impersonated', async () => {
    const impersonate = { user: 'jane', groups: ['a', 'b', 'c'] };
    await using jane = new Client({ server: server.url, impersonate });
    await jane.list(ConfigMap);
    const { rawHeaders } = server.last;
    expect(rawHeaders.filter((_, at) => rawHeaders[at - 1]?.toLowerCase() === 'impersonate-group')).toEqual([
      'a',
      'b',
      'c',
    ]);
  });

  it('items of a list lack kind and apiVersion', async () => {
    server.always(json({ ...list, items: [{ metadata: target }] }));
    expect(await client.list(ConfigMap)).toEqual([{ kind: 'ConfigMap', apiVersion: 'v1', metadata: target }]);
  });

  it('a 429 at the start is the end: lists fail and watches miss events', async () => {
    const busy = json(status(429, 'TooManyRequests', 'busy'), { status: 429, headers: { 'retry-after': '0' } });
    server.next(
      busy,
      busy,
      json(list),
      busy,
      busy,
      stream(`${JSON.stringify({ type: 'ADDED', object: configMap })}\n`),
    );
    expect(await client.list(ConfigMap)).toHaveLength(1);
    for await (const event of client.watchEvents(ConfigMap)) {
      expect(event.type).toBe('ADDED');
      break;
    }
    expect(server.requests).toHaveLength(6);
  });

  it('a long list must be read at once', async () => {
    const page = (name: string, rest?: string) =>
      json({ ...list, metadata: { resourceVersion: '9', continue: rest }, items: [{ metadata: { name } }] });
    server.next(page('a', 'x'), page('b', 'y'), page('c'));
    const seen: string[] = [];
    for await (const { metadata } of client.list(ConfigMap, { limit: 1 })) {
      seen.push(`${metadata?.name} after ${server.requests.length}`);
      if (seen.length === 2) break;
    }
    expect(seen).toEqual(['a after 1', 'b after 2']);
  });

  it("HTTP/2 is chosen behind one's back, with its leaks", async () => {
    const tls = { ...(await authority.issue('server', ['127.0.0.1'])), ALPNProtocols: ['h2', 'http/1.1'] };
    await using secure = (await ScriptedServer.start(tls)).always(json(list));
    await using plain = new PlainClient({ server: secure.url, tls: { ca: authority.ca } });
    await plain.list(ConfigMap);
    expect((secure.last.socket as TLSSocket).alpnProtocol).toBe('http/1.1');
  });

  it('metrics have a label that grows with the objects', async () => {
    const metrics = new RequestMetrics();
    await using measured = new Client({ server: server.url }, { onRequest: metrics.observe });
    server.always(json(configMap));
    const lines = (): number => metrics.text().split('\n').length;
    await measured.get(ConfigMap, target);
    const before = lines();
    for (let at = 0; at < 100; at++) await measured.get(ConfigMap, { namespace: `n${at}`, name: `a${at}` });
    expect(lines()).toBe(before);
  });

  it('one process can hold one cluster: clients share global state', async () => {
    const servers = await Promise.all(Array.from({ length: 20 }, () => ScriptedServer.start()));
    const clients = servers.map(({ url }, at) => new Client({ server: url, token: `t${at}` }));
    for (const one of servers) one.always(json(list));
    await Promise.all(clients.map((one) => one.list(ConfigMap)));
    await Promise.all(clients.slice(0, 10).map((one) => one.close()));
    await Promise.all(clients.slice(10).map((one) => one.list(ConfigMap)));
    expect(servers.map(({ last }) => last.headers.authorization)).toEqual(clients.map((_, at) => `Bearer t${at}`));
    expect(servers.map(({ connections }) => connections)).toEqual(clients.map(() => 1));
    for (const one of [...clients, ...servers]) await one[Symbol.asyncDispose]();
  });

  it('a resource that is not known at build time needs another client', async () => {
    const group = { name: 'example.com', versions: [{ version: 'v1' }], preferredVersion: { version: 'v1' } };
    const echoes = { name: 'echoes', kind: 'Echo', namespaced: true, shortNames: ['ec'], verbs: ['get'] };
    server.always((response, request) => {
      const answers: Record<string, unknown> = {
        '/apis': { kind: 'APIGroupList', groups: [group] },
        '/apis/example.com/v1': { kind: 'APIResourceList', resources: [echoes] },
        '/apis/example.com/v1/namespaces/n/echoes/a': { kind: 'Echo', metadata: target },
      };
      const answer = answers[request.path];
      return json(answer ?? status(404, 'NotFound', 'no'), { status: answer ? 200 : 404 })(response, request);
    });
    expect(await client.get(await client.mapper.forName('ec'), target)).toMatchObject({ kind: 'Echo' });
    expect(resource({ group: 'example.com', version: 'v1', kind: 'Echo' }).plural).toBe('echos');
  });
});
