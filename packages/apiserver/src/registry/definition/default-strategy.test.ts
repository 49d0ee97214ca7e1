import type { UnstructuredObject } from '@kapstan/api';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configMap, StoreFixture, testContext, unconditionalStrategy } from '../../testing/store-fixture.ts';
import { statusStrategy, withoutStatus } from './default-strategy.ts';

let fixture: StoreFixture;
beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
});
afterEach(() => fixture.close());

describe('an object with a status of its own', () => {
  const main = withoutStatus(unconditionalStrategy);
  const send = async (more: Record<string, unknown>, strategy = main) => {
    const store = fixture.store({ strategy: main });
    const transform = () => configMap('a', more);
    return (await store.update(testContext(), { name: 'a', transform, strategy })).stored.object;
  };
  const created = async (): Promise<UnstructuredObject> => {
    const sent = configMap('a', { metadata: { name: 'a', labels: { l: '1' } }, spec: 1, status: 1 });
    return (await fixture.store({ strategy: main }).create(testContext(), sent)).object as UnstructuredObject;
  };

  it('takes it neither in a create nor in an update', async () => {
    expect(await created()).not.toHaveProperty('status');
    expect(await send({ spec: 2, status: 2 })).not.toHaveProperty('status');
    await send({ status: 3 }, statusStrategy(main, { keeps: 'none' }));
    expect(await send({ spec: 4, status: 4 })).toMatchObject({ spec: 4, status: 3 });
  });

  it('takes nothing else at /status, and metadata only where the kind says so', async () => {
    await created();
    const sent = { metadata: { name: 'a', labels: { l: '2' }, finalizers: ['x.io/f'] }, spec: 2, other: 2, status: 2 };
    const all = await send(sent, statusStrategy(main, { keeps: 'all' }));
    expect(all).toMatchObject({ spec: 1, status: 2, metadata: { labels: { l: '1' } } });
    expect(all).not.toHaveProperty('other');
    expect(all.metadata).not.toHaveProperty('finalizers');
    const none = await send(sent, statusStrategy(main, { keeps: 'none' }));
    expect(none).toMatchObject({ spec: 1, status: 2, metadata: { labels: { l: '2' }, finalizers: ['x.io/f'] } });
  });

  it('names the fields that each endpoint ignores', () => {
    expect([main.resetFields, statusStrategy(main, { keeps: 'all' }).resetFields]).toEqual([[['status']], [['spec']]]);
  });
});
