import type { OwnerReference } from '@kapstan/api';
import type { AdmissionAttributes, Authorizer } from '@kapstan/apiserver';
import { StoreFixture } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdmissionServer, objection, testAttributes } from '../testing/admission-server.ts';
import { ownerReferencesPermissionEnforcement } from './owner-references-permission-enforcement.ts';

let server: AdmissionServer;
beforeAll(async () => {
  server = new AdmissionServer(await StoreFixture.open(openLmdbEngine));
  await server.start({});
});
afterAll(() => server.close());

const owner = (name: string, changes: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  name,
  uid: name,
  ...changes,
});
const blocking = (name: string, changes: Partial<OwnerReference> = {}): OwnerReference =>
  owner(name, { blockOwnerDeletion: true, ...changes });
const owned = (...ownerReferences: OwnerReference[]): object => ({ metadata: { ownerReferences } });
const node = { kind: 'Node' };

/** Allows the rights listed as "verb group/resource/subresource namespace/name". */
function objectionOf(rights: readonly string[], changes: Partial<AdmissionAttributes>): ReturnType<typeof objection> {
  const authorizer: Authorizer = {
    authorize: (asked) => {
      if (asked.type === 'path') return { decision: 'deny', reason: '' };
      const { verb, group, resource, subresource, namespace, name } = asked;
      const right = `${verb} ${group}/${resource}/${subresource} ${namespace}/${name}`;
      return rights.includes(right) ? { decision: 'allow', reason: '' } : { decision: 'noOpinion', reason: 'why' };
    },
  };
  const plugin = ownerReferencesPermissionEnforcement(authorizer, server.catalog);
  return objection(() => plugin.validate?.(testAttributes(changes)));
}

const mayDelete = 'delete /configmaps/ default/x';
const mayBlock = 'update /serviceaccounts/finalizers default/a';
const cannotDelete = [
  403,
  'configmaps "x" is forbidden: cannot set an ownerRef on a resource you can\'t delete: why, <nil>',
];
const cannotBlock = [
  403,
  'configmaps "x" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can\'t set finalizers on: why, <nil>',
];

describe('who changes the owners of an object', () => {
  it.each<[string, readonly string[], object, object, unknown]>([
    ['adds one', [], owned(owner('a')), {}, cannotDelete],
    ['adds one and may delete', [mayDelete], owned(owner('a')), {}, undefined],
    ['takes one away', [], {}, owned(owner('a')), cannotDelete],
    ['changes one', [], owned(owner('a', { uid: 'b' })), owned(owner('a')), cannotDelete],
    ['changes none', [], owned(blocking('a')), owned(blocking('a')), undefined],
    ['adds one that waits for it', [mayDelete], owned(blocking('a')), {}, cannotBlock],
    ['adds one that waits, and may', [mayDelete, mayBlock], owned(blocking('a')), {}, undefined],
    ['adds one that waits, and may all', [mayDelete, 'update */*/finalizers /*'], owned(blocking('a')), {}, undefined],
    ['makes one wait', [mayDelete], owned(blocking('a')), owned(owner('a')), cannotBlock],
    ['adds one beside one that waits', [mayDelete], owned(blocking('b'), owner('a')), owned(blocking('b')), undefined],
    ['adds one that waits on the second', [mayDelete, mayBlock], owned(blocking('a'), blocking('b')), {}, cannotBlock],
    ['adds one in no namespace', [mayDelete, 'update /nodes/finalizers /a'], owned(blocking('a', node)), {}, undefined],
    [
      'may only in a namespace',
      [mayDelete, 'update /nodes/finalizers default/a'],
      owned(blocking('a', node)),
      {},
      cannotBlock,
    ],
  ])('and %s', async (_case, rights, object, oldObject, expected) => {
    expect(await objectionOf(rights, { object, oldObject })).toEqual(expected);
  });

  it('with a new object needs no right to delete, but that to hold up', async () => {
    const create = { operation: 'CREATE', oldObject: undefined } as const;
    expect(await objectionOf([], { ...create, object: owned(owner('a')) })).toBeUndefined();
    expect(await objectionOf([], { ...create, object: owned(blocking('a')) })).toEqual(cannotBlock);
    expect(await objectionOf([mayBlock], { ...create, object: owned(blocking('a')) })).toBeUndefined();
  });

  it('names a kind that is there', async () => {
    const object = owned(blocking('a', { apiVersion: 'example.com/v1', kind: 'None' }));
    expect(await objectionOf([mayDelete], { object, oldObject: {} })).toEqual([
      403,
      'configmaps "x" is forbidden: cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion example.com/v1 Kind None: no matches for kind "None" in version "example.com/v1"',
    ]);
  });

  it('is not asked where the status of a pod comes, or an object goes', async () => {
    const status = { resource: { group: '', version: 'v1', resource: 'pods' }, subresource: 'status' };
    expect(await objectionOf([], { ...status, object: owned(owner('a')), oldObject: {} })).toBeUndefined();
    expect(await objectionOf([], { operation: 'DELETE', object: undefined, oldObject: owned(owner('a')) })).toBe(
      undefined,
    );
  });
});
