// Programs about the client's verbs: writes and their conflicts, patches, lists in pages and at versions, selectors.
import {
  isAlreadyExists,
  isBadRequest,
  isConflict,
  isExpired,
  isInvalid,
  isNotFound,
  isStatusError,
  isTooLargeResourceVersion,
  isUnauthorized,
  type StatusError,
} from '@kapstan/api';
import { type Client, retryOnConflict } from '@kapstan/client';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { ConfigMap, Event, Pod, Secret } from '@kapstan/kinds/core/v1';
import { expect } from 'vitest';
import type { Programs, Scene } from './scene.ts';

export const clientPrograms: Programs = {
  'creates, reads, updates and deletes, and learns of conflicts': async ({ client, namespace }) => {
    const at = { namespace, name: 'a' };
    const made = await client.create(ConfigMap, { metadata: at, data: { k: '1' } });
    expect(made).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1', metadata: at, data: { k: '1' } });
    const taken = await failure(client.create(ConfigMap, { metadata: at }));
    expect([isAlreadyExists(taken), taken.code, taken.message]).toEqual([true, 409, 'configmaps "a" already exists']);
    const updated = await client.update(ConfigMap, { ...made, data: { k: '2' } });
    expect(updated.metadata?.resourceVersion).not.toBe(made.metadata?.resourceVersion);
    const stale = await failure(client.update(ConfigMap, { ...made, data: { k: '3' } }));
    expect([isConflict(stale), stale.message]).toEqual([
      true,
      'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
    ]);
    const wrongUid = await failure(client.delete(ConfigMap, at, { preconditions: { uid: 'other' } }));
    expect([isConflict(wrongUid), wrongUid.message]).toEqual([
      true,
      `Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) does not match the UID in record (${made.metadata?.uid}). The object might have been deleted and then recreated`,
    ]);
    const uid = made.metadata?.uid ?? '';
    await client.delete(ConfigMap, at, { preconditions: { uid } });
    const gone = await failure(client.get(ConfigMap, at));
    expect([isNotFound(gone), gone.message]).toEqual([true, 'configmaps "a" not found']);
    expect(gone.details).toEqual({ name: 'a', kind: 'configmaps' });
    const late = await failure(client.update(ConfigMap, updated));
    expect(isConflict(late) || isNotFound(late)).toBe(true);
    expect(late.code).toBe(404);
  },

  'generates names': async ({ client, namespace }) => {
    const make = () => client.create(ConfigMap, { metadata: { namespace, generateName: 'gen-' } });
    const names = (await Promise.all([make(), make()])).map(({ metadata }) => metadata?.name ?? '');
    for (const name of names) expect(name).toMatch(/^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    expect(new Set(names).size).toBe(2);
  },

  'loses no write when writers retry on conflict': async ({ client, namespace }) => {
    const at = { namespace, name: 'counter' };
    await client.create(ConfigMap, { metadata: at, data: { n: '0' } });
    const increment = () =>
      retryOnConflict(
        async () => {
          const present = await client.get(ConfigMap, at);
          return await client.update(ConfigMap, { ...present, data: { n: String(Number(present.data?.n) + 1) } });
        },
        { steps: 100 },
      );
    await Promise.all(Array.from({ length: 8 }, increment));
    expect((await client.get(ConfigMap, at)).data).toEqual({ n: '8' });
  },

  'patches in three formats, and learns why a patch fails': async ({ client, namespace }) => {
    const at = { namespace, name: 'web' };
    await client.create(Deployment, deployment(at));
    const merged = await client.mergePatch(Deployment, at, { metadata: { labels: { a: '1', app: null } } });
    expect(merged.metadata?.labels).toEqual({ a: '1' });
    const containers = [{ name: 'sidecar', image: 's' }];
    const body = { spec: { template: { spec: { containers } } } };
    const strategic = await client.strategicPatch(Deployment, at, body);
    expect(strategic.spec?.template.spec?.containers.map(({ name }) => name)).toEqual(['sidecar', 'c']);
    const json = await client.jsonPatch(Deployment, at, [{ op: 'replace', path: '/spec/replicas', value: 3 }]);
    expect([json.spec?.replicas, json.metadata?.generation]).toEqual([3, 3]);
    const test = await failure(client.jsonPatch(Deployment, at, [{ op: 'test', path: '/kind', value: 'x' }]));
    expect([isInvalid(test), test.code]).toEqual([true, 422]);
    const bad = await failure(client.mergePatch(Deployment, at, { spec: { replicas: 'three' } }));
    expect(isInvalid(bad)).toBe(true);
    expect(bad.message).toContain(
      'cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
    );
  },

  'keeps bytes, texts and odd keys as they were': async ({ client, namespace }) => {
    const data = { constructor: 'c', toString: 't', 'a.b-c_d': 'ü<\u2028>&' };
    const map = await client.create(ConfigMap, { metadata: { namespace, name: 'odd' }, data: { ...data } as never });
    expect(map.data).toEqual(data);
    const bytes = Buffer.from([0, 255, 128]).toString('base64');
    const stringData = { text: 'ü' };
    const secret = { metadata: { namespace, name: 's' }, data: { bytes }, stringData, type: 'Opaque' };
    const read = await client.create(Secret, secret).then(() => client.get(Secret, { namespace, name: 's' }));
    expect(read.data).toEqual({ bytes, text: Buffer.from('ü').toString('base64') });
    expect(read.stringData).toBeUndefined();
  },

  'changes nothing in a dry run': async ({ client, namespace }) => {
    const at = { namespace, name: 'a' };
    const dryRun = true;
    const imagined = await client.create(ConfigMap, { metadata: at }, { dryRun });
    expect(imagined.metadata?.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(isNotFound(await failure(client.get(ConfigMap, at)))).toBe(true);
    const { metadata } = await client.create(ConfigMap, { metadata: at });
    const patch = { type: 'merge', body: { data: { k: 'v' } } } as const;
    expect((await client.patch(ConfigMap, at, patch, { dryRun })).data).toEqual({ k: 'v' });
    await client.delete(ConfigMap, at, { dryRun });
    const present = await client.get(ConfigMap, at);
    expect([present.data, present.metadata?.resourceVersion]).toEqual([undefined, metadata?.resourceVersion]);
  },

  'is warned of unknown fields, or refused for them, as it asks': async ({ client, namespace, warnings }) => {
    const object = (name: string) => ({ ...deployment({ namespace, name }), bogus: 1 });
    await client.create(Deployment, object('warned') as never);
    expect(warnings).toEqual(['unknown field "bogus"']);
    await client.create(Deployment, object('quiet') as never, { fieldValidation: 'Ignore' });
    expect(warnings).toHaveLength(1);
    const strict = await failure(client.create(Deployment, object('no') as never, { fieldValidation: 'Strict' }));
    expect([isBadRequest(strict), strict.message]).toEqual([
      true,
      'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field "bogus"',
    ]);
  },

  'is told each fault of an object by its field': async ({ client, namespace }) => {
    const bad = { metadata: { namespace, name: 'Bad_Name' }, spec: { containers: [{ name: 'c' }] } };
    const invalid = await failure(client.create(Pod, bad as never));
    expect([isInvalid(invalid), invalid.details?.kind, invalid.details?.name]).toEqual([true, 'Pod', 'Bad_Name']);
    const fields = invalid.details?.causes?.map(({ reason, field }) => `${reason} ${field}`);
    expect(fields).toEqual(['FieldValueInvalid metadata.name', 'FieldValueRequired spec.containers[0].image']);
    const homeless = await failure(client.create(ConfigMap, { metadata: { namespace: 'no-such', name: 'a' } }));
    expect([isNotFound(homeless), homeless.message]).toEqual([true, 'namespaces "no-such" not found']);
  },

  'is refused without a known token, and without rights': async (scene) => {
    const stranger = scene.connect({}, { token: 'unknown' });
    const unknown = await failure(stranger.get(ConfigMap, { namespace: 'default', name: 'a' }));
    expect([isUnauthorized(unknown), unknown.message]).toEqual([true, 'Unauthorized']);
    const alice = scene.connect({}, { impersonate: { user: 'alice', groups: ['people'] } });
    const forbidden = await failure(alice.get(ConfigMap, { namespace: 'default', name: 'a' }));
    expect([forbidden.code, forbidden.message]).toEqual([
      403,
      'configmaps "a" is forbidden: User "alice" cannot get resource "configmaps" in API group "" in the namespace "default"',
    ]);
  },

  'lists in pages of one version': async ({ client, namespace }) => {
    await fill({ client, namespace }, 10);
    const before = await client.listPage(ConfigMap, { namespace });
    const pages = [];
    for await (const page of client.list(ConfigMap, { namespace, limit: 4 }).pages()) {
      pages.push(page);
      if (pages.length === 1) await client.delete(ConfigMap, { namespace, name: 'm-09' });
    }
    expect(pages.map(({ items }) => items.length)).toEqual([4, 4, 2]);
    expect(pages.map(({ remainingItemCount }) => remainingItemCount)).toEqual([6, 2, undefined]);
    expect(new Set(pages.map(({ resourceVersion }) => resourceVersion))).toEqual(new Set([before.resourceVersion]));
    expect(pages.flatMap(({ items }) => items)).toEqual(before.items);
    expect(await client.list(ConfigMap, { namespace, limit: 2 })).toHaveLength(9);
  },

  'lists anew when its pages expire by a compaction': async ({ client, namespace, server }) => {
    for (const name of ['a', 'b', 'c', 'd']) await client.create(Event, event({ namespace, name }));
    const first = await client.listPage(Event, { namespace, limit: 2 });
    const rest = client.list(Event, { namespace, limit: 1 }).pages();
    await rest.next();
    await client.delete(Event, { namespace, name: 'a' });
    await server.compact();
    const expired = await failure(client.listPage(Event, { namespace, limit: 2, continue: first.continue ?? '' }));
    expect([isExpired(expired), expired.code]).toEqual([true, 410]);
    expect(expired.message).toContain(
      'The provided continue parameter is too old to display a consistent list result.',
    );
    // The answer's token continues in spite of the compaction, at the newest state.
    const inconsistent = expired.status.metadata?.continue ?? '';
    const onwards = await client.listPage(Event, { namespace, limit: 2, continue: inconsistent });
    expect(onwards.items.map(({ metadata }) => metadata?.name)).toEqual(['c', 'd']);
    expect(isExpired(await failure(rest.next()))).toBe(true);
  },

  'lists at, not older than and beyond a version': async (scene) => {
    const { client, namespace } = scene;
    const names = async (options: object) =>
      (await client.listPage(ConfigMap, { namespace, ...options })).items.map(({ metadata }) => metadata?.name);
    await client.create(ConfigMap, { metadata: { namespace, name: 'a' } });
    const { resourceVersion } = await client.listPage(ConfigMap, { namespace });
    await client.create(ConfigMap, { metadata: { namespace, name: 'b' } });
    expect(await names({ resourceVersion, resourceVersionMatch: 'Exact' })).toEqual(['a']);
    expect(await names({ resourceVersion, resourceVersionMatch: 'NotOlderThan' })).toContain('a');
    expect(await names({})).toEqual(['a', 'b']);
    const impatient = scene.connect({ maxRetries: 0 });
    const future = String(Number(resourceVersion) + 1_000_000);
    const ahead = await failure(impatient.listPage(ConfigMap, { namespace, resourceVersion: future }));
    expect([isTooLargeResourceVersion(ahead), ahead.code]).toEqual([true, 504]);
    expect(ahead.message).toMatch(new RegExp(`^Timeout: Too large resource version: ${future}, current: \\d+$`));
    const wrong = await failure(client.listPage(ConfigMap, { namespace, resourceVersionMatch: 'Exact' }));
    expect([isInvalid(wrong), wrong.message]).toEqual([
      true,
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
    ]);
  },

  'selects by labels and fields': async ({ client, namespace }) => {
    for (const [name, tier] of [
      ['a', 'web'],
      ['b', 'db'],
      ['c', undefined],
    ] as const)
      await client.create(Pod, {
        metadata: { namespace, name, labels: { app: 'x', ...(tier && { tier }) } },
        spec: { containers: [{ name: 'c', image: 'i' }], ...(tier === 'db' ? { nodeName: 'n1' } : {}) },
      });
    const names = async (options: object) =>
      (await client.list(Pod, { namespace, ...options })).map(({ metadata }) => metadata?.name).join('');
    expect(await names({ labelSelector: 'app=x,tier' })).toBe('ab');
    expect(await names({ labelSelector: 'tier notin (db)' })).toBe('ac');
    expect(await names({ labelSelector: '!tier' })).toBe('c');
    expect(await names({ fieldSelector: 'spec.nodeName=n1' })).toBe('b');
    expect(await names({ fieldSelector: 'metadata.name!=a,status.phase=Pending' })).toBe('bc');
    const unknown = await failure(client.listPage(Pod, { namespace, fieldSelector: 'spec.bogus=1' }));
    expect([isBadRequest(unknown), unknown.message]).toEqual([true, 'field label not supported: spec.bogus']);
    const broken = await failure(client.listPage(Pod, { namespace, labelSelector: 'a in' }));
    expect(isBadRequest(broken)).toBe(true);
    expect(broken.message).toContain('unable to parse requirement');
  },

  'deletes a collection by label': async ({ client, namespace }) => {
    await fill({ client, namespace }, 6);
    await client.deleteCollection(ConfigMap, { namespace, labelSelector: 'odd=1' });
    const left = await client.list(ConfigMap, { namespace });
    expect(left.map(({ metadata }) => metadata?.name)).toEqual(['m-00', 'm-02', 'm-04']);
  },

  'deletes in steps where a finalizer holds an object': async ({ client, namespace }) => {
    const at = { namespace, name: 'held' };
    await client.create(ConfigMap, { metadata: { ...at, finalizers: ['example.com/hold'] } });
    const dying = await client.delete(ConfigMap, at);
    expect(dying?.metadata).toMatchObject({ deletionTimestamp: expect.any(String), deletionGracePeriodSeconds: 0 });
    const more = await failure(
      client.mergePatch(ConfigMap, at, { metadata: { finalizers: ['example.com/hold', 'example.com/late'] } }),
    );
    expect([isInvalid(more), more.details?.causes?.[0]?.field]).toEqual([true, 'metadata.finalizers']);
    await client.mergePatch(ConfigMap, at, { metadata: { finalizers: null } });
    expect(isNotFound(await failure(client.get(ConfigMap, at)))).toBe(true);
  },
};

/** Resolves to the error with which a call was refused. */
export async function failure(call: PromiseLike<unknown>): Promise<StatusError> {
  const error = await Promise.resolve(call).then(
    (value) => new Error(`it was not refused: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (!isStatusError(error)) throw error;
  return error;
}

/** Creates ConfigMaps m-00, m-01, …; every other one has the label odd=1. */
export async function fill(
  { client, namespace }: { client: Client } & Pick<Scene, 'namespace'>,
  count: number,
): Promise<void> {
  const make = (index: number) => {
    const labels = index % 2 === 1 ? { odd: '1' } : { even: '1' };
    const name = `m-${String(index).padStart(2, '0')}`;
    return client.create(ConfigMap, { metadata: { namespace, name, labels }, data: { index: String(index) } });
  };
  await Promise.all(Array.from({ length: count }, (_, index) => make(index)));
}

export function deployment(metadata: { readonly namespace: string; readonly name: string }): Deployment {
  const labels = { app: metadata.name };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  return { metadata: { ...metadata, labels }, spec: { selector: { matchLabels: labels }, template } };
}

/** Returns an Event. A kube-apiserver does not cache Events, so a compaction of its store is visible at once. */
export function event({ namespace, name }: { readonly namespace: string; readonly name: string }): Event {
  const involvedObject = { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'a' };
  return { metadata: { namespace, name }, involvedObject, reason: 'Test', message: name, type: 'Normal' };
}
