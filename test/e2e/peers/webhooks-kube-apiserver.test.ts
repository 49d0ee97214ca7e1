// A real kube-apiserver calls the webhooks of a controller that our SDK serves: defaults, validation, conversion, and
// certificates that are renewed meanwhile. Needs KAPSTAN_KUBE_APISERVER, a kube-apiserver of 1.36, and an etcd.
import { defineResource, isStatusError, silentLogger, systemClock } from '@kapstan/api';
import { requiredField } from '@kapstan/api/errors';
import { VirtualClock } from '@kapstan/api/testing';
import { Client, clientConfigOf, parseKubeconfig } from '@kapstan/client';
import { controller, Manager } from '@kapstan/controller';
import { ValidatingWebhookConfiguration } from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { Secret } from '@kapstan/kinds/core/v1';
import { type EtcdProcess, findEtcd, howToInstall, startEtcd } from '@kapstan/storage-etcd/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type KubeApiserver, startKubeApiserver } from './etcd-kube-apiserver.ts';

const kubeBinary = process.env.KAPSTAN_KUBE_APISERVER ?? '';
const etcdBinary = findEtcd() ?? '';
const missing =
  kubeBinary === '' ? 'KAPSTAN_KUBE_APISERVER names no kube-apiserver' : etcdBinary === '' ? howToInstall : '';

const Echo = defineResource({
  group: 'demo.dev',
  version: 'v1',
  kind: 'Echo',
  spec: { type: 'object', properties: { text: { type: 'string' }, copies: { type: 'integer' } } },
});
const OldEcho = defineResource({
  group: 'demo.dev',
  version: 'v1beta1',
  kind: 'Echo',
  spec: { type: 'object', properties: { message: { type: 'string' }, copies: { type: 'integer' } } },
});

const echo = controller(Echo)
  .defaults(({ spec }, { warn }) => {
    spec.copies ??= 1;
    warn('defaults were set');
  })
  .validates({
    create: ({ spec }) => (spec.text === undefined ? [requiredField('spec.text')] : undefined),
    update: ({ spec }, { old }) =>
      spec.text === old.spec.text ? [] : [{ path: 'spec.text', value: spec.text, detail: 'field is immutable' }],
    delete: ({ metadata }) => (metadata?.labels?.kept === undefined ? undefined : 'it is kept'),
  })
  .converts({
    v1beta1: {
      resource: OldEcho,
      to: ({ spec: { message = '', ...spec } }) => ({ spec: { ...spec, text: message } }),
      from: ({ spec: { text = '', ...spec } }) => ({ spec: { ...spec, message: text } }),
    },
  })
  .reconcile(async () => undefined);

const minute = 60_000;
const secret = { name: 'certificates', namespace: 'default' };
const target = (name: string): { name: string; namespace: string } => ({ name, namespace: 'default' });

describe('a kube-apiserver that calls webhooks of ours', () => {
  if (missing !== '') {
    it('is answered', ({ skip }) => skip(missing));
    return;
  }
  let etcd: EtcdProcess;
  let kube: KubeApiserver;
  let client: Client;
  let run: Promise<void>;
  const stop = new AbortController();
  const clock = new VirtualClock({ startMs: systemClock.now() });

  beforeAll(async () => {
    [etcd] = await startEtcd({ binary: etcdBinary });
    kube = await startKubeApiserver(kubeBinary, etcd.endpoint);
    client = new Client({ ...clientConfigOf(parseKubeconfig(kubeconfigOf(kube))), proxyUrl: '' });
    await client.prepare();
    // kube-apiserver's admission looks namespaces up in a cache.
    await vi.waitFor(
      () => client.get(Secret, { name: 'none', namespace: 'default' }).catch((error) => expect(error.code).toBe(404)),
      20_000,
    );
    const times = {
      authorityMs: 60 * minute,
      authorityRenewBeforeMs: 58 * minute,
      servingMs: 50 * minute,
      servingRenewBeforeMs: 45 * minute,
      overlapMs: 10_000,
    };
    const manager = new Manager([echo], {
      client,
      clock,
      logger: silentLogger,
      installCrds: true,
      metrics: { port: 0 },
      webhooks: { url: 'https://127.0.0.1', host: '127.0.0.1', port: 0, leaveMs: 0, certificates: { secret, times } },
    });
    run = manager.run(stop.signal);
    await manager.whenReady();
    await vi.waitFor(async () => {
      const answer = await fetch(`http://127.0.0.1:${manager.probePort}/readyz`);
      expect(`${answer.status} ${await answer.text()}`).toBe('200 ok');
    }, 30_000);
    // An API server learns of a configuration through its own watch.
    await vi.waitFor(async () => {
      const { spec } = await client.create(Echo, { metadata: target('probe'), spec: { text: 'x' } }, { dryRun: true });
      expect(spec.copies).toBe(1);
    }, 30_000);
  }, 120_000);
  afterAll(async () => {
    stop.abort();
    await run;
    await client?.close();
    await kube?.close();
    await etcd?.remove();
  });

  it('gets defaults, denials with causes, and objects in every version', async () => {
    const made = await client.create(Echo, { metadata: target('a'), spec: { text: 'hi' } });
    expect(made.spec).toEqual({ text: 'hi', copies: 1 });
    const error: unknown = await client
      .create(Echo, { metadata: target('b'), spec: {} })
      .catch((thrown: unknown) => thrown);
    expect(isStatusError(error) && error.status).toMatchObject({
      code: 422,
      reason: 'Invalid',
      message:
        'admission webhook "validates.echos.demo.dev" denied the request: Echo.demo.dev "b" is invalid: spec.text: Required value',
      details: { name: 'b', kind: 'Echo', causes: [{ reason: 'FieldValueRequired', field: 'spec.text' }] },
    });
    await expect(client.update(Echo, { ...made, spec: { ...made.spec, text: 'ho' } })).rejects.toThrow(
      'field is immutable',
    );
    const { spec, metadata } = await client.get(OldEcho, target('a'));
    expect(spec).toEqual({ message: 'hi', copies: 1 });
    expect(metadata?.uid).toBe(made.metadata?.uid);
    await client.create(OldEcho, {
      metadata: { ...target('old'), labels: { kept: 'yes' } },
      spec: { message: 'from old' },
    });
    expect((await client.get(Echo, target('old'))).spec).toEqual({ text: 'from old', copies: 1 });
    expect((await client.list(OldEcho, { namespace: 'default' })).map((each) => each.spec.message)).toEqual([
      'hi',
      'from old',
    ]);
    await expect(client.delete(Echo, target('old'))).rejects.toThrow('it is kept');
  });

  it('trusts the authority again that somebody removed', async () => {
    const bundle = (await client.get(Secret, secret)).data?.['ca.crt'];
    const path = '/webhooks/0/clientConfig/caBundle';
    const name = { name: 'echo-webhooks' };
    await client.patch(ValidatingWebhookConfiguration, name, { type: 'json', body: [{ op: 'remove', path }] });
    await vi.waitFor(async () => {
      await clock.advance(1000);
      const present = await client.get(ValidatingWebhookConfiguration, name);
      expect(present.webhooks?.[0]?.clientConfig.caBundle).toBe(bundle);
    }, 30_000);
  });

  it('loses no call while the authority is replaced', async () => {
    const load = new AbortController();
    let calls = 0;
    const lanes = Promise.all(
      [0, 1, 2, 3].map(async (lane) => {
        for (let n = 0; !load.signal.aborted; n++) {
          await client.create(Echo, { metadata: target(`lane-${lane}-${n}`), spec: { text: 'x' } });
          await client.get(OldEcho, target(`lane-${lane}-${n}`));
          calls++;
        }
      }),
    );
    lanes.catch(() => undefined);
    const authorities = async (): Promise<number> => {
      const { spec } = await client.get(CustomResourceDefinition, { name: 'echos.demo.dev' });
      const bundle = Buffer.from(spec.conversion?.webhook?.clientConfig?.caBundle ?? '', 'base64').toString();
      return bundle.split('BEGIN CERTIFICATE').length - 1;
    };
    const key = async (): Promise<string | undefined> => (await client.get(Secret, secret)).data?.['tls.key'];
    const first = await key();
    await clock.advance(2 * minute);
    await vi.waitFor(async () => {
      await clock.advance(1000);
      expect(await authorities()).toBe(2);
    }, 30_000);
    await vi.waitFor(async () => {
      await clock.advance(1000);
      expect(await key()).not.toBe(first);
    }, 30_000);
    await vi.waitFor(async () => {
      await clock.advance(1000);
      expect(await authorities()).toBe(1);
    }, 30_000);
    const before = calls;
    await vi.waitFor(() => expect(calls).toBeGreaterThan(before + 20), 30_000);
    load.abort();
    await lanes;
  }, 120_000);
});

function kubeconfigOf({ url, token }: KubeApiserver): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'kube',
    clusters: [{ name: 'kube', cluster: { server: url, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'kube', context: { cluster: 'kube', user: 'admin' } }],
  });
}
