// Tests the webhooks of controllers over HTTPS: a manager serves them, with its own certificates, to the server of the cluster.

import type { AddressInfo } from 'node:net';
import { connect as connectTcp, createServer, type Server, type Socket } from 'node:net';
import { isStatusError, type Logger, silentLogger, systemClock } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { type Controller, controller, Manager, type ManagerOptions, type WebhookOptions } from '@kapstan/controller';
import {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { Secret } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';
import { Echo, echoBuilder, echoController, OldEcho } from './testing/echo-controller.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let cluster: TestCluster;
let ends: (() => Promise<void>)[];
beforeEach(async () => {
  ends = [];
  cluster = await testCluster({ clock: 'real', http: 'off' });
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await cluster.close();
});

const secret = { name: 'certificates', namespace: 'default' };
const local: WebhookOptions = {
  url: 'https://127.0.0.1',
  host: '127.0.0.1',
  port: 0,
  leaveMs: 0,
  certificates: { secret },
};
const target = (name: string): { name: string; namespace: string } => ({ name, namespace: 'default' });
const make = (name: string) => cluster.client.create(Echo, { metadata: target(name), spec: { text: 'x' } });

interface Started {
  readonly manager: Manager;
  readonly stop: () => Promise<void>;
}

async function start(options: Partial<ManagerOptions> = {}, program: Controller = echoController()): Promise<Started> {
  const stopping = new AbortController();
  const webhooks = { ...local, ...options.webhooks };
  const manager = new Manager([program], {
    client: cluster.client,
    installCrds: true,
    metrics: { port: 0 },
    logger: silentLogger,
    ...options,
    webhooks,
  });
  const run = manager.run(stopping.signal);
  const stop = async (): Promise<void> => {
    stopping.abort();
    await run;
  };
  ends.push(stop);
  await manager.whenReady();
  await vi.waitFor(async () => expect(await ready(manager)).toBe('200 ok'), 20_000);
  return { manager, stop };
}

async function ready(manager: Manager): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${manager.probePort}/readyz`);
  return `${answer.status} ${await answer.text()}`;
}

const mutating = () => cluster.client.get(MutatingWebhookConfiguration, { name: 'echo-webhooks' });
const validating = () => cluster.client.get(ValidatingWebhookConfiguration, { name: 'echo-webhooks' });
const definition = () => cluster.client.get(CustomResourceDefinition, { name: 'echos.demo.dev' });
const text = (base64 = ''): string => Buffer.from(base64, 'base64').toString();
const stored = async () => (await cluster.client.get(Secret, secret)).data ?? {};

it('sets defaults, validates and converts over HTTPS, and says when it is ready', async () => {
  const { manager } = await start();
  expect((await make('a')).spec).toEqual({ text: 'x', copies: 1 });
  await expect(cluster.client.create(Echo, { metadata: target('b'), spec: {} })).rejects.toMatchObject({
    message:
      'admission webhook "validates.echos.demo.dev" denied the request: Echo.demo.dev "b" is invalid: spec.text: Required value',
    status: { code: 422, details: { causes: [{ field: 'spec.text' }] } },
  });
  const broken = cluster.client.create(Echo, { metadata: target('b'), spec: { text: 'broken' } });
  await expect(broken).rejects.toThrow('failed calling webhook "validates.echos.demo.dev"');
  expect((await cluster.client.get(OldEcho, target('a'))).spec).toEqual({ message: 'x', copies: 1 });
  const url = `https://127.0.0.1:${manager.webhookPort}`;
  expect((await mutating()).webhooks).toMatchObject([
    {
      name: 'defaults.echos.demo.dev',
      clientConfig: { url: `${url}/mutate-demo-dev-v1-echo` },
      failurePolicy: 'Fail',
      sideEffects: 'None',
      timeoutSeconds: 10,
      reinvocationPolicy: 'Never',
      rules: [{ operations: ['CREATE', 'UPDATE'], apiGroups: ['demo.dev'], apiVersions: ['v1'], resources: ['echos'] }],
    },
  ]);
  expect((await validating()).webhooks?.[0]?.rules?.[0]?.operations).toEqual(['CREATE', 'UPDATE', 'DELETE']);
  expect((await definition()).spec.conversion?.webhook?.clientConfig?.url).toBe(`${url}/convert`);
  expect((await definition()).spec.versions.map(({ name, storage }) => `${name} ${storage}`)).toEqual([
    'v1 true',
    'v1beta1 false',
    'v1alpha1 false',
  ]);
  expect(await manager.metrics.metrics()).toContain(
    'controller_runtime_webhook_requests_total{webhook="/mutate-demo-dev-v1-echo",code="200"} 3',
  );
});

it('brings its authority back wherever it is changed or removed, and leaves the fields of others', async () => {
  await start();
  const bundle = (await stored())['ca.crt'];
  const patch = (body: unknown) =>
    cluster.client.patch(
      ValidatingWebhookConfiguration,
      { name: 'echo-webhooks' },
      { type: 'json', body: body as never },
    );
  const path = '/webhooks/0/clientConfig/caBundle';
  await patch([
    { op: 'remove', path },
    { op: 'replace', path: '/webhooks/0/timeoutSeconds', value: 7 },
  ]);
  await vi.waitFor(async () => expect((await validating()).webhooks?.[0]?.clientConfig.caBundle).toBe(bundle), 20_000);
  expect((await validating()).webhooks?.[0]?.timeoutSeconds).toBe(7);
  const { metadata, spec } = await definition();
  const { caBundle: _removed, ...config } = spec.conversion?.webhook?.clientConfig ?? {};
  const webhook = { clientConfig: config, conversionReviewVersions: ['v1'] };
  await cluster.client.update(CustomResourceDefinition, {
    metadata: metadata ?? {},
    spec: { ...spec, conversion: { strategy: 'Webhook', webhook } },
  });
  await vi.waitFor(
    async () => expect((await definition()).spec.conversion?.webhook?.clientConfig?.caBundle).toBe(bundle),
    20_000,
  );
  await cluster.client.delete(MutatingWebhookConfiguration, { name: 'echo-webhooks' });
  await vi.waitFor(async () => expect((await mutating()).webhooks?.[0]?.clientConfig.caBundle).toBe(bundle), 20_000);
});

it('shares certificates between replicas through the Secret, whoever is first', async () => {
  // Two programs must not both convert one kind.
  const plain = controller(Echo, { name: 'plain' })
    .defaults(() => undefined)
    .validates(() => undefined)
    .reconcile(async () => undefined);
  const [one, two] = await Promise.all([
    start(),
    start({ installCrds: false, webhooks: { ...local, name: 'other' } }, plain),
  ]);
  expect(text((await stored())['tls.crt'])).toContain('BEGIN CERTIFICATE');
  const other = await cluster.client.get(ValidatingWebhookConfiguration, { name: 'other' });
  expect(other.webhooks?.[0]?.clientConfig.caBundle).toBe((await stored())['ca.crt']);
  expect((await make('a')).spec.copies).toBe(1);
  expect(one.manager.webhookPort).not.toBe(two.manager.webhookPort);
  await two.stop();
  await cluster.client.delete(ValidatingWebhookConfiguration, { name: 'other' });
  await cluster.client.delete(MutatingWebhookConfiguration, { name: 'other' });
});

it('takes away the hooks, configurations and conversion that a new version of the program has no more', async () => {
  const second = { name: 'second.echos.demo.dev', failurePolicy: 'Ignore' } as const;
  const programs = [
    echoBuilder()
      .defaults(() => undefined, second)
      .reconcile(async () => undefined),
    controller(Echo)
      .defaults(() => undefined)
      .reconcile(async () => undefined),
    controller(Echo).reconcile(async () => undefined),
  ] as const;
  const names = async () => (await mutating()).webhooks?.map(({ name }) => name);
  const first = await start({}, programs[0]);
  expect(await names()).toHaveLength(2);
  await first.stop();
  // Without installCrds, only the webhooks maintain the definition.
  const next = await start({ installCrds: false }, programs[1]);
  await vi.waitFor(async () => expect(await names()).toEqual(['defaults.echos.demo.dev']), 20_000);
  await vi.waitFor(() => expect(validating()).rejects.toMatchObject({ reason: 'NotFound' }), 20_000);
  await vi.waitFor(async () => expect((await definition()).spec.conversion).toEqual({ strategy: 'None' }), 20_000);
  await next.stop();
  await start({ installCrds: false }, programs[2]);
  await vi.waitFor(() => expect(mutating()).rejects.toMatchObject({ reason: 'NotFound' }), 20_000);
});

const minute = 60_000;

it('renews certificates and authority under load without losing a call', async () => {
  const clock = new VirtualClock({ startMs: systemClock.now() });
  const times = {
    authorityMs: 60 * minute,
    authorityRenewBeforeMs: 57 * minute,
    servingMs: 50 * minute,
    servingRenewBeforeMs: 48 * minute,
    overlapMs: 10_000,
  };
  const lines: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    info: (message, fields) => void lines.push(`${message} ${fields?.step ?? ''}`),
  };
  await start({ clock, logger, webhooks: { ...local, certificates: { secret, times } } });
  const load = new AbortController();
  let calls = 0;
  const lane = async (which: number): Promise<void> => {
    for (let n = 0; !load.signal.aborted; n++) {
      await make(`lane-${which}-${n}`);
      await cluster.client.get(OldEcho, target(`lane-${which}-${n}`));
      calls++;
    }
  };
  const lanes = Promise.all([0, 1, 2, 3].map(lane));
  lanes.catch(() => undefined);
  const first = await stored();
  const differs = async (name: string, before: Readonly<Record<string, string>>): Promise<void> => {
    await vi.waitFor(async () => {
      await clock.advance(1100);
      expect((await stored())[name]).not.toBe(before[name]);
    }, 30_000);
  };
  const authorities = async (): Promise<number> =>
    text((await mutating()).webhooks?.[0]?.clientConfig.caBundle).split('BEGIN CERTIFICATE').length - 1;
  // A new serving certificate of the same authority.
  await clock.advance(2 * minute);
  await differs('tls.crt', first);
  const renewed = await stored();
  expect(renewed['ca.crt']).toBe(first['ca.crt']);
  // A new authority, which is trusted before it is used.
  await clock.advance(minute);
  await differs('ca.crt', renewed);
  const added = await stored();
  expect(added['ca.key']).not.toBe(first['ca.key']);
  expect(text(added['ca.crt'])).toContain(text(first['ca.crt']).trim());
  await differs('tls.crt', renewed);
  expect(await authorities()).toBe(2);
  // The old authority is removed when no process uses it any more.
  const used = await stored();
  await differs('ca.crt', used);
  await vi.waitFor(async () => {
    await clock.advance(1000);
    expect(await authorities()).toBe(1);
  }, 20_000);
  const before = calls;
  await vi.waitFor(() => expect(calls).toBeGreaterThan(before + 20), 30_000);
  load.abort();
  await lanes;
  expect(lines.filter((line) => line.includes('certificates')).map((line) => line.replace(/ .* /, ' '))).toEqual([
    'made replace',
    'renewed issue',
    'renewed addAuthority',
    'renewed issue',
    'renewed dropOld',
  ]);
});

/** Simulates the Service in front of two replicas: each connection goes to the next one that is listening. */
class Balancer {
  readonly ports = new Set<number>();
  readonly #sockets = new Map<Socket, number>();
  readonly #server: Server;
  #turn = 0;

  private constructor() {
    this.#server = createServer((socket) => {
      const ports = [...this.ports];
      const port = ports[this.#turn++ % ports.length] ?? 0;
      const upstream = connectTcp(port, '127.0.0.1');
      this.#sockets.set(socket, port);
      for (const [from, to] of [
        [socket, upstream],
        [upstream, socket],
      ] as const) {
        from.pipe(to);
        from.on('error', () => to.destroy());
        from.on('close', () => to.destroy());
      }
    });
  }

  static async start(): Promise<Balancer> {
    const balancer = new Balancer();
    await new Promise<void>((resolve) => balancer.#server.listen(0, '127.0.0.1', resolve));
    return balancer;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Cuts the connections of a replica, as its death would. */
  kill(port: number): void {
    this.ports.delete(port);
    for (const [socket, to] of this.#sockets) if (to === port) socket.destroy();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.keys()) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

it('goes on when one of two replicas is killed, and loses no call when one leaves in order', async () => {
  const balancer = await Balancer.start();
  ends.push(() => balancer.close());
  const webhooks = { ...local, url: balancer.url, leaveMs: 200 };
  const begin = async (): Promise<Started & { readonly port: number }> => {
    const started = await start({ webhooks });
    const port = started.manager.webhookPort ?? 0;
    balancer.ports.add(port);
    return { ...started, port };
  };
  const [one, two] = [await begin(), await begin()];
  const all = (name: string) => Promise.allSettled(Array.from({ length: 50 }, (_, n) => make(`${name}-${n}`)));
  expect((await all('both')).every(({ status }) => status === 'fulfilled')).toBe(true);
  balancer.kill(one.port);
  expect((await all('killed')).every(({ status }) => status === 'fulfilled')).toBe(true);
  balancer.ports.add(one.port);
  const load = new AbortController();
  const failures: unknown[] = [];
  const lanes = Promise.all(
    [0, 1, 2, 3].map(async (lane) => {
      for (let n = 0; !load.signal.aborted; n++)
        await make(`leave-${lane}-${n}`).catch((error: unknown) =>
          failures.push(isStatusError(error) ? error.message : error),
        );
    }),
  );
  // The endpoint leaves first; the process answers until its connections are gone.
  balancer.ports.delete(two.port);
  await two.stop();
  load.abort();
  await lanes;
  expect(failures).toEqual([]);
  expect((await make('after')).spec.copies).toBe(1);
});
