// Tests certificate files that change while a server runs, over real sockets: its own, those of its clients and front proxies, and the one
// that its proxy presents.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { ExtensionServer, type KubeletStandIn, selfSigned, startKubelet } from '@kapstan/apiserver/testing';
import type { KeyPair } from '@kapstan/controller/certificates';
import { APIService } from '@kapstan/kinds/apiregistration.k8s.io/v1';
import { ConfigMap, Node, Pod, Service } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane, ControlPlaneOptions } from '../options/control-plane-options.ts';
import type { CertificateFiles } from './followed-certificates.ts';

vi.setConfig({ testTimeout: 60_000 });

let folder: string;
let plane: ControlPlane;
let extension: ExtensionServer | undefined;
let kubelet: KubeletStandIn | undefined;
let log: string[];
let clock: VirtualClock;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kapstan-certificates-'));
  log = [];
  clock = new VirtualClock({ startMs: Date.now() });
});
afterEach(async () => {
  await plane.close();
  await extension?.close();
  await kubelet?.close();
  kubelet = undefined;
  extension = undefined;
  await rm(folder, { recursive: true });
});

const at = (name: string): string => join(folder, name);
/** Lets the files be checked again until this holds. */
const eventually = (look: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(
    async () => {
      await clock.advance(5_000);
      await look();
    },
    { timeout: 30_000, interval: 10 },
  );

async function start(options: Partial<ControlPlaneOptions>, certificateFiles: CertificateFiles): Promise<void> {
  const logger = {
    ...silentLogger,
    info: (message: string) => void log.push(message),
    error: (message: string, fields?: { readonly error?: unknown }) => void log.push(`${message}: ${fields?.error}`),
  };
  plane = await startControlPlane({ dataDir: at('data'), certificateFiles, clock, logger, ...options });
}

/** Returns the common name of the certificate that a new connection sees. */
async function shown(): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: plane.port, rejectUnauthorized: false });
  await new Promise((resolve) => socket.once('secureConnect', resolve));
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return String(CN);
}

/** Returns the user that the server sees, over a new connection. */
function whoAmI(own: KeyPair, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  return send('/apis/authentication.k8s.io/v1/selfsubjectreviews', { ...own, method: 'POST', headers }).then((text) => {
    const { status, code } = JSON.parse(text) as { status?: { userInfo?: { username?: string } }; code?: number };
    return status?.userInfo?.username ?? String(code);
  });
}

interface Sent extends Partial<KeyPair> {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function send(path: string, { headers = {}, ...options }: Sent = {}): Promise<string> {
  const review = { kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1' };
  return new Promise((resolve, reject) => {
    const sent = request(
      new URL(path, plane.url),
      {
        ...options,
        agent: false,
        rejectUnauthorized: false,
        headers: { 'content-type': 'application/json', ...headers },
      },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        answer.on('end', () => resolve(text));
      },
    );
    sent.on('error', reject);
    sent.end(options.method === 'POST' ? JSON.stringify(review) : undefined);
  });
}

async function reloads(): Promise<readonly string[]> {
  const text = await send('/metrics', { headers: { authorization: `Bearer ${plane.token}` } });
  return text.split('\n').filter((line) => line.startsWith('kapstan_certificate_reloads_total'));
}

async function writePair(name: string, pair: KeyPair): Promise<KeyPair> {
  const files = { cert: at(`${name}.crt`), key: at(`${name}.key`) };
  await writeFile(files.key, pair.key);
  await writeFile(files.cert, pair.cert);
  return files;
}

const trusted = async () =>
  (await plane.client.get(ConfigMap, { namespace: 'kube-system', name: 'extension-apiserver-authentication' })).data;

describe('the files of certificates, when they change', () => {
  it('give new connections another serving certificate; a key without its certificate changes nothing', async () => {
    const [old, next] = [await selfSigned('CN=old'), await selfSigned('CN=new')];
    const files = await writePair('serving', old);
    await start({ serving: old }, { serving: files });
    expect(await shown()).toBe('old');
    await writeFile(files.key, next.key);
    const problem = `could not reload the serving certificate; the old one stays in use: ${files.key}: the private key does not match the certificate`;
    await eventually(() => expect(log).toContain(problem));
    expect(await shown()).toBe('old');
    expect(await reloads()).toEqual(['kapstan_certificate_reloads_total{certificate="serving",status="failure"} 1']);
    await writeFile(files.cert, next.cert);
    await eventually(() => expect(log).toContain('reloaded the serving certificate'));
    expect(await shown()).toBe('new');
    expect(await readFile(plane.caFile, 'utf8')).toBe(next.cert);
    expect(await reloads()).toContain('kapstan_certificate_reloads_total{certificate="serving",status="success"} 1');
  });

  it('say anew whose certificates are believed, and whose headers, and tell other servers', async () => {
    const [alice, bob] = [await selfSigned('CN=alice'), await selfSigned('CN=bob')];
    const [front, next] = [await selfSigned('CN=front'), await selfSigned('CN=next')];
    const files = { clientCa: at('client-ca.crt'), frontProxyCa: at('front-ca.crt') };
    await start(
      { clientCa: alice.cert, frontProxy: { clientCa: front.cert, allowedNames: [] }, identity: 'without lease' },
      files,
    );
    const remote = { 'x-remote-user': 'remote' };
    expect([await whoAmI(alice), await whoAmI(bob)]).toEqual(['alice', '401']);
    expect([await whoAmI(front, remote), await whoAmI(next, remote)]).toEqual(['remote', '401']);
    await writeFile(files.clientCa, bob.cert);
    await writeFile(files.frontProxyCa, next.cert);
    await eventually(async () => expect([await whoAmI(alice), await whoAmI(bob)]).toEqual(['401', 'bob']));
    await eventually(async () => expect(await whoAmI(next, remote)).toBe('remote'));
    expect(await whoAmI(front, remote)).toBe('401');
    const body = (pem: string): string => pem.split('\n')[1] ?? '';
    await eventually(async () => {
      expect((await trusted())?.['client-ca-file']).toContain(body(bob.cert));
      expect((await trusted())?.['requestheader-client-ca-file']).toContain(body(next.cert));
    });
    await writeFile(files.clientCa, next.cert);
    await eventually(() => expect(log.join('\n')).toContain('contain overlapping certificates'));
    await writeFile(files.clientCa, 'junk');
    await eventually(() => expect(log.join('\n')).toContain(`${files.clientCa}: it contains no certificate`));
    expect(await whoAmI(bob)).toBe('bob');
  });

  it('give the proxy another certificate to show to other API servers', async () => {
    const [old, next] = [await selfSigned('CN=old-proxy'), await selfSigned('CN=new-proxy')];
    const files = await writePair('proxy', old);
    extension = await ExtensionServer.start();
    await start({ frontProxy: { client: old }, registersApiServices: true }, { proxyClient: files });
    const { client } = plane;
    const namespace = 'default';
    const spec = { type: 'ExternalName', externalName: 'localhost' } as const;
    await client.create(Service, { metadata: { namespace, name: 'api' }, spec });
    await client.create(APIService, {
      metadata: { name: 'v1.example.com' },
      spec: {
        ...{ group: 'example.com', version: 'v1', groupPriorityMinimum: 2000, versionPriority: 10 },
        service: { namespace, name: 'api', port: extension.port },
        insecureSkipTLSVerify: true,
      },
    });
    const names = (): readonly string[] => extension?.asked.map(({ commonName }) => commonName) ?? [];
    await eventually(() => expect(names()).toContain('old-proxy'));
    await writePair('proxy', next);
    await eventually(async () => {
      await send('/apis/example.com/v1/books', { headers: { authorization: `Bearer ${plane.token}` } });
      expect(names().at(-1)).toBe('new-proxy');
    });
  });

  it('say anew what kubelets are shown, and whose certificates of kubelets are believed', async () => {
    const [own, next] = [await selfSigned('CN=old-client'), await selfSigned('CN=new-client')];
    const [ofKubelet, other] = [await selfSigned('CN=kubelet'), await selfSigned('CN=other')];
    const files = await writePair('kubelet', own);
    kubelet = await startKubelet({ tls: ofKubelet });
    const options = { clientCert: own.cert, clientKey: own.key, ca: other.cert };
    const withKubelet = { kubelet: options, admission: { disabled: ['ServiceAccount'] } };
    await start(withKubelet, { kubeletClient: files, kubeletCa: at('kubelet-ca.crt') });
    const { client } = plane;
    const daemonEndpoints = { kubeletEndpoint: { Port: kubelet.port } };
    const addresses = [{ type: 'InternalIP', address: '127.0.0.1' }];
    await client.create(Node, { metadata: { name: 'n' }, status: { addresses, daemonEndpoints } });
    const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] };
    await client.create(Pod, { metadata: { namespace: 'default', name: 'p' }, spec });
    const headers = { authorization: `Bearer ${plane.token}` };
    const logs = (): Promise<string> => send('/api/v1/namespaces/default/pods/p/log', { headers });
    expect(await logs()).toContain('certificate signed by unknown authority');
    await writeFile(at('kubelet-ca.crt'), ofKubelet.cert);
    await eventually(async () => expect(await logs()).toBe('logs'));
    expect(kubelet.seen.at(-1)?.clientName).toBe('old-client');
    await writePair('kubelet', next);
    await eventually(async () => {
      await logs();
      expect(kubelet?.seen.at(-1)?.clientName).toBe('new-client');
    });
    expect(await reloads()).toContain('kapstan_certificate_reloads_total{certificate="kubeletCa",status="success"} 1');
  });
});
