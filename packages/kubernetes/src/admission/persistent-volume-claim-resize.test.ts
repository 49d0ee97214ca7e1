import type { UnstructuredObject } from '@kapstan/api';
import { ObjectReader } from '@kapstan/apiserver';
import { StoreFixture } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AdmissionServer, objection, testAttributes } from '../testing/admission-server.ts';
import { persistentVolumeClaimResize } from './persistent-volume-claim-resize.ts';

const resource = { group: '', version: 'v1', resource: 'persistentvolumeclaims' };
const unbound = 'Only bound persistent volume claims can be expanded';
const fixed =
  'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize';
let server: AdmissionServer;

beforeAll(async () => {
  server = new AdmissionServer(await StoreFixture.open(openLmdbEngine));
  await server.start({});
  const group = 'storage.k8s.io';
  await server.create('storageclasses', { group, name: 'growing', allowVolumeExpansion: true });
  await server.create('storageclasses', { group, name: 'fixed', allowVolumeExpansion: false });
  await server.create('storageclasses', { group, name: 'silent' });
  await server.store('storageclasses', group).list(testAttributes({}).context, {});
});
afterAll(() => server.close());

function claim(
  storage: string | undefined,
  storageClassName?: string,
  phase = 'Bound',
  metadata = {},
): UnstructuredObject {
  const resources = storage === undefined ? {} : { requests: { storage } };
  return {
    metadata,
    spec: { resources, ...(storageClassName === undefined ? {} : { storageClassName }) },
    status: { phase },
  };
}
const annotated = (size: string, name: string): UnstructuredObject =>
  claim(size, 'growing', 'Bound', { annotations: { 'volume.beta.kubernetes.io/storage-class': name } });

it.each<[string, UnstructuredObject, UnstructuredObject, string | undefined]>([
  ['grows in a class that lets it', claim('1Gi', 'growing'), claim('2Gi', 'growing'), undefined],
  ['grows by a byte', claim('1Gi', 'fixed'), claim('1073741825', 'fixed'), fixed],
  ['grows in a class that forbids it', claim('1Gi', 'fixed'), claim('2Gi', 'fixed'), fixed],
  ['grows in a class that says nothing', claim('1Gi', 'silent'), claim('2Gi', 'silent'), fixed],
  ['grows in a class that is not there', claim('1Gi', 'gone'), claim('2Gi', 'gone'), fixed],
  ['grows without a class', claim('1Gi'), claim('2Gi'), fixed],
  ['grows in no class', claim('1Gi', ''), claim('2Gi', ''), fixed],
  ['changes its class, too', claim('1Gi', 'fixed'), claim('2Gi', 'growing'), fixed],
  ['names its class in the old way', annotated('1Gi', 'fixed'), annotated('2Gi', 'fixed'), fixed],
  ['grows before it is bound', claim('1Gi', 'growing', 'Pending'), claim('2Gi', 'growing'), unbound],
  ['asks for the first time', claim(undefined, 'fixed'), claim('1', 'fixed'), fixed],
  ['stays as it is, in other words', claim('1Gi', 'fixed'), claim('1024Mi', 'fixed'), undefined],
  ['shrinks', claim('2Gi', 'fixed', 'Pending'), claim('1Gi', 'fixed'), undefined],
])('a claim that %s', async (_case, oldObject, object, why) => {
  const plugin = persistentVolumeClaimResize(new ObjectReader(server.catalog));
  const attributes = testAttributes({ resource, object, oldObject });
  const expected = why === undefined ? undefined : [403, `persistentvolumeclaims "x" is forbidden: ${why}`];
  expect(await objection(async () => plugin.validate?.(attributes))).toEqual(expected);
  const status = testAttributes({ resource, object, oldObject, subresource: 'status' });
  expect(await objection(async () => plugin.validate?.(status))).toBeUndefined();
});
