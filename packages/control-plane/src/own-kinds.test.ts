import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineResource, isInvalid, isNotFound, type KubernetesObject } from '@kapstan/api';
import { type SchemaKind, schemaResource } from '@kapstan/apiserver';
import { clientConfigOf, connect, parseKubeconfig } from '@kapstan/client';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { ConfigMap, Namespace } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startControlPlane } from './control-plane.ts';
import type { ControlPlane, ControlPlaneOptions } from './control-plane-options.ts';

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

it('a kind whose name is taken keeps the server from starting', async () => {
  const taken = { ...kind, group: '', kind: ConfigMap.kind, plural: ConfigMap.plural };
  const again = 'is served already; a kind of the program has one version';
  await expect(start({ kinds: [schemaResource(taken)] })).rejects.toThrow(`kinds: "configmaps" ${again}`);
  const twice = [kind, { ...kind, version: 'v2' }].map((one) => schemaResource(one));
  await expect(start({ kinds: twice })).rejects.toThrow(`kinds: "gadgets.${group}" ${again}`);
});
