import { isStatusError, type KubernetesObject } from '@kapstan/api';
import { badRequest } from '@kapstan/api/errors';
import { admit } from '@kapstan/control-plane';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { afterEach, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';
import type { TestClusterOptions } from './test-cluster-options.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let cluster: TestCluster;
afterEach(() => cluster.close());

async function start(options: TestClusterOptions = {}): Promise<TestCluster> {
  cluster = await testCluster({ http: 'off', ...options });
  return cluster;
}

const target = (name: string): { name: string; namespace: string } => ({ name, namespace: 'default' });
const map = (name: string, data: Record<string, string> = {}): ConfigMap => ({ metadata: target(name), data });
const create = (object: ConfigMap): Promise<ConfigMap> => cluster.client.create(ConfigMap, object);

async function refusal(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return isStatusError(error) ? `${error.code} ${error.message}` : String(error);
}

it('changes objects in place and refuses others, typed by the resource', async () => {
  await start();
  cluster.admit(ConfigMap, {
    mutate: ({ object, operation }) => {
      if (object !== null) object.data = { ...object.data, seen: operation };
    },
    validate: ({ object }) => {
      if (object?.data?.bad === undefined) return { allowed: true, warnings: ['looks good'] };
      return { allowed: false, status: { code: 422, message: 'nothing bad' } };
    },
  });
  expect((await create(map('a', { k: 'v' }))).data).toEqual({ k: 'v', seen: 'CREATE' });
  expect(await refusal(create(map('b', { bad: 'x' })))).toBe(
    '422 admission webhook "functions.kapstan.dev" denied the request: nothing bad',
  );
});

it('takes effect at once, stays over a restart, and ends when it is removed', async () => {
  await start();
  const admission = cluster.admit('*', { validate: () => ({ allowed: false }) });
  const refused = '400 admission webhook "functions.kapstan.dev" denied the request without explanation';
  expect(await refusal(create(map('a')))).toBe(refused);
  await cluster.stop();
  await cluster.start();
  expect(await refusal(create(map('a')))).toBe(refused);
  admission.remove();
  await create(map('a'));
});

it('comes from the options of a control plane, too', async () => {
  const validate = (): { allowed: boolean } => ({ allowed: false });
  await start({ controlPlane: { admission: [admit(ConfigMap, { name: 'mine.example.com', validate })] } });
  expect(await refusal(create(map('a')))).toContain('admission webhook "mine.example.com" denied');
  const cases: readonly KubernetesObject[] = [{ metadata: target('d') }];
  expect(await refusal(cluster.client.create(Deployment, cases[0] as never))).not.toContain('mine.example.com');
});

it('is refused where the plug-in that would call it is off, before the start and after it', async () => {
  const why =
    'functions that validate are called by the admission plug-in ValidatingAdmissionWebhook, which is disabled';
  const disabled = ['ValidatingAdmissionWebhook'];
  const validate = () => ({ allowed: false });
  const functions = [admit(ConfigMap, { validate })];
  await expect(start({ controlPlane: { admission: { disabled, functions } } })).rejects.toThrow(why);
  await start({ controlPlane: { admission: { disabled } } });
  expect(() => cluster.admit(ConfigMap, { validate })).toThrow(why);
  expect(() => cluster.admit(ConfigMap, { mutate: () => undefined })).not.toThrow();
});

it('answers with a status that it throws, and with 500 for any other error unless that is ignored', async () => {
  await start();
  const first = cluster.admit(ConfigMap, {
    validate: () => {
      throw badRequest('not like this');
    },
  });
  expect(await refusal(create(map('a')))).toContain('400 admission webhook');
  first.remove();
  const fails = (): never => {
    throw new Error('out of order');
  };
  const second = cluster.admit(ConfigMap, { validate: fails });
  expect(await refusal(create(map('a')))).toBe(
    '500 Internal error occurred: failed calling webhook "functions.kapstan.dev": failed to call webhook: out of order',
  );
  second.remove();
  cluster.admit(ConfigMap, { validate: fails, failurePolicy: 'Ignore' });
  await create(map('a'));
});

it('has its time, after which nobody waits for it', async () => {
  await start();
  let signal: AbortSignal | undefined;
  cluster.admit(ConfigMap, {
    timeoutSeconds: 3,
    validate: (_request, call) => {
      signal = call.signal;
      return new Promise(() => undefined);
    },
  });
  const creating = refusal(create(map('a')));
  await cluster.advance(2_999);
  expect(signal?.aborted).toBe(false);
  await cluster.advance(1);
  expect(await creating).toContain('context deadline exceeded');
  expect(signal?.aborted).toBe(true);
});

it('sees only copies, so that validation changes nothing', async () => {
  await start();
  cluster.admit(ConfigMap, {
    validate: (request) => {
      (request.object as ConfigMap).data = { changed: 'yes' };
    },
  });
  expect((await create(map('a', { k: 'v' }))).data).toEqual({ k: 'v' });
});

it('may answer with a patch, and a bad one is refused', async () => {
  await start();
  const patch = (operations: unknown): string => Buffer.from(JSON.stringify(operations)).toString('base64');
  const admission = cluster.admit(ConfigMap, {
    mutate: () => ({ allowed: true, patch: patch([{ op: 'add', path: '/data/p', value: '1' }]) }),
  });
  expect((await create(map('a', { k: 'v' }))).data).toEqual({ k: 'v', p: '1' });
  admission.remove();
  cluster.admit(ConfigMap, {
    mutate: () => ({ allowed: true, patch: patch([{ op: 'remove', path: '/data/none' }]) }),
  });
  expect(await refusal(create(map('b', { k: 'v' })))).toBe(
    "500 Internal error occurred: error in remove for path: '/data/none': Unable to remove nonexistent key: none: missing value",
  );
});

it('requires a function', async () => {
  await start();
  expect(() => cluster.admit(ConfigMap, {})).toThrow(new TypeError('admit requires mutate or validate'));
});
