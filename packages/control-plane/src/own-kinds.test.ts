import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineResource, isInvalid, isNotFound, type KubernetesObject } from '@kapstan/api';
import { type SchemaKind, schemaResource } from '@kapstan/apiserver';
import { clientConfigOf, connect, parseKubeconfig } from '@kapstan/client';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { ConfigMap, Namespace } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startControlPlane } from './control-plane.ts';
import type { ControlPlane, ControlPlaneOptions } from './options/control-plane-options.ts';

const group = 'gadgets.example.io';
const spec = {
  type: 'object',
  required: ['size'],
  properties: { size: { type: 'integer', minimum: 1 }, color: { type: 'string', default: 'red' } },
} as const;
const kind: SchemaKind<KubernetesObject> = {
  ...{ group, version: 'v1', kind: 'Gadget', plural: 'gadgets', hasStatus: true },
  schema: { type: 'object', required: ['spec'], properties: { spec, status: { type: 'object' } } },
};
const Gadget = defineResource({ group, version: 'v1', kind: 'Gadget', spec });
const Newer = defineResource({ group, version: 'v2', kind: 'Gadget', spec });
const metadata = { namespace: 'default', name: 'a' };

/** A definition of the same name, with a version that the program does not serve. */
const rival = {
  metadata: { name: `gadgets.${group}` },
  spec: {
    ...{ group, scope: 'Namespaced' as const, names: { plural: 'gadgets', kind: 'Gadget' } },
    versions: ['v1', 'v2'].map((name) => ({
      ...{ name, served: true, storage: name === 'v1' },
      schema: { openAPIV3Schema: { type: 'object' as const, 'x-kubernetes-preserve-unknown-fields': true } },
    })),
  },
};

let dataDir: string;
let plane: ControlPlane | undefined;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-own-kinds-'));
  plane = undefined;
});
afterEach(async () => {
  await plane?.close();
  await rm(dataDir, { recursive: true });
});

async function start(options: Partial<ControlPlaneOptions> = {}): Promise<ControlPlane> {
  plane = await startControlPlane({ dataDir, http: 'off', kinds: [schemaResource(kind)], ...options });
  return plane;
}

it('a kind of the program has its defaults and rules over HTTP, and goes with its namespace', async () => {
  const { kubeconfig, client } = await start({ http: undefined, controlLoops: ['namespace'] });
  await using remote = await connect({ config: clientConfigOf(parseKubeconfig(kubeconfig)) });
  const made = await remote.create(Gadget, { metadata, spec: { size: 3 } });
  expect(made.spec).toEqual({ size: 3, color: 'red' });
  await expect(remote.create(Gadget, { metadata, spec: { size: 0 } })).rejects.toSatisfy(isInvalid);

  await client.create(Namespace, { metadata: { name: 'short' } });
  const inside = { namespace: 'short', name: 'b' };
  await client.create(Gadget, { metadata: inside, spec: { size: 1 } });
  await client.delete(Namespace, { name: 'short' });
  await vi.waitFor(() => expect(client.get(Namespace, { name: 'short' })).rejects.toSatisfy(isNotFound), 10_000);
  await expect(client.get(Gadget, inside)).rejects.toSatisfy(isNotFound);
});

it('a definition of the same name, whatever its versions, is not served and does not take the objects along', async () => {
  const { client } = await start();
  await client.create(Gadget, { metadata, spec: { size: 3 } });
  const { name } = rival.metadata;
  await client.create(CustomResourceDefinition, rival);
  await vi.waitFor(async () => {
    const { status } = await client.get(CustomResourceDefinition, { name });
    const conditions = status?.conditions?.map((one) => [one.type, one.status, one.reason, one.message]);
    expect(conditions).toEqual([
      ['NamesAccepted', 'False', 'ListKindConflict', '"GadgetList" is already in use'],
      ['Established', 'False', 'NotAccepted', 'not all names are accepted'],
    ]);
  });
  await expect(client.list(Newer, { namespace: 'default' })).rejects.toSatisfy(isNotFound);
  const other = { metadata: { ...metadata, name: 'b' }, spec: { size: 0 } };
  await expect(client.create(Gadget, other)).rejects.toSatisfy(isInvalid);
  await client.delete(CustomResourceDefinition, { name });
  const gone = client.get.bind(client, CustomResourceDefinition, { name });
  await vi.waitFor(() => expect(gone()).rejects.toSatisfy(isNotFound));
  expect((await client.get(Gadget, metadata)).spec.size).toBe(3);
});

it('a definition that was established before the program serves its kind waits until the program no longer does', async () => {
  const established = async ({ client }: ControlPlane, wanted: string): Promise<void> =>
    vi.waitFor(async () => {
      const { status } = await client.get(CustomResourceDefinition, rival.metadata);
      const found = status?.conditions?.find(({ type }) => type === 'Established');
      expect(found?.status).toBe(wanted);
    });
  const before = await start({ kinds: [] });
  await before.client.create(CustomResourceDefinition, rival);
  await established(before, 'True');
  await before.client.create(Gadget, { metadata, spec: { size: 3 } });
  await before.close();
  const own = await start();
  await established(own, 'False');
  await expect(own.client.list(Newer, { namespace: 'default' })).rejects.toSatisfy(isNotFound);
  expect((await own.client.get(Gadget, metadata)).spec.size).toBe(3);
  await own.close();
  const after = await start({ kinds: [] });
  await established(after, 'True');
  expect(await after.client.list(Newer, { namespace: 'default' })).toMatchObject([{ spec: { size: 3 } }]);
});

it('a kind of the program is served whatever --runtime-config turns off', async () => {
  const { kubeconfig } = await start({
    http: undefined,
    runtimeConfig: new Map([['apiextensions.k8s.io/v1', 'false']]),
  });
  await using remote = await connect({ config: clientConfigOf(parseKubeconfig(kubeconfig)) });
  expect((await remote.create(Gadget, { metadata, spec: { size: 3 } })).spec.color).toBe('red');
  await expect(remote.list(CustomResourceDefinition)).rejects.toSatisfy(isNotFound);
});

describe('the server does not start with a kind', () => {
  const again = 'is served already; a kind of the program has one version';
  const own = `gadgets.${group}`;
  const changed = (...changes: Partial<typeof kind>[]) => changes.map((one) => schemaResource({ ...kind, ...one }));
  const review = { group: 'authentication.k8s.io', kind: 'TokenReview', plural: 'tokenreviews' };
  const access = { group: 'authorization.k8s.io', kind: 'Mine', plural: 'subjectaccessreviews' };
  const definition = { group: 'apiextensions.k8s.io', kind: 'Mine', plural: 'customresourcedefinitions' };
  const label = 'a DNS-1035 label must consist of lower case alphanumeric characters';

  it.each<[string, readonly unknown[], string]>([
    ['of Kubernetes', changed({ group: '', kind: ConfigMap.kind, plural: ConfigMap.plural }), `"configmaps" ${again}`],
    ['that is not stored', changed({ group: '', kind: 'Mine', plural: 'bindings' }), `"bindings" ${again}`],
    ['of reviews', changed(review), `"tokenreviews.authentication.k8s.io" ${again}`],
    ['of reviews of access', changed(access), `"subjectaccessreviews.authorization.k8s.io" ${again}`],
    ['of definitions', changed(definition), `"customresourcedefinitions.apiextensions.k8s.io" ${again}`],
    ['in two versions', changed({}, { version: 'v2' }), `"${own}" ${again}`],
    [
      'of a name in use',
      changed({ group: '', kind: 'Pod', plural: 'podz' }),
      '"podz": the name "Pod" is in use by "pods"',
    ],
    ['twice', changed({}, { plural: 'others' }), `"others.${group}": the name "Gadget" is in use by "${own}"`],
    [
      'whose short name is in use',
      changed({ shortNames: ['g'] }, { kind: 'Other', plural: 'others', shortNames: ['h', 'g'] }),
      `"others.${group}": the name "g" is in use by "${own}"`,
    ],
    [
      'whose list is in use',
      changed({}, { kind: 'GadgetList', plural: 'lists' }),
      `"lists.${group}": the name "GadgetList" is in use by "${own}"`,
    ],
    ['with a slash', changed({ plural: 'gad/gets' }), 'spec.names.plural: Invalid value: "gad/gets": '],
    ['in capitals', changed({ plural: 'Gadgets' }), `spec.names.plural: Invalid value: "Gadgets": ${label}`],
    ['of a kind with a space', changed({ kind: 'My Gadget' }), 'spec.names.kind: Invalid value: "My Gadget"'],
    ['of no domain', changed({ group: 'gadgets' }), 'spec.group: Invalid value: "gadgets": should be a domain'],
    ['of a strange version', changed({ version: '1' }), 'spec.versions[0].name: Invalid value: "1"'],
    ['of nothing', [{}], 'item 0 is not made by schemaResource'],
    ['that is absent', [...changed({}), undefined], 'item 1 is not made by schemaResource'],
  ])('%s', async (_which, kinds, message) => {
    const starting = start({ kinds: kinds as NonNullable<ControlPlaneOptions['kinds']> });
    await expect(starting).rejects.toMatchObject({ name: 'StartError', option: 'kinds' });
    await expect(starting).rejects.toThrow(message);
  });

  it('but with one in a group that Kubernetes protects', async () => {
    const { client } = await start({ kinds: changed({ group: 'gadgets.k8s.io' }) });
    const Protected = defineResource({ group: 'gadgets.k8s.io', version: 'v1', kind: 'Gadget', spec });
    expect((await client.create(Protected, { metadata, spec: { size: 3 } })).spec.color).toBe('red');
  });
});
