// Tests how a shared informer passes its options to its reflector, over both FIFOs.
import type { DeepReadonly, Resource, WatchEvent } from '@kapstan/api';
import { internalError } from '@kapstan/api/errors';
import { deepFreeze } from '@kapstan/api/internal';
import { FakeListerWatcher, pod, settle, type TestPod, testPods, VirtualClock } from '@kapstan/api/testing';
import { NEVER, Observable, Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { type DeletedFinalStateUnknown, isDeletedFinalStateUnknown } from '../fifo/deleted-final-state-unknown.ts';
import { SharedInformer } from '../shared-informer.ts';
import { SharedInformerFactory } from '../shared-informer-factory.ts';
import type { SharedInformerOptions } from '../shared-informer-options.ts';

const kinds = ['delta', 'inOrder'] as const;

async function started(source: FakeListerWatcher<TestPod>, options: SharedInformerOptions<TestPod> = {}) {
  const clock = new VirtualClock();
  const warnings: string[] = [];
  const nothing = (): void => undefined;
  const logger = { error: nothing, info: nothing, debug: nothing, warn: (text: string) => void warnings.push(text) };
  const informer = new SharedInformer<TestPod>(source, { clock, random: () => 0, logger, ...options });
  informer.start();
  await settle();
  return { informer, clock, warnings };
}

const nameOf = (object: DeepReadonly<TestPod> | DeletedFinalStateUnknown<TestPod>): string | undefined =>
  isDeletedFinalStateUnknown<TestPod>(object) ? object.key : object.metadata?.name;
const named = (group: string, plural: string): Pick<Resource, 'group' | 'plural'> => ({ group, plural });

describe.each(kinds)('an informer and its reflector: %s', (fifo) => {
  it.each([true, false])('transforms what is listed, once an object (streamed: %s)', async (useWatchList) => {
    const source = new FakeListerWatcher<TestPod>({ startVersion: 10 });
    for (const name of ['a', 'b', 'c']) source.add(pod({ name, labels: { large: 'x' } }));
    const seen: string[] = [];
    const { informer } = await started(source, {
      fifo,
      useWatchList,
      transform: (object) => {
        seen.push(object.metadata?.name ?? '');
        return deepFreeze(pod({ name: object.metadata?.name ?? '' }));
      },
    });
    expect(seen).toEqual(['a', 'b', 'c']);
    expect(informer.indexer.list().map(({ metadata }) => metadata?.labels)).toEqual([undefined, undefined, undefined]);
    await informer.close();
  });

  it.each([true, false])(
    'holds what a list of the same version shows, transformed or not: %s',
    async (isTransformed) => {
      const source = new FakeListerWatcher<TestPod>({ startVersion: 10 });
      for (const name of ['b', 'a', 'c']) source.add(pod({ name, labels: { app: name } }));
      source.delete({ name: 'c' });
      const { informer } = await started(source, {
        fifo,
        ...(isTransformed ? { transform: (object) => object } : {}),
      });
      const { items, resourceVersion } = await source.list({});
      expect(source.asked('list')).toHaveLength(1);
      expect(informer.indexer.list()).toEqual(items);
      expect(informer.lastSyncResourceVersion).toBe(resourceVersion);
      await informer.close();
    },
  );

  it('leaves out events of another kind than its resource has, and reports them', async () => {
    const events = new Subject<WatchEvent<TestPod>>();
    const source = new FakeListerWatcher<TestPod>({ startVersion: 10 });
    source.watch = () => events;
    const { informer, warnings } = await started(source, { fifo, resource: testPods, useWatchList: false });
    for (const [name, kind] of [
      ['a', 'Service'],
      ['b', 'Pod'],
    ] as const)
      events.next({ type: 'ADDED', object: { ...pod({ name, resourceVersion: '11' }), kind } });
    expect(informer.indexer.listKeys()).toEqual(['default/b']);
    expect(warnings).toEqual(['pods: unexpected watch event object: expected v1, Kind=Pod, got v1, Kind=Service']);
    await informer.close();
  });
});

describe('an informer and its reflector', () => {
  it.each([
    ['by default', false, {}],
    ['with DeltaFifo', false, { fifo: 'delta' }],
    ['with InOrderFifo', true, { fifo: 'inOrder' }],
  ] as const)('tells of the deletion of what it never had %s: %s', async (_name, isTold, options) => {
    const events = new Subject<WatchEvent<TestPod>>();
    const source = new FakeListerWatcher<TestPod>();
    source.watch = () => events;
    const { informer } = await started(source, { useWatchList: false, ...options });
    const deleted: (string | undefined)[] = [];
    informer.addEventHandler({ onDelete: (object) => void deleted.push(nameOf(object)) });
    events.next({ type: 'DELETED', object: pod({ name: 'gone', resourceVersion: '11' }) });
    expect([deleted, informer.indexer.size]).toEqual([isTold ? ['gone'] : [], 0]);
    await informer.close();
  });

  it('does not ask a source for a stream that cannot give one', async () => {
    const source = Object.assign(new FakeListerWatcher<TestPod>({ startVersion: 10 }), { supportsWatchList: false });
    const { informer } = await started(source);
    expect(source.requests.map(({ verb }) => verb)).toEqual(['list', 'watch']);
    await informer.close();
  });

  it('carries that over from the source to the view of its metadata', async () => {
    const source = Object.assign(new FakeListerWatcher<TestPod>({ startVersion: 10 }), { supportsWatchList: false });
    await using factory = new SharedInformerFactory({ listerWatcher: () => source as never });
    factory.metadataInformer(testPods);
    factory.start();
    await factory.waitForCacheSync();
    expect(source.requests.map(({ verb }) => verb)).toEqual(['list', 'watch']);
  });

  it('names what it lists when it warns that a stream is silent', async () => {
    const source = new FakeListerWatcher<TestPod>();
    source.watch = () => NEVER;
    const { informer, clock, warnings } = await started(source, { resource: testPods });
    await clock.advance(10_000);
    expect(warnings).toEqual([
      'pods: awaiting required bookmark event for initial events stream, no events received for 10s',
    ]);
    await informer.close();
  });

  it.each<[string, SharedInformerOptions<TestPod>, string]>([
    ['nothing', {}, 'objects'],
    ['a resource of the core group', { resource: named('', 'pods') }, 'pods'],
    ['a resource of another group', { resource: named('apps', 'deployments') }, 'deployments.apps'],
    ['a token', { resource: testPods }, 'pods'],
  ])('calls what it lists by the name of %s', async (_name, options, name) => {
    const source = new FakeListerWatcher<TestPod>();
    source.failNext('list', internalError('boom'));
    const { informer, warnings } = await started(source, { ...options, useWatchList: false });
    expect(warnings).toEqual([`${name}: failed to list or watch, trying again: Internal error occurred: boom`]);
    await informer.close();
  });

  const things = { group: 'example.com', kind: 'Thing' };
  it.each<[string, boolean, SharedInformerOptions<TestPod>]>([
    ['nothing', true, {}],
    ['a resource without a kind', true, { resource: named('', 'pods') }],
    ['a token of another kind', false, { resource: { ...testPods, group: 'example.com' } }],
    ['a token of another version', false, { resource: { ...testPods, ...things, version: 'v2' } }],
    ['a token of another group', false, { resource: { ...testPods, ...things, group: 'example.org' } }],
    ['its token', true, { resource: { ...testPods, ...things } }],
  ])('takes a Thing of example.com/v1 where it was given %s: %s', async (_name, isTaken, options) => {
    const source = new FakeListerWatcher<TestPod>();
    const thing = { ...pod({ name: 'a', resourceVersion: '1' }), apiVersion: 'example.com/v1', kind: 'Thing' };
    source.watch = () =>
      new Observable((subscriber) => {
        subscriber.next({ type: 'ADDED', object: thing });
      });
    const { informer } = await started(source, { ...options, useWatchList: false });
    expect(informer.indexer.size).toBe(isTaken ? 1 : 0);
    await informer.close();
  });

  it('shows who hears of a change all that is there with it, and tells nobody of reads', async () => {
    const source = new FakeListerWatcher<TestPod>({ startVersion: 10 });
    for (const name of ['a', 'b']) source.add(pod({ name }));
    const { informer } = await started(source);
    const pushes: string[] = [];
    informer.events$.subscribe((event) => {
      pushes.push(`${event.type}: ${informer.indexer.listKeys().sort().join(' ').replaceAll('default/', '')}`);
    });
    pushes.length = 0;
    source.add(pod({ name: 'c' }));
    source.modify(pod({ name: 'a', labels: { x: 'y' } }));
    source.delete({ name: 'b' });
    const told = ['added: a b c', 'updated: a b c', 'deleted: a c'];
    expect(pushes).toEqual(told);
    informer.indexer.list();
    informer.indexer.getByKey(informer.indexer.listKeys()[0]!);
    informer.lister.list();
    await settle();
    expect(pushes).toEqual(told);
    await informer.close();
  });
});
