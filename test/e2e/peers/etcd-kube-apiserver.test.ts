// A real kube-apiserver and `kapstan serve` share one etcd. Each reads the other's objects like its own, and its update
// without a change writes nothing, which requires every byte to be the same. The test needs KAPSTAN_KUBE_APISERVER, a
// kube-apiserver of 1.36, and an etcd.
import { delay, systemClock } from '@kapstan/api';
import { type EtcdProcess, findEtcd, howToInstall, startEtcd } from '@kapstan/storage-etcd/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ServeProcess, startServeProcess } from '../../kapstan/serve-process.ts';
import { type KubeApiserver, startKubeApiserver } from './etcd-kube-apiserver.ts';
import { type ApiObject, objectFrom, requestJson, type Sample, type Server, samples } from './etcd-requests.ts';

const kubeBinary = process.env.KAPSTAN_KUBE_APISERVER ?? '';
const etcdBinary = findEtcd() ?? '';
const missing =
  kubeBinary === '' ? 'KAPSTAN_KUBE_APISERVER names no kube-apiserver' : etcdBinary === '' ? howToInstall : '';

/** Controllers of the kube-apiserver write these conditions into the status of these objects. */
const controlled: readonly (readonly [collection: string, conditions: readonly string[]])[] = [
  ['/apis/apiextensions.k8s.io/v1/customresourcedefinitions', ['NamesAccepted', 'Established']],
  ['/apis/apiregistration.k8s.io/v1/apiservices', ['Available']],
  ['/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas', ['Dangling']],
];

let etcd: EtcdProcess | undefined;
let kube: KubeApiserver;
let serve: ServeProcess;
let kapstan: Server;

describe('a kube-apiserver on the same etcd', () => {
  // One skipped test states the reason, instead of more than a hundred.
  if (missing !== '') {
    it('reads and writes as Kapstan does', ({ skip }) => skip(missing));
    return;
  }
  beforeAll(async () => {
    [etcd] = await startEtcd({ binary: etcdBinary });
    kube = await startKubeApiserver(kubeBinary, etcd.endpoint);
    serve = await startServeProcess({
      flags: [`--etcd-servers=${etcd.endpoint}`, '--control-loops=none', '--disable-admission-plugins=ServiceAccount'],
    });
    kapstan = { url: serve.url, token: serve.adminToken };
    const metadata = { name: 'facts' };
    await objectFrom(requestJson(kapstan, 'POST', '/api/v1/namespaces', { metadata }));
    // kube-apiserver's admission looks namespaces up in a cache.
    await eventually(() => get(kube, '/api/v1/namespaces/facts'));
  }, 120_000);
  afterAll(async () => {
    await serve?.close();
    await kube?.close();
    await etcd?.remove();
  });

  it.each(ofEach('a'))('reads what Kapstan wrote: %s', async (_name, { path, object }) => {
    const written = await objectFrom(requestJson(kapstan, 'POST', path, object));
    await bothHold(`${path}/${written.metadata.name}`, kube);
  });

  it.each(ofEach('b'))('writes what Kapstan reads: %s', async (_name, { path, object }) => {
    const written = await objectFrom(requestJson(kube, 'POST', path, object));
    await bothHold(`${path}/${written.metadata.name}`, kapstan);
  });

  it('shares definitions and custom resources with Kapstan, whoever made them', async () => {
    for (const [owner, other, plural] of [
      [kapstan, kube, 'gears'],
      [kube, kapstan, 'wheels'],
    ] as const) {
      await objectFrom(requestJson(owner, 'POST', definitions, definitionOf(plural)));
      const path = `/apis/example.com/v1/namespaces/facts/${plural}`;
      for (const [name, writer] of [
        ['x', other],
        ['y', owner],
      ] as const) {
        const object = {
          apiVersion: 'example.com/v1',
          kind: plural,
          metadata: { name },
          spec: { b: [1, null], a: 'ü<' },
        };
        await eventually(() => objectFrom(requestJson(writer, 'POST', path, object)));
        await bothHold(`${path}/${name}`, owner);
        await bothHold(`${path}/${name}`, other);
      }
      await bothHold(`${definitions}/${plural}.example.com`, other);
    }
  });

  it.each(
    [...new Set(samples('a').map(({ path }) => path))].filter(
      (path) => !controlled.some(([collection]) => collection === path),
    ),
  )('lists as Kapstan does: %s', async (path) => {
    const [ours, theirs] = await Promise.all([get(kapstan, path), get(kube, path)]);
    expect(ours.items).toEqual(theirs.items);
    expect([ours.kind, ours.apiVersion]).toEqual([theirs.kind, theirs.apiVersion]);
  });

  it('merges its changes with those of Kapstan in both directions, without a conflict or a loss', async () => {
    const path = '/api/v1/namespaces/facts/configmaps/counter';
    await objectFrom(
      requestJson(kapstan, 'POST', '/api/v1/namespaces/facts/configmaps', { metadata: { name: 'counter' } }),
    );
    await Promise.all(
      [kapstan, kube].map(async (server, which) => {
        for (let n = 0; n < 20; n++) await change(server, path, `${which}-${n}`);
      }),
    );
    const [ours, theirs] = await Promise.all([get(kapstan, path), get(kube, path)]);
    expect(Object.keys(ours.data as object)).toHaveLength(40);
    expect(ours).toEqual(theirs);
  });
});

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

function definitionOf(plural: string): object {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural, kind: plural },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
}

/** Adds a key with optimistic locking, and retries on conflict. */
async function change(server: Server, path: string, key: string): Promise<void> {
  for (;;) {
    const present = await get(server, path);
    const next = { ...present, data: { ...(present.data as object), [key]: 'x' } };
    const { code } = await requestJson(server, 'PUT', path, next);
    if (code === 200) return;
    expect(code).toBe(409);
  }
}

function ofEach(suffix: string): (readonly [string, Sample])[] {
  return samples(suffix).map((sample) => [sample.name, sample]);
}

/** The configuration is deleted after use, because these objects would block later writes. */
const intercepting = '/apis/admissionregistration.k8s.io/';
/**
 * Defaults of these objects are added on reads, and stored with the next update, even by a kube-apiserver for its own.
 */
const completedOnRead = ['/jobs/job-b', '/jobs/jobindexed-b', '/persistentvolumeclaims/persistentvolumeclaim-b'];

/**
 * Expects that both servers answer the same, and that an update through `other`, which did not write it, changes
 * nothing.
 */
async function bothHold(path: string, other: Server): Promise<void> {
  const kinds = controlled.find(([collection]) => path.startsWith(collection));
  if (kinds !== undefined) await eventually(() => withConditions(path, kinds[1]));
  const [ours, updated] = await updatedInPeace(path, other);
  if (path.startsWith(intercepting)) await requestJson(kube, 'DELETE', path);
  // Whole objects are compared, so that a failure shows the written object.
  if (completedOnRead.some((end) => path.endsWith(end))) {
    expect(updated.metadata.resourceVersion).not.toBe(ours.metadata.resourceVersion);
  } else expect(updated).toEqual(ours);
}

/**
 * Returns the answers of both servers, and the result of the update through `other`. If a controller writes in between,
 * it starts again.
 */
async function updatedInPeace(path: string, other: Server): Promise<readonly [ApiObject, ApiObject]> {
  for (let tries = 1; ; tries++) {
    const [ours, theirs] = await Promise.all([get(kapstan, path), get(kube, path)]);
    const isControlled = controlled.some(([collection]) => path.startsWith(collection));
    const mayRetry = isControlled && tries < 20;
    if (mayRetry && ours.metadata.resourceVersion !== theirs.metadata.resourceVersion) continue;
    expect(ours).toEqual(theirs);
    // The update names its version, so another writer's change since then is a conflict and not the server's fault.
    const answer = await requestJson(other, 'PUT', path, ours);
    if (mayRetry && answer.code === 409) continue;
    return [ours, await objectFrom(Promise.resolve(answer))];
  }
}

/** Returns the object once its controller has written all its conditions. */
async function withConditions(path: string, wanted: readonly string[]): Promise<ApiObject> {
  const object = await get(kube, path);
  const { conditions = [] } = (object.status ?? {}) as { readonly conditions?: readonly { readonly type: string }[] };
  const missing = wanted.filter((type) => !conditions.some((condition) => condition.type === type));
  if (missing.length > 0) throw new Error(`${path} has no condition ${missing.join(', ')} yet`);
  return object;
}

function get(server: Server, path: string): Promise<ApiObject> {
  return objectFrom(requestJson(server, 'GET', path));
}

/** Retries, because another server's write reaches a cache a little later. */
async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 0; tries < 100; tries++) {
    const result = await attempt().catch(() => undefined);
    if (result !== undefined) return result;
    await delay(systemClock, 100);
  }
  return await attempt();
}
