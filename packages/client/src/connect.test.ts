import { execFileSync } from 'node:child_process';
import { EventEmitter, getEventListeners, once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { resource } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { Client } from './client.ts';
import type { ClientConfig } from './config/client-config.ts';
import { connect } from './connect.ts';
import type { Credentials } from './credentials/credentials.ts';
import { type TestAuthority, testAuthority } from './testing/certificates.ts';
import { json, ScriptedServer, status } from './testing/scripted-server.ts';

const Node = resource({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });
const node = { kind: 'Node', apiVersion: 'v1', metadata: { name: 'a' } };
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('connect', () => {
  let authority: TestAuthority;
  let directory: string;
  beforeAll(async () => {
    authority = await testAuthority();
  });
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kapstan-client-'));
  });
  afterEach(async () => {
    await rm(directory, { recursive: true });
  });

  const startServer = async (hosts: readonly string[] = ['127.0.0.1']): Promise<ScriptedServer> => {
    const server = await ScriptedServer.start({
      ...(await authority.issue('server', hosts)),
      ca: authority.ca,
      requestCert: true,
      rejectUnauthorized: false,
    });
    return server.always(json(node));
  };

  const writeConfig = async (cluster: object, user: object): Promise<string> => {
    const file = join(directory, 'config');
    const text = stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'c',
      clusters: [{ name: 'k', cluster }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'c', context: { cluster: 'k', user: 'u', namespace: 'team' } }],
    });
    await writeFile(file, text);
    return file;
  };
  const peerName = (server: ScriptedServer): string | undefined =>
    (server.last.socket as TLSSocket).getPeerCertificate().subject?.CN as string | undefined;

  it('reads objects over HTTPS with an inline CA and client certificate', async () => {
    await using server = await startServer();
    const { cert, key } = await authority.issue('alice');
    const kubeconfig = await writeConfig(
      { server: server.url, 'certificate-authority-data': base64(authority.ca) },
      { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) },
    );
    await using client = await connect({ kubeconfig });
    expect(client.namespace).toBe('team');
    expect(await client.get(Node, { name: 'a' })).toEqual(node);
    expect(peerName(server)).toBe('alice');
  });

  it('reads certificates from files beside the kubeconfig and follows their rotation with new connections', async () => {
    await using server = await startServer();
    const clock = new VirtualClock();
    const write = async (name: string): Promise<void> => {
      const { cert, key } = await authority.issue(name);
      await writeFile(join(directory, 'alice.crt'), cert);
      await writeFile(join(directory, 'alice.key'), key);
    };
    await write('alice-1');
    await writeFile(join(directory, 'ca.crt'), authority.ca);
    const kubeconfig = await writeConfig(
      { server: server.url, 'certificate-authority': 'ca.crt' },
      { 'client-certificate': 'alice.crt', 'client-key': 'alice.key' },
    );
    await using client = await connect({ kubeconfig, clock });
    await client.get(Node, { name: 'a' });
    await write('alice-2');
    await client.get(Node, { name: 'a' });
    expect([peerName(server), server.connections]).toEqual(['alice-1', 1]);
    await clock.advance(60_000);
    await client.get(Node, { name: 'a' });
    expect([peerName(server), server.connections]).toEqual(['alice-2', 2]);
  });

  it('finds the name of tls-server-name in the certificate instead of the host', async () => {
    await using server = await startServer(['api.example']);
    const ca = { 'certificate-authority-data': base64(authority.ca) };
    const named = await writeConfig({ server: server.url, ...ca, 'tls-server-name': 'api.example' }, {});
    await using client = await connect({ kubeconfig: named });
    expect(await client.get(Node, { name: 'a' })).toEqual(node);
    const unnamed = await writeConfig({ server: server.url, ...ca }, {});
    await using wrong = await connect({ kubeconfig: unnamed });
    await expect(wrong.get(Node, { name: 'a' })).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  });

  it('refuses a certificate of an unknown authority unless verification is off', async () => {
    await using server = await startServer();
    await using strict = await connect({ kubeconfig: await writeConfig({ server: server.url }, { token: 't' }) });
    await expect(strict.get(Node, { name: 'a' })).rejects.toMatchObject({
      name: 'TransportError',
      code: 'SELF_SIGNED_CERT_IN_CHAIN',
    });
    expect(server.requests).toHaveLength(0);
    const lax = { server: server.url, 'insecure-skip-tls-verify': true };
    await using client = await connect({ kubeconfig: await writeConfig(lax, { token: 't' }) });
    expect(await client.get(Node, { name: 'a' })).toEqual(node);
    expect(server.last.headers.authorization).toBe('Bearer t');
  });

  it('runs the exec plugin of the kubeconfig, and once more after a 401', async () => {
    await using server = await startServer();
    const { cert, key } = await authority.issue('plugin-user');
    const plugin = join(directory, 'login');
    const credential = {
      kind: 'ExecCredential',
      apiVersion: 'client.authentication.k8s.io/v1',
      status: { token: 'TOKEN', clientCertificateData: cert, clientKeyData: key },
    };
    await writeFile(join(directory, 'credential.json'), JSON.stringify(credential));
    const script = `#!/bin/sh\necho run >> ${directory}/runs\nsed "s/TOKEN/token-$(grep -c run ${directory}/runs)/" ${directory}/credential.json\n`;
    await writeFile(plugin, script, { mode: 0o755 });
    const kubeconfig = await writeConfig(
      { server: server.url, 'certificate-authority-data': base64(authority.ca) },
      { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: './login', interactiveMode: 'Never' } },
    );
    await using client = await connect({ kubeconfig });
    await client.get(Node, { name: 'a' });
    server.next(json(status(401, 'Unauthorized', 'Unauthorized'), { status: 401 }));
    expect(await client.get(Node, { name: 'a' })).toEqual(node);
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer token-1',
      'Bearer token-1',
      'Bearer token-2',
    ]);
    expect(peerName(server)).toBe('plugin-user');
  });

  it('never sends credentials over plain HTTP, but does impersonate', async () => {
    await using server = await ScriptedServer.start();
    server.always(json(node));
    const kubeconfig = await writeConfig({ server: server.url }, { token: 't', as: 'bob' });
    await using client = await connect({ kubeconfig });
    await client.get(Node, { name: 'a' });
    expect(server.last.headers.authorization).toBeUndefined();
    expect(server.last.headers['impersonate-user']).toBe('bob');
  });

  it('ends with its signal while a plugin does not, and so does prepare() with its time', async () => {
    const asking = new EventEmitter();
    const credentials: Credentials = {
      headers: () => {
        asking.emit('asked');
        return new Promise(() => undefined);
      },
    };
    const config = { server: 'https://127.0.0.1:1', credentials };
    const controller = new AbortController();
    const asked = once(asking, 'asked');
    const connecting = expect(connect({ config, signal: controller.signal })).rejects.toThrow('enough');
    await asked;
    controller.abort(new Error('enough'));
    await connecting;
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
    await expect(connect({ config, signal: controller.signal })).rejects.toThrow('enough');

    const clock = new VirtualClock();
    await using client = new Client(config, { clock });
    const late = expect(client.prepare({ timeoutMs: 50 })).rejects.toMatchObject({
      code: 'ETIMEDOUT',
      message: 'credentials for https://127.0.0.1:1: no answer within 50 ms',
    });
    await clock.advance(50);
    await late;
    const closed = expect(client.prepare()).rejects.toMatchObject({ code: 'ECANCELED' });
    expect(clock.pendingTimers).toBe(0);
    await client.close();
    await closed;
  });

  it('ends a plugin that runs when its signal aborts', async () => {
    const command = join(directory, 'login');
    const [started, ended] = [join(directory, 'started'), join(directory, 'ended')];
    for (const fifo of [started, ended]) execFileSync('mkfifo', [fifo]);
    const script = `#!/bin/sh\ntrap 'kill $!; echo ended > ${ended}; exit 1' TERM\nsleep 300 > /dev/null &\necho > ${started}\nwait\n`;
    await writeFile(command, script, { mode: 0o755 });
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never' };
    const controller = new AbortController();
    const config = { server: 'https://127.0.0.1:1', exec };
    const connecting = expect(connect({ config, signal: controller.signal })).rejects.toThrow('enough');
    await readFile(started);
    controller.abort(new Error('enough'));
    await connecting;
    expect(await readFile(ended, 'utf8')).toBe('ended\n');
  });

  it('fails at once when a certificate file is missing', async () => {
    const kubeconfig = await writeConfig({ server: 'https://127.0.0.1:1', 'certificate-authority': 'no-such.crt' }, {});
    await expect(connect({ kubeconfig })).rejects.toMatchObject({ code: 'ENOENT' });
  });

  const server = 'https://127.0.0.1:1';
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'true', interactiveMode: 'Never' };
  const oidc = { issuerUrl: server, clientId: 'c', idToken: '', refreshToken: 'r' };
  it.each<[string, ClientConfig]>([
    ['tls.caFile', { server, tls: { caFile: '/nowhere/f' } }],
    ['tls.certFile', { server, tls: { certFile: '/nowhere/f', key: 'k' } }],
    ['tls.keyFile', { server, tls: { cert: 'c', keyFile: '/nowhere/f' } }],
    ['tls.caFile', { server, exec: { ...exec, provideClusterInfo: true }, tls: { caFile: '/nowhere/f' } }],
    ['tokenFile', { server, tokenFile: '/nowhere/f' }],
    ['oidc.caFile', { server, oidc: { ...oidc, caFile: '/nowhere/f' } }],
  ])('names the member whose file is missing: %s of %j', async (member, config) => {
    const message = new RegExp(
      `^(getting credentials: )?${member}: ENOENT: no such file or directory, open '/nowhere/f'$`,
    );
    await expect(connect({ config })).rejects.toThrow(message);
  });

  it.each([
    [{ config: {} as never }, 'a ClientConfig needs a server (config.server of connect())'],
    [{ config: { server: 'http://x' }, context: 'c' }, 'config may not be combined'],
    [{ contxt: 'c' } as never, 'connect: unknown option "contxt"; did you mean "context"?'],
    [{ timeout: 5 } as never, 'connect: unknown option "timeout"; did you mean "timeoutMs"?'],
    [{ inCluster: true, context: 'c' }, 'inCluster may not be combined'],
    [{ inCluster: true, env: {} }, 'unable to load in-cluster configuration'],
    [{ env: { HOME: '/nonexistent' } }, 'no configuration has been provided'],
    [{ env: { HOME: '/nonexistent' }, context: 'x' }, 'context "x" does not exist'],
  ])('refuses %j', async (options, message) => {
    await expect(connect(options)).rejects.toThrow(message);
  });
});
