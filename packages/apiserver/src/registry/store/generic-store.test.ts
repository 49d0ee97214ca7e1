import type { UnstructuredObject } from '@kapstan/api';
import type { StorageEvent, StorageWatchSink } from '@kapstan/storage';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configMap, refusal, StoreFixture, testContext } from '../../testing/store-fixture.ts';
import type { SelectRequest } from '../definition/resource-store.ts';
import type { GenericStore } from './generic-store.ts';

let fixture: StoreFixture;
beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
});
afterEach(() => fixture.close());

type Store = GenericStore<UnstructuredObject>;
const names = async (store: Store, request: SelectRequest, namespace = 'default') =>
  (await store.list(testContext({ namespace }), request)).items.map((item) => item.object.metadata?.name);

describe('get', () => {
  it('answers 404 with the resource', async () => {
    const store = fixture.store({ group: 'apps', resource: 'deployments' });
    expect((await refusal(store.get(testContext(), 'x'))).status).toMatchObject({
      code: 404,
      reason: 'NotFound',
      message: 'deployments.apps "x" not found',
      details: { name: 'x', group: 'apps', kind: 'deployments' },
    });
  });

  it.each([
    ['', 'default', 'Name parameter required.'],
    ['a', '', 'Namespace parameter required.'],
    ['..', 'default', 'Name parameter invalid: "..": may not be \'..\''],
    ['a%b', 'default', 'Name parameter invalid: "a%b": may not contain \'%\''],
    ['a/b%', 'default', "Name parameter invalid: \"a/b%\": may not contain '/';may not contain '%'"],
  ])('refuses the name %j in namespace %j', async (name, namespace, text) => {
    const error = await refusal(fixture.store().get(testContext({ namespace }), name));
    expect([error.code, error.message]).toEqual([400, text]);
  });

  it('refuses a version that is not a number, and one of the future', async () => {
    const store = fixture.store();
    await store.create(testContext(), configMap('a'));
    const bad = await refusal(store.get(testContext(), 'a', { resourceVersion: 'abc' }));
    expect([bad.code, bad.message]).toEqual([
      500,
      'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    ]);
    const future = await refusal(store.get(testContext(), 'a', { resourceVersion: '999999' }));
    expect([future.code, future.reason]).toEqual([504, 'Timeout']);
  });
});

describe('list', () => {
  let store: Store;
  beforeEach(async () => {
    store = fixture.store();
    for (const name of ['a', 'b', 'c']) {
      await store.create(testContext(), configMap(name, { metadata: { name, labels: { odd: String(name !== 'b') } } }));
    }
    await store.create(testContext({ namespace: 'other' }), configMap('a'));
  });

  it.each<[string, SelectRequest, string, readonly string[]]>([
    ['everything of a namespace', {}, 'default', ['a', 'b', 'c']],
    ['all namespaces', {}, '', ['a', 'b', 'c', 'a']],
    ['an empty namespace', {}, 'none', []],
    ['by label', { labelSelector: 'odd=true' }, 'default', ['a', 'c']],
    ['by name', { fieldSelector: 'metadata.name=b' }, 'default', ['b']],
    ['by name that is not there', { fieldSelector: 'metadata.name=z' }, 'default', []],
    ['by name in all namespaces', { fieldSelector: 'metadata.name=a' }, '', ['a', 'a']],
    ['by name and namespace', { fieldSelector: 'metadata.name=a,metadata.namespace=other' }, '', ['a']],
    ['by an impossible name', { fieldSelector: 'metadata.name=a/b' }, 'default', []],
    ['by an empty name', { fieldSelector: 'metadata.name=' }, 'default', []],
    ['by namespace', { fieldSelector: 'metadata.namespace=other' }, '', ['a']],
    ['by another namespace', { fieldSelector: 'metadata.namespace=other' }, 'default', []],
    ['by an impossible namespace', { fieldSelector: 'metadata.namespace=a/b' }, '', []],
    ['by not a name', { fieldSelector: 'metadata.name!=b' }, 'default', ['a', 'c']],
    ['a negative limit', { limit: -1 }, 'default', ['a', 'b', 'c']],
  ])('%s', async (_case, request, namespace, expected) => {
    expect(await names(store, request, namespace)).toEqual(expected);
  });

  it('goes on with a continue token at the version of the first page', async () => {
    const first = await store.list(testContext(), { limit: 2 });
    await store.create(testContext(), configMap('d'));
    const second = await store.list(testContext(), { limit: 2, continue: first.continue });
    expect(second.items.map((item) => item.object.metadata?.name)).toEqual(['c']);
    expect([second.resourceVersion, second.continue]).toEqual([first.resourceVersion, '']);
  });

  it.each([
    [{ labelSelector: 'a b' }, "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    [{ fieldSelector: 'metadata.name' }, "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
    [
      { fieldSelector: 'data.k=v' },
      '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"',
    ],
  ])('refuses %j', async (request, text) => {
    const error = await refusal(store.list(testContext(), request));
    expect([error.code, error.reason, error.message]).toEqual([400, 'BadRequest', text]);
  });
});

describe('selectable fields', () => {
  it('of a kind with fields of its own are refused in its words', async () => {
    const refused = async (changes: Parameters<StoreFixture['store']>[0], fieldSelector: string) =>
      (await refusal(fixture.store(changes).list(testContext(), { fieldSelector }))).message;
    const selectableFields = ['spec.nodeName'];
    expect(await refused({ selectableFields }, 'spec.nope=x')).toBe('field label not supported: spec.nope');
    const unsupportedFieldMessage = (field: string): string => `field label "${field}" not supported for Job`;
    expect(await refused({ selectableFields, unsupportedFieldMessage }, 'x=y')).toBe(
      'field label "x" not supported for Job',
    );
    const nodes = { selectableFields, namespaced: false };
    expect(await refused(nodes, 'metadata.namespace=x')).toBe('field label not supported: metadata.namespace');
    const plain = fixture.store({ namespaced: false });
    expect(await names(plain, { fieldSelector: 'metadata.namespace=x' })).toEqual([]);
    expect(await names(fixture.store({ selectableFields }), { fieldSelector: 'spec.nodeName=x' })).toEqual([]);
  });
});

describe('watch', () => {
  class Sink implements StorageWatchSink<UnstructuredObject> {
    readonly events: string[] = [];
    ended: Error | undefined | 'open' = 'open';
    #wake: (() => void) | undefined;

    onEvent(event: StorageEvent<UnstructuredObject>): void {
      if (event.type === 'BOOKMARK') return;
      this.events.push(`${event.type} ${event.stored.object.metadata?.name}`);
      this.#wake?.();
    }

    onEnd(error?: Error): void {
      this.ended = error;
      this.#wake?.();
    }

    async until(done: () => boolean): Promise<void> {
      while (!done()) await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  it('delivers what the selection matches, until it is closed', async () => {
    const store = fixture.store();
    const { resourceVersion } = await store.list(testContext(), {});
    const sink = new Sink();
    const watch = store.watch(testContext(), { resourceVersion, labelSelector: 'l=1' }, sink);
    await store.create(testContext(), configMap('a'));
    await store.create(testContext(), configMap('b', { metadata: { name: 'b', labels: { l: '1' } } }));
    await store.update(testContext(), { name: 'b', transform: () => configMap('b') });
    await sink.until(() => sink.events.length === 2);
    watch.close();
    expect(sink.events).toEqual(['ADDED b', 'DELETED b']);
  });

  it('of one name is of one key', async () => {
    const store = fixture.store();
    const { resourceVersion } = await store.list(testContext(), {});
    const sink = new Sink();
    const request = { resourceVersion, fieldSelector: 'metadata.name=b' };
    const watch = store.watch(testContext(), request, sink);
    for (const name of ['a', 'b', 'bb']) await store.create(testContext(), configMap(name));
    await store.delete(testContext(), 'b', {});
    await sink.until(() => sink.events.length === 2);
    watch.close();
    expect(sink.events).toEqual(['ADDED b', 'DELETED b']);
  });

  it('ends when the request is cancelled', async () => {
    const store = fixture.store();
    await store.create(testContext(), configMap('z'));
    const abort = new AbortController();
    const sink = new Sink();
    store.watch(testContext({ signal: abort.signal }), { sendInitialEvents: false }, sink);
    const other = new Sink();
    const watch = store.watch(testContext(), { sendInitialEvents: false, resourceVersion: '' }, other);
    abort.abort();
    await store.create(testContext(), configMap('a'));
    await other.until(() => other.events.length === 1);
    watch.close();
    expect(sink.events).toEqual([]);
  });

  it('throws for a selection that makes no sense', () => {
    const store = fixture.store();
    expect(() => store.watch(testContext(), { fieldSelector: 'data.k=v' }, new Sink())).toThrow(
      'is not a known field selector',
    );
    expect(() => store.watch(testContext(), { resourceVersion: 'abc' }, new Sink())).toThrow(
      'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    );
  });

  it('reports a compacted version as a StatusError', async () => {
    const store = fixture.store();
    for (const name of ['a', 'b', 'c']) await store.create(testContext(), configMap(name));
    const { revision } = await store.create(testContext(), configMap('d'));
    await fixture.engine.compact(revision);
    const sink = new Sink();
    store.watch(testContext(), { resourceVersion: '1' }, sink);
    await sink.until(() => sink.ended !== 'open');
    expect(sink.ended).toMatchObject({ code: 410, reason: 'Expired' });
  });
});
