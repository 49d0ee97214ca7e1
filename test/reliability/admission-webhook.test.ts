// An admission webhook that hangs, cuts connections, answers 10 MB or with a wrong uid, while other clients continue: they write objects
// that do not concern the webhook, and read and watch everything.
import { isStatusError } from '@kapstan/api';
import { ValidatingWebhookConfiguration } from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { ConfigMap, Secret } from '@kapstan/kinds/core/v1';
import { type TestCluster, testCluster } from '@kapstan/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  AdmissionWebhookServer,
  allowing,
  reviewed,
} from '../../packages/testing/src/testing/admission-webhook-server.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const namespace = 'default';
let cluster: TestCluster;
let hook: AdmissionWebhookServer;
let serial = 0;

beforeAll(async () => {
  hook = await AdmissionWebhookServer.start();
  cluster = await testCluster({ controlPlane: { maxRequestsInflight: 10_000, maxMutatingRequestsInflight: 10_000 } });
  await cluster.client.create(ValidatingWebhookConfiguration, hook.validating('v', { timeoutSeconds: 5 }));
  await cluster.settle();
});
afterAll(async () => {
  await cluster.close();
  await hook.close();
});
beforeEach(() => {
  hook.answer = allowing;
});

const map = (): ConfigMap => ({ metadata: { namespace, name: `m-${serial++}` } });
const create = (): Promise<ConfigMap> => cluster.client.create(ConfigMap, map());

async function refusal(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!isStatusError(error)) throw new Error(`no StatusError: ${String(error)}`);
  return error.message.replace(/https:[^?]*/, 'URL').replace(/uid="[^"]*"/, 'uid="…"');
}

/** Checks the work that must continue whatever the webhook does. */
async function expectOthersGoOn(): Promise<void> {
  const client = await cluster.connect();
  const name = `s-${serial++}`;
  await client.create(Secret, { metadata: { namespace, name } });
  expect((await client.get(Secret, { namespace, name })).metadata?.name).toBe(name);
  await client.list(ConfigMap, { namespace });
  await client.delete(Secret, { namespace, name });
  await client.close();
}

const failed = 'Internal error occurred: failed calling webhook "v.example.com"';

describe('an admission webhook', () => {
  it('that hangs with 1,000 requests waiting holds up nobody else, and each waits for its own time only', async () => {
    hook.answer = () => undefined;
    const waiting = Array.from({ length: 1000 }, () => refusal(create()));
    await cluster.settle();
    await expectOthersGoOn();
    await cluster.advance(5_000);
    const told = new Set(await Promise.all(waiting));
    expect([...told]).toEqual([`${failed}: failed to call webhook: Post "URL?timeout=5s": context deadline exceeded`]);
    hook.answer = allowing;
    await create();
  });

  it('with more calls than it may have is not called at all', async () => {
    hook.answer = () => undefined;
    const waiting = Array.from({ length: 1024 }, () => refusal(create()));
    await cluster.settle();
    expect(await refusal(create())).toContain('too many calls of this webhook are under way (1024)');
    await cluster.advance(5_000);
    await Promise.all(waiting);
  });

  it('whose failures are ignored is not passed by with more calls than it may have', async () => {
    const change = async (failurePolicy: string): Promise<void> => {
      const body = [{ op: 'replace', path: '/webhooks/0/failurePolicy', value: failurePolicy }];
      await cluster.client.patch(ValidatingWebhookConfiguration, { name: 'v' }, { type: 'json', body });
      await cluster.settle();
    };
    await change('Ignore');
    hook.answer = () => undefined;
    const waiting = Array.from({ length: 1024 }, () => create());
    await cluster.settle();
    const error = await create().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 429, message: expect.stringContaining('too many calls of this webhook') });
    await cluster.advance(5_000);
    await Promise.all(waiting);
    hook.answer = allowing;
    await change('Fail');
  });

  it('is called no longer when its client has gone', async () => {
    const gone = new AbortController();
    let cut: Promise<void> | undefined;
    hook.answer = (_request, response) => {
      cut = new Promise((resolve) => void response.on('close', () => resolve()));
      gone.abort(new Error('the client has gone'));
    };
    await expect(cluster.client.create(ConfigMap, map(), { signal: gone.signal })).rejects.toThrow(
      'the client has gone',
    );
    await cut;
    expect(hook.asked.length).toBeGreaterThan(0);
  });

  it.each<[string, AdmissionWebhookServer['answer'], string]>([
    [
      'closes its connection',
      (_request, response) => void response.destroy(),
      `${failed}: failed to call webhook: Post "URL?timeout=5s": EOF`,
    ],
    [
      'answers 10 MB',
      (request, response) => reviewed(request, response, { allowed: true, warnings: ['x'.repeat(10_000_000)] }),
      `${failed}: failed to call webhook: the answer of the webhook is larger than 8388608 bytes`,
    ],
    [
      'answers with a wrong uid',
      (request, response) => reviewed(request, response, { uid: 'other', allowed: true }),
      `${failed}: received invalid webhook response: expected response.uid="…", got "other"`,
    ],
    [
      'answers half of it',
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
        response.write('{"kind":');
        setImmediate(() => response.destroy());
      },
      `${failed}: failed to call webhook`,
    ],
  ])('that %s fails its own requests only', async (_, answer, text) => {
    hook.answer = answer;
    expect(await refusal(create())).toContain(text);
    await expectOthersGoOn();
    hook.answer = allowing;
    await create();
  });
});
