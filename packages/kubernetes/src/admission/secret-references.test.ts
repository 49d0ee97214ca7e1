import type { UnstructuredObject } from '@kapstan/api';
import { ObjectReader } from '@kapstan/apiserver';
import { StoreFixture } from '@kapstan/apiserver/testing';
import type { PodSpec } from '@kapstan/kinds/core/v1';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdmissionServer, objection, testAttributes } from '../testing/admission-server.ts';
import { hasSecrets, hasTokenVolume } from './secret-references.ts';
import { ServiceAccount } from './service-account.ts';

let server: AdmissionServer;
let plugin: ServiceAccount;

beforeAll(async () => {
  server = new AdmissionServer(await StoreFixture.open(openLmdbEngine));
  await server.start({ disabled: ['ServiceAccount'] });
  await server.create('namespaces', { name: 'default' });
  const lists = { secrets: [{ name: 'ok' }], imagePullSecrets: [{ name: 'pull' }] };
  for (const [name, value] of [
    ['strict', 'true'],
    ['numbered', '1'],
    ['lax', 'false'],
    ['odd', 'yes'],
  ] as const) {
    const annotations = { 'kubernetes.io/enforce-mountable-secrets': value };
    await server.create('serviceaccounts', { name, metadata: { annotations }, ...lists });
  }
  plugin = new ServiceAccount({
    reader: new ObjectReader(server.catalog),
    clock: server.fixture.clock,
    random: () => 0,
  });
});
afterAll(() => server.close());

const container = { name: 'c', image: 'i' };
const env = (name: string): object => ({ env: [{ name: 'E', valueFrom: { secretKeyRef: { name, key: 'k' } } }] });
const envFrom = (name: string): object => ({ envFrom: [{ secretRef: { name } }] });

interface Request {
  readonly account?: string;
  readonly operation?: 'CREATE' | 'UPDATE';
  readonly subresource?: string;
  readonly annotations?: Record<string, string>;
}

async function why(
  spec: object,
  { account = 'strict', annotations, ...request }: Request = {},
): Promise<string | undefined> {
  const object = {
    metadata: { name: 'x', ...(annotations && { annotations }) },
    spec: { containers: [container], ...(account !== '' && { serviceAccountName: account }), ...spec },
  } as UnstructuredObject;
  const resource = { group: '', version: 'v1', resource: 'pods' };
  const attributes = testAttributes({ operation: 'CREATE', resource, object, ...request });
  return (await objection(() => plugin.validate(attributes)))?.[1].replace('pods "x" is forbidden: ', '');
}

describe('an account that lists the secrets of its pods', () => {
  const other = 'is not allowed because service account strict does not reference that';
  it.each<[object, string | undefined]>([
    [{ volumes: [{ name: 'v', secret: { secretName: 'no' } }] }, `volume with secret.secretName="no" ${other} secret`],
    [
      {
        volumes: [
          { name: 'v', secret: { secretName: 'ok' } },
          { name: 'w', emptyDir: {} },
        ],
      },
      undefined,
    ],
    [
      { initContainers: [{ ...container, ...env('no') }] },
      `init container c with envVar E referencing secret.secretName="no" ${other} secret`,
    ],
    [
      {
        containers: [
          { ...container, ...env('ok') },
          { ...container, name: 'd', ...envFrom('no') },
        ],
      },
      `container d with envFrom referencing secret.secretName="no" ${other} secret`,
    ],
    [{ containers: [{ ...container, ...env('ok'), ...envFrom('ok') }] }, undefined],
    [
      { imagePullSecrets: [{ name: 'pull' }, { name: 'ok' }] },
      `imagePullSecrets[1].name="ok" ${other} imagePullSecret`,
    ],
  ])('lets %j: %s', async (spec, expected) => {
    expect(await why(spec)).toBe(expected);
  });

  it.each([
    ['numbered', true],
    ['lax', false],
    ['odd', false],
  ])('does so by its annotation: %s, %s', async (account, isEnforced) => {
    const fault = await why({ containers: [{ ...container, ...envFrom('no') }] }, { account });
    expect(fault !== undefined).toBe(isEnforced);
  });

  it('is asked about ephemeral containers, and not about other changes', async () => {
    const spec = { ephemeralContainers: [{ ...container, ...envFrom('no') }] };
    const change = { operation: 'UPDATE', subresource: 'ephemeralcontainers' } as const;
    expect(await why(spec, change)).toMatch(/^ephemeral container c with envFrom referencing secret/);
    for (const subresource of ['', 'status', 'resize'])
      expect(await why(spec, { ...change, subresource })).toBeUndefined();
  });

  it('must be there when the pod is written', async () => {
    expect(await why({}, { account: '' })).toBe('no service account specified for pod default/x');
    expect(await why({}, { account: 'gone' })).toMatch(/error looking up service account default\/gone/);
  });
});

describe('a mirror pod', () => {
  const annotations = { 'kubernetes.io/config.mirror': 'x' };
  it.each<[object, string | undefined]>([
    [{}, undefined],
    [{ serviceAccountName: 'strict' }, 'a mirror pod may not reference service accounts'],
    [{ imagePullSecrets: [{ name: 'a' }] }, 'a mirror pod may not reference secrets'],
    [
      { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }] },
      'a mirror pod may not use ServiceAccountToken volume projections',
    ],
  ])('has no rights in the cluster: %j, %s', async (spec, expected) => {
    expect(await why(spec, { account: '', annotations })).toBe(expected);
  });
});

it.each<[object, boolean]>([
  [{ azureFile: { secretName: 's', shareName: 'x' } }, true],
  [{ cephfs: { monitors: [], secretRef: { name: 's' } } }, true],
  [{ cephfs: { monitors: [], secretRef: { name: '' } } }, false],
  [{ csi: { driver: 'd', nodePublishSecretRef: { name: 's' } } }, true],
  [{ projected: { sources: [{ secret: { name: 's' } }] } }, true],
  [{ projected: { sources: [{ configMap: { name: 's' } }] } }, false],
  [{ emptyDir: {} }, false],
])('a volume of %j has a secret: %s', (source, expected) => {
  const spec = { containers: [], volumes: [{ name: 'v', ...source }] } as PodSpec;
  expect([hasSecrets(spec), hasTokenVolume(spec)]).toEqual([expected, false]);
});
