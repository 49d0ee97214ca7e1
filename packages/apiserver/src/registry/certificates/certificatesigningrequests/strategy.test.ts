import type { UnstructuredObject } from '@kapstan/api';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StoreFixture, testContext } from '../../../testing/store-fixture.ts';
import { builtinResources } from '../../builtin-resources.ts';
import { GenericStore } from '../../generic-store.ts';

let fixture: StoreFixture;
let store: GenericStore;
beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
  const definition = builtinResources().find(({ resource }) => resource === 'certificatesigningrequests')!;
  store = new GenericStore({ definition, storage: fixture.storage(definition), clock: fixture.clock });
});
afterEach(() => fixture.close());

const spec = { request: 'cmVxdWVzdA==', signerName: 'example.com/signer', usages: ['client auth'] };
const request = (name: string, more: object = {}): UnstructuredObject => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name },
  spec: { ...spec, ...more },
});
const alice = { name: 'alice', uid: 'u-1', groups: ['dev', 'system:authenticated'], extra: { scope: ['a', 'b'] } };

describe('a request for a certificate', () => {
  it('is of who makes it, whatever it says', async () => {
    const claimed = { username: 'admin', uid: 'u-0', groups: ['system:masters'], extra: { scope: ['all'] } };
    const context = testContext({ user: alice, namespace: '' });
    const { object } = await store.create(context, request('a', claimed));
    expect(object.spec).toEqual({
      ...spec,
      username: 'alice',
      uid: 'u-1',
      groups: ['dev', 'system:authenticated'],
      extra: { scope: ['a', 'b'] },
    });
  });

  it('claims no uid and nothing extra for who has none', async () => {
    const user = { name: 'bob', groups: [] };
    const { object } = await store.create(testContext({ user, namespace: '' }), request('a', { uid: 'u', extra: {} }));
    expect(object.spec).toEqual({ ...spec, username: 'bob' });
  });

  it('asks for the same until it is gone', async () => {
    await store.create(testContext({ user: alice, namespace: '' }), request('a'));
    const { stored } = await store.update(testContext({ namespace: '' }), {
      name: 'a',
      transform: () => ({
        ...request('a', { username: 'admin', signerName: 'example.com/other' }),
        metadata: { name: 'a', labels: { l: '1' } },
      }),
    });
    expect(stored.object).toMatchObject({
      metadata: { labels: { l: '1' } },
      spec: { username: 'alice', signerName: 'example.com/signer' },
    });
  });

  it('is found by its signer', async () => {
    const context = testContext({ namespace: '' });
    await store.create(context, request('a'));
    await store.create(context, request('b', { signerName: 'example.com/other' }));
    const { items } = await store.list(context, { fieldSelector: 'spec.signerName=example.com/other' });
    expect(items.map((item) => item.object.metadata?.name)).toEqual(['b']);
  });
});
