// Tests an audit webhook over real sockets: it is slow, hangs, closes, disappears and comes back.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { silentLogger, systemClock } from '@kapstan/api';
import { createIssuer } from '@kapstan/controller/certificates';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane } from '../options/control-plane-options.ts';
import type { AuditSettings, AuditWebhookSettings } from './audit.ts';

interface Event {
  readonly requestURI: string;
  readonly stage: string;
}

let directory: string;
let plane: ControlPlane | undefined;
let hook: Hook;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'kapstan-audit-webhook-'));
  hook = new Hook();
  await hook.listen();
});
afterEach(async () => {
  hook.answers = 'ok';
  await hook.close();
  await plane?.close();
  plane = undefined;
  rmSync(directory, { recursive: true });
});

/** A webhook that answers as the test says. */
class Hook {
  readonly requests: { readonly path: string; readonly headers: object; readonly body: string }[] = [];
  answers: 'ok' | 'never' | 'cut' | 'error' = 'ok';
  port = 0;
  #server: Server | undefined;
  #onRequest: () => void = () => undefined;

  get events(): readonly Event[] {
    return this.requests.flatMap(({ body }) => JSON.parse(body).items as Event[]);
  }

  async listen(): Promise<void> {
    const server = createServer((request, response) => void this.take(request, response));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve));
    this.port = (server.address() as AddressInfo).port;
  }

  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    this.requests.push({ path: request.url ?? '', headers: request.headers, body });
    if (this.answers === 'ok') response.end();
    if (this.answers === 'cut') request.socket.destroy();
    if (this.answers === 'error') response.writeHead(503).end();
    this.#onRequest();
  }

  async whenAsked(times: number): Promise<void> {
    while (this.requests.length < times) {
      await new Promise<void>((resolve) => {
        this.#onRequest = resolve;
      });
    }
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    server?.closeAllConnections();
    await new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve())));
  }
}

function writeKubeconfig(cluster: object, user: object = {}): string {
  const kubeconfig = join(directory, 'hook.kubeconfig');
  const entry = { name: 'hook' };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ ...entry, cluster }],
    users: [{ ...entry, user }],
    contexts: [{ ...entry, context: { cluster: 'hook', user: 'hook' } }],
    'current-context': 'hook',
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  return kubeconfig;
}

const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, nonResourceURLs: ["/version*"]}
- {level: None}
`;

async function start(
  webhook: Partial<AuditWebhookSettings> = {},
  more: Partial<AuditSettings> & { readonly logger?: typeof silentLogger } = {},
): Promise<ControlPlane> {
  const { logger = silentLogger, ...audit } = more;
  const kubeconfig = webhook.kubeconfig ?? writeKubeconfig({ server: `http://127.0.0.1:${hook.port}/audit/events` });
  const settings = { policy, webhook: { initialBackoffMs: 1, ...webhook, kubeconfig }, ...audit };
  plane = await startControlPlane({ dataDir: join(directory, 'data'), audit: settings, logger });
  return plane;
}

function ask({ url, caCert, token }: ControlPlane, path: string): Promise<{ code: number; body: string }> {
  const headers = { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    get(`${url}${path}`, { ca: caCert, headers, agent: false }, (answer) => {
      text(answer).then((body) => resolve({ code: answer.statusCode ?? 0, body }), reject);
    }).on('error', reject);
  });
}

async function counted(running: ControlPlane, name: string): Promise<number> {
  const { body } = await ask(running, '/metrics');
  const line = body.split('\n').find((one) => one.startsWith(name));
  return Number(line?.split(' ').at(-1) ?? 0);
}

const one = { maxBatchEvents: 1, throttle: 'off' } as const;
const lost = 'apiserver_audit_error_total{plugin="webhook"}';
const dropped = 'apiserver_audit_error_total{plugin="buffered"}';

describe('an audit webhook in the mode batch', () => {
  it('is posted an EventList at the path of its kubeconfig, with the time that it has', async () => {
    const running = await start({ batching: { maxBatchEvents: 2, throttle: 'off' } });
    await ask(running, '/version?a');
    await ask(running, '/version?b');
    await hook.whenAsked(1);
    const [request] = hook.requests;
    expect(request).toMatchObject({
      path: '/audit/events?timeout=30s',
      headers: { accept: 'application/json, */*', 'content-type': 'application/json' },
    });
    expect(JSON.parse(request?.body ?? '')).toMatchObject({
      kind: 'EventList',
      apiVersion: 'audit.k8s.io/v1',
      metadata: {},
      items: [
        { stage: 'ResponseComplete', requestURI: '/version?a' },
        { stage: 'ResponseComplete', requestURI: '/version?b' },
      ],
    });
  });

  it('gets what waits when the server stops', async () => {
    const running = await start();
    for (const query of ['a', 'b', 'c']) await ask(running, `/version?${query}`);
    expect(hook.requests).toEqual([]);
    await running.close();
    expect(hook.requests).toHaveLength(1);
    expect(hook.events.map(({ requestURI }) => requestURI)).toEqual(['/version?a', '/version?b', '/version?c']);
  });

  it('holds up nobody while it never answers, and takes no memory beyond its buffer', async () => {
    hook.answers = 'never';
    const running = await start({ batching: { ...one, maxEvents: 20 } });
    for (let i = 0; i < 40; i++) expect((await ask(running, `/version?${i}`)).code).toBe(200);
    // At most sixteen are posted at once; the others wait, up to twenty in all.
    await hook.whenAsked(16);
    expect(hook.requests).toHaveLength(16);
    expect(await counted(running, dropped)).toBe(20);
    expect(await counted(running, 'apiserver_audit_event_total')).toBe(40);
  });

  it.each(['cut', 'error'] as const)('is asked again when its answer is: %s', async (answer) => {
    hook.answers = answer;
    const running = await start({ batching: one });
    await ask(running, '/version?a');
    await hook.whenAsked(2);
    hook.answers = 'ok';
    await hook.whenAsked(3);
    await ask(running, '/version?b');
    await running.close();
    expect(new Set(hook.events.map(({ requestURI }) => requestURI))).toEqual(new Set(['/version?a', '/version?b']));
  });

  it('loses events while it is gone, and gets those that come when it is back', async () => {
    const told: string[] = [];
    const tell = (message: string): void => void told.push(message);
    await hook.close();
    let whenLost: () => void = () => undefined;
    const isLost = new Promise<void>((resolve) => {
      whenLost = resolve;
    });
    const logger = {
      ...silentLogger,
      warn: tell,
      error: (message: string) => {
        tell(message);
        whenLost();
      },
    };
    const running = await start({ batching: one }, { logger });
    await ask(running, '/version?gone');
    await isLost;
    expect(await counted(running, lost)).toBe(1);
    await hook.listen();
    await ask(running, '/version?back');
    await running.close();
    expect(hook.events.map(({ requestURI }) => requestURI)).toEqual(['/version?back']);
    expect(told).toEqual([
      'the audit webhook does not take events; they are lost until it does',
      'the audit webhook takes events again',
    ]);
  });
});

describe('an audit webhook in a blocking mode', () => {
  it('has the events when the answer comes', async () => {
    const running = await start({ mode: 'blocking' });
    await ask(running, '/version?a');
    expect(hook.events.map(({ requestURI }) => requestURI)).toEqual(['/version?a']);
  });

  const whole = policy.replace('omitStages: [RequestReceived]\n', '');

  it('refuses requests whose first event it does not take, when it is strict', async () => {
    hook.answers = 'error';
    const running = await start({ mode: 'blocking-strict' }, { policy: whole });
    const { code, body } = await ask(running, '/version');
    expect(code).toBe(500);
    expect(body).toContain('failed to store audit event');
    expect(await counted(running, 'apiserver_audit_requests_rejected_total')).toBe(1);
    hook.answers = 'ok';
    expect((await ask(running, '/version')).code).toBe(200);
  });

  it('refuses no request when it is not strict, and the log has the events all the same', async () => {
    hook.answers = 'error';
    const path = join(directory, 'audit.log');
    const running = await start({ mode: 'blocking' }, { policy: whole, path });
    expect((await ask(running, '/version')).code).toBe(200);
    expect(await counted(running, lost)).toBe(2);
    expect(readFileSync(path, 'utf8').trim().split('\n')).toHaveLength(2);
  });
});

describe('an audit webhook that asks for credentials', () => {
  it('is trusted by the authority of its kubeconfig, and gets the certificate of the user', async () => {
    const lifetimeMs = 60_000;
    const nowMs = systemClock.now();
    const issuer = await createIssuer(undefined, { nowMs, lifetimeMs });
    const serving = await issuer.issue({
      commonName: 'hook',
      hosts: ['127.0.0.1'],
      usage: 'server',
      nowMs,
      lifetimeMs,
    });
    const client = await issuer.issue({ commonName: 'the-server', usage: 'client', nowMs, lifetimeMs });
    const names: string[] = [];
    const server = createSecureServer(
      { ...serving, ca: issuer.authority.cert, requestCert: true },
      (request, response) => {
        names.push(String((request.socket as TLSSocket).getPeerCertificate().subject?.CN));
        void hook.take(request, response);
      },
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const base64 = (pem: string): string => Buffer.from(pem).toString('base64');
    const kubeconfig = writeKubeconfig(
      { server: `https://127.0.0.1:${port}/hook`, 'certificate-authority-data': base64(issuer.authority.cert) },
      { 'client-certificate-data': base64(client.cert), 'client-key-data': base64(client.key) },
    );
    const running = await start({ kubeconfig, mode: 'blocking' });
    await ask(running, '/version');
    expect(hook.requests[0]?.path).toBe('/hook?timeout=30s');
    expect(names).toEqual(['the-server']);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it.each([
    ['missing.kubeconfig', /^audit\.webhook\.kubeconfig: error loading config file ".*missing\.kubeconfig": ENOENT/],
    ['bad.kubeconfig', /^audit\.webhook\.kubeconfig: tls\.caFile: ENOENT/],
  ])('stops the start when %s cannot be used', async (name, message) => {
    const bad = writeKubeconfig({ server: 'https://127.0.0.1:1', 'certificate-authority': join(directory, 'no.crt') });
    const kubeconfig = name === 'bad.kubeconfig' ? bad : join(directory, name);
    await expect(start({ kubeconfig })).rejects.toThrow(message);
  });
});
