import type { UnstructuredObject } from '@kapstan/api';
import type { StoredList } from '@kapstan/storage';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configMap, refusal, StoreFixture, testContext, unconditionalStrategy } from '../../testing/store-fixture.ts';
import type { DeleteRequest, ResourceStore, SelectRequest } from '../definition/resource-store.ts';
import type { AdmissionControl } from './admission-control.ts';
import { deleteCollection } from './delete-collection.ts';
import type { GenericStore } from './generic-store.ts';

let fixture: StoreFixture;
beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
});
afterEach(() => fixture.close());

type Store = GenericStore<UnstructuredObject>;
const fill = async (store: Store, count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await store.create(testContext(), configMap(`o${i}`));
};
const left = async (store: Store): Promise<number> => (await store.list(testContext(), {})).items.length;

/** Admission that is called with the name of each deleted object. */
const onDelete = (look: (name: string) => void): AdmissionControl => ({
  admit: async ({ operation, oldObject }) => {
    if (operation === 'DELETE') look(oldObject?.metadata?.name ?? '');
  },
  validates: () => false,
  validate: async () => undefined,
});

describe('the deletion of a collection', () => {
  it('asks for pages of 10,000 one after the other, those after the first by their token alone', async () => {
    const asked: SelectRequest[] = [];
    const deleted: string[] = [];
    const stored = await Promise.all(
      ['a', 'b', 'c'].map((name) => fixture.store().create(testContext(), configMap(name))),
    );
    const pages = { list: async (_context: unknown, request: SelectRequest) => page(request) };
    const page = (request: SelectRequest): StoredList<UnstructuredObject> => {
      asked.push(request);
      const index = asked.length - 1;
      const items = stored.slice(index, index + 1);
      return { resourceVersion: String(index) as never, continue: index < 2 ? `token ${index}` : '', items };
    };
    const store = {
      ...pages,
      delete: async (_context: unknown, name: string) => void deleted.push(name),
    } as unknown as ResourceStore;
    const select: SelectRequest = { labelSelector: 'l=1', resourceVersion: '7', resourceVersionMatch: 'NotOlderThan' };
    const answer = await deleteCollection(store, testContext(), { request: {}, select, workers: 2 });
    expect(asked).toEqual([
      { ...select, limit: 10_000 },
      { labelSelector: 'l=1', limit: 10_000, continue: 'token 0' },
      { labelSelector: 'l=1', limit: 10_000, continue: 'token 1' },
    ]);
    expect(deleted).toEqual(['a', 'b', 'c']);
    // The answer is as of the first page, and complete.
    expect([answer.resourceVersion, answer.continue, answer.items.length]).toEqual(['0', '', 3]);
  });

  it('leaves what it was asked with as it is, whatever a kind makes of the grace period', async () => {
    const strategy = { ...unconditionalStrategy, gracePeriodSeconds: () => 10 };
    const store = fixture.store({ strategy });
    await fill(store, 2);
    const request: DeleteRequest = Object.freeze({ gracePeriodSeconds: 50, preconditions: Object.freeze({}) });
    await store.deleteCollection(testContext(), request, {});
    expect(request).toEqual({ gracePeriodSeconds: 50, preconditions: {} });
    const { items } = await store.list(testContext(), {});
    expect(items.map(({ object }) => object.metadata?.deletionGracePeriodSeconds)).toEqual([10, 10]);
  });

  it('takes what others have deleted meanwhile for deleted', async () => {
    const store = fixture.store({}, { deleteCollectionWorkers: 2 });
    for (let round = 0; round < 3; round++) {
      await fill(store, 4);
      const all = [1, 2, 3].map(() => store.deleteCollection(testContext(), {}, {}));
      for (const { items } of await Promise.all(all)) expect(items.length).toBeLessThanOrEqual(4);
      expect(await left(store)).toBe(0);
    }
  });

  it('ends with the failure when all its workers have met one', async () => {
    const tried: string[] = [];
    const admission = onDelete((name) => {
      tried.push(name);
      throw new Error('validation failed');
    });
    const store = fixture.store({}, { admission, deleteCollectionWorkers: 3 });
    await fill(store, 20);
    await expect(store.deleteCollection(testContext(), {}, {})).rejects.toThrow('validation failed');
    expect(tried).toHaveLength(3);
    expect(await left(store)).toBe(20);
  });

  it('stops when its request is cancelled, with the reason', async () => {
    const tried: string[] = [];
    const abort = new AbortController();
    const admission = onDelete((name) => {
      tried.push(name);
      abort.abort(new Error('the client has gone'));
    });
    const store = fixture.store({}, { admission });
    await fill(store, 5);
    const call = store.deleteCollection(testContext({ signal: abort.signal }), {}, {});
    await expect(call).rejects.toThrow('the client has gone');
    expect(tried).toEqual(['o0']);
  });

  it('stops between two pages, too', async () => {
    const abort = new AbortController();
    const [item] = await Promise.all([fixture.store().create(testContext(), configMap('a'))]);
    let lists = 0;
    const store = {
      list: async () => {
        lists++;
        return { resourceVersion: '1', continue: 'more', items: [item] };
      },
      delete: async () => abort.abort(new Error('the client has gone')),
    } as unknown as ResourceStore;
    const call = { request: {}, select: {}, workers: 1 };
    await expect(deleteCollection(store, testContext({ signal: abort.signal }), call)).rejects.toThrow(
      'the client has gone',
    );
    expect(lists).toBe(1);
  });

  it('is seen by watches, each object as it was last', async () => {
    const store = fixture.store();
    const created = await store.create(testContext(), configMap('a', { data: { k: 'v' } }));
    const seen: unknown[] = [];
    const gone = new Promise<void>((resolve) => {
      const resourceVersion = created.object.metadata?.resourceVersion ?? '';
      const request = { resourceVersion, fieldSelector: 'metadata.name=a' };
      store.watch(testContext(), request, {
        onEvent: (event) => {
          if (event.type === 'BOOKMARK') return;
          const { metadata, ...rest } = event.stored.object;
          seen.push([event.type, rest.data, metadata?.uid === created.object.metadata?.uid]);
          resolve();
        },
        onEnd: () => undefined,
      });
    });
    await store.deleteCollection(testContext(), {}, {});
    await gone;
    expect(seen).toEqual([['DELETED', { k: 'v' }, true]]);
  });

  it('refuses wrong options of the deletion before anything is gone', async () => {
    const store = fixture.store();
    await fill(store, 2);
    const request = { propagationPolicy: 'Orphan', orphanDependents: true } as const;
    expect((await refusal(store.deleteCollection(testContext(), request, {}))).code).toBe(422);
    expect(await left(store)).toBe(2);
  });
});
