// Nothing that discovery shows can be written around admission: the tests try each resource of a new server, whatever
// kinds it has.

import { MutatingWebhookConfiguration } from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';
import { type Attempt, adminRequest, patchTypes } from './testing/admin-request.ts';
import { AdmissionWebhookServer, reviewed } from './testing/admission-webhook-server.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let cluster: TestCluster;
let hook: AdmissionWebhookServer;
beforeEach(async () => {
  hook = await AdmissionWebhookServer.start();
  hook.answer = (asked, response) => reviewed(asked, response, { allowed: false, status: { message: 'no entry' } });
  cluster = await testCluster({ controlPlane: { admission: { disabled: ['ServiceAccount'] } } });
});
afterEach(async () => {
  await cluster.close();
  await hook.close();
});

interface Shown {
  readonly name: string;
  readonly namespaced: boolean;
  readonly kind: string;
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly string[];
}

interface Place extends Shown {
  readonly groupVersion: string;
}

async function read<T>(path: string): Promise<T> {
  const { code, text } = await adminRequest(cluster, { method: 'GET', path });
  expect([path, code]).toEqual([path, 200]);
  return JSON.parse(text) as T;
}

const rootOf = (groupVersion: string): string => (groupVersion === 'v1' ? '/api/v1' : `/apis/${groupVersion}`);

async function places(): Promise<readonly Place[]> {
  const { groups } = await read<{ groups: { versions: { groupVersion: string }[] }[] }>('/apis');
  const versions = ['v1', ...groups.flatMap((group) => group.versions.map(({ groupVersion }) => groupVersion))];
  const lists = await Promise.all(
    versions.map(async (groupVersion) => {
      const { resources } = await read<{ resources: Shown[] }>(rootOf(groupVersion));
      return resources.map((resource) => ({ ...resource, groupVersion }));
    }),
  );
  return lists.flat();
}

const pathOf = ({ groupVersion, namespaced, name }: Place, namespace = 'default'): string =>
  `${rootOf(groupVersion)}${namespaced ? `/namespaces/${namespace}` : ''}/${name.split('/')[0]}`;

interface Kept {
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** Attempts on the first object that a new server has of the resource, and on those parts of it that can be written. */
async function attemptsOn(place: Place, parts: readonly Place[]): Promise<readonly Attempt[]> {
  const { items } = await read<{ items: readonly Kept[] }>(`${rootOf(place.groupVersion)}/${place.name}?limit=1`);
  const [object] = items;
  if (object === undefined) return [];
  const { name, namespace } = object.metadata;
  const whole = pathOf(place, namespace);
  const path = `${whole}/${encodeURIComponent(name)}`;
  const labelled = { metadata: { labels: { past: 'admission' } } };
  const typed = { apiVersion: place.groupVersion, kind: place.kind };
  const patch = (at: string): Attempt => ({ method: 'PATCH', path: at, body: labelled, type: patchTypes.merge });
  const can = (verb: string): boolean => place.verbs.includes(verb);
  return [
    ...(can('patch') ? [patch(path)] : []),
    ...(can('patch')
      ? [
          {
            method: 'PATCH',
            path: `${path}?fieldManager=m&force=true`,
            body: { ...typed, ...labelled },
            type: patchTypes.apply,
          },
        ]
      : []),
    ...(can('update')
      ? [{ method: 'PUT', path, body: { ...object, ...typed, metadata: { ...object.metadata, ...labelled.metadata } } }]
      : []),
    ...(can('delete') ? [{ method: 'DELETE', path }] : []),
    ...(can('deletecollection') ? [{ method: 'DELETE', path: `${whole}?fieldSelector=metadata.name=${name}` }] : []),
    ...parts.filter(({ verbs }) => verbs.includes('patch')).map((part) => patch(`${path}/${part.name.split('/')[1]}`)),
  ];
}

/** Resources about which neither is ever asked, since nobody could undo one that refuses everything. */
const configurations = [
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
  'mutatingwebhookconfigurations',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'validatingwebhookconfigurations',
];

/** Judges that refuse before an object is validated, so that any object will do. */
const judges: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  webhook: async () => {
    const everything = { apiGroups: ['*'], apiVersions: ['*'], operations: ['*' as const], resources: ['*/*'] };
    await cluster.client.create(MutatingWebhookConfiguration, hook.mutating('all', { rules: [everything] }));
    await cluster.settle();
    return configurations;
  },
  function: async () => {
    const mutate = () => ({ allowed: false, status: { message: 'no entry' } });
    const operations = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'] as const;
    cluster.admit('*', { operations, subresource: '*', mutate });
    cluster.admit('*', { operations, mutate });
    return configurations;
  },
};

describe.each(Object.keys(judges))('a %s that allows nothing', (judge) => {
  it('is asked about each resource of discovery that can be written', async () => {
    const all = await places();
    const main = all.filter(({ name }) => !name.includes('/'));
    const attempts: (readonly [Place, Attempt])[] = [];
    for (const place of main) {
      const { groupVersion, kind, verbs } = place;
      const body = { apiVersion: groupVersion, kind, metadata: { name: 'new' } };
      if (verbs.includes('create')) attempts.push([place, { method: 'POST', path: pathOf(place), body }]);
      const parts = all.filter((part) => part.groupVersion === groupVersion && part.name.startsWith(`${place.name}/`));
      if (verbs.includes('list')) {
        for (const attempt of await attemptsOn(place, parts)) attempts.push([place, attempt]);
      }
    }
    expect(attempts.length).toBeGreaterThan(100);
    const unseen = (await judges[judge]?.()) ?? [];
    const passed: string[] = [];
    for (const [place, attempt] of attempts) {
      // Nobody may delete these namespaces, whatever admission says.
      if (attempt.method === 'DELETE' && attempt.path.startsWith('/api/v1/namespaces/default')) continue;
      const { code, text } = await adminRequest(cluster, attempt);
      if (code >= 400 && text.includes('no entry')) continue;
      if (!unseen.includes(place.name)) passed.push(`${attempt.method} ${attempt.path}: ${code} ${text.slice(0, 200)}`);
    }
    expect(passed).toEqual([]);
  });

  it('is asked about what the process itself writes through its client', async () => {
    const client = cluster.client;
    await client.create(ConfigMap, { metadata: { name: 'old', namespace: 'default' } });
    await judges[judge]?.();
    const old = { name: 'old', namespace: 'default' };
    const object = { metadata: old, data: { a: 'b' } };
    const writes: Readonly<Record<string, () => Promise<unknown>>> = {
      create: () => client.create(ConfigMap, { metadata: { name: 'new', namespace: 'default' } }),
      update: async () => client.update(ConfigMap, { ...(await client.get(ConfigMap, old)), data: { a: 'b' } }),
      patch: () => client.patch(ConfigMap, old, { type: 'merge', body: { data: { a: 'b' } } }),
      apply: () => client.apply(ConfigMap, object, { fieldManager: 'm', force: true }),
      delete: () => client.delete(ConfigMap, old),
    };
    for (const [what, write] of Object.entries(writes)) await expect(write(), what).rejects.toThrow('no entry');
    expect((await client.get(ConfigMap, old)).data).toBeUndefined();
  });
});
