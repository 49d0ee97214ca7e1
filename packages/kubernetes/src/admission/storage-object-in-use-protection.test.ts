import type { AdmissionAttributes } from '@kapstan/apiserver';
import { expect, it } from 'vitest';
import { testAttributes } from '../testing/admission-server.ts';
import { storageObjectInUseProtection } from './storage-object-in-use-protection.ts';

const core = (resource: string) => ({ group: '', version: 'v1', resource });
const classes = { group: 'storage.k8s.io', version: 'v1', resource: 'volumeattributesclasses' };
const claims = core('persistentvolumeclaims');
const pvc = 'kubernetes.io/pvc-protection';

it.each<[string, Partial<AdmissionAttributes>, string[], string[]]>([
  ['a claim', { resource: claims }, [], [pvc]],
  ['a claim with finalizers', { resource: claims }, ['a.b/c'], ['a.b/c', pvc]],
  ['a claim that has it', { resource: claims }, [pvc, 'a.b/c'], [pvc, 'a.b/c']],
  ['a volume', { resource: core('persistentvolumes') }, [], ['kubernetes.io/pv-protection']],
  ['a class of volume attributes', { resource: classes }, [], ['kubernetes.io/vac-protection']],
  ['a claim that is changed', { resource: claims, operation: 'UPDATE' }, [], []],
  ['the status of a claim', { resource: claims, subresource: 'status' }, [], []],
  ['a claim of another group', { resource: { ...claims, group: 'example.com' } }, [], []],
  ['a class of storage', { resource: { ...classes, resource: 'storageclasses' } }, [], []],
])('gives %s its finalizer when it is created, and nothing else', async (_case, changes, finalizers, expected) => {
  const object = { metadata: { name: 'x', finalizers } };
  await storageObjectInUseProtection.admit?.(testAttributes({ operation: 'CREATE', object, ...changes }));
  expect(object.metadata).toEqual({ name: 'x', finalizers: expected });
});

it('leaves deletions alone, which have no object', async () => {
  const deletion = testAttributes({ operation: 'DELETE', resource: claims, object: undefined });
  await expect(Promise.resolve(storageObjectInUseProtection.admit?.(deletion))).resolves.toBeUndefined();
});
