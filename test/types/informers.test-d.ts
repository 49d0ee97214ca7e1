// Tests the types of @kapstan/informers: the contents of caches, and the arguments of handlers and streams.
import type { DeepReadonly, ObjectEvent } from '@kapstan/api';
import {
  conflateByKey,
  type DeletedFinalStateUnknown,
  type Indexer,
  type IndexFunction,
  type InformerEvent,
  isDeletedFinalStateUnknown,
  type Lister,
  type ObjectChange,
  type PartialObjectMetadata,
  type ReflectorStatus,
  type ResourceEventHandler,
  retryWatch,
  type SharedInformer,
  type SharedInformerFactory,
} from '@kapstan/informers';
import { Pod } from '@kapstan/kinds/core/v1';
import type { Observable } from 'rxjs';
import { describe, expectTypeOf, it } from 'vitest';

declare const factory: SharedInformerFactory;
declare const informer: SharedInformer<Pod>;

describe('an informer', () => {
  it('comes with the type of its resource', () => {
    expectTypeOf(factory.informer(Pod)).toEqualTypeOf<SharedInformer<Pod>>();
    expectTypeOf(factory.metadataInformer(Pod)).toEqualTypeOf<SharedInformer<PartialObjectMetadata>>();
    factory.informer(Pod, { indexers: { node: (pod) => [pod.spec?.nodeName] } });
    // @ts-expect-error: a pod has no such field
    factory.informer(Pod, { indexers: { node: (pod) => [pod.spec?.node] } });
  });

  it('gives shared objects, which nobody may change', () => {
    expectTypeOf(informer.lister).toEqualTypeOf<Lister<Pod>>();
    expectTypeOf(informer.lister.list()).toEqualTypeOf<readonly DeepReadonly<Pod>[]>();
    expectTypeOf(informer.lister.namespace('a').find('b')).toEqualTypeOf<DeepReadonly<Pod> | undefined>();
    expectTypeOf(informer.indexer).toEqualTypeOf<Indexer<Pod>>();
    expectTypeOf(informer.indexer.byIndex('node', 'a')).toEqualTypeOf<DeepReadonly<Pod>[]>();
    expectTypeOf<IndexFunction<Pod>>().parameter(0).toEqualTypeOf<DeepReadonly<Pod>>();
  });

  it('tells observables, iterables and handlers the same', () => {
    expectTypeOf(informer.events$).toEqualTypeOf<Observable<InformerEvent<Pod>>>();
    expectTypeOf(informer.watchEvents()).toEqualTypeOf<AsyncIterable<InformerEvent<Pod>>>();
    expectTypeOf(informer.status$).toEqualTypeOf<Observable<ReflectorStatus>>();
    expectTypeOf(informer.addEventHandler).parameter(0).toEqualTypeOf<ResourceEventHandler<Pod>>();
  });
});

describe('changes', () => {
  it('have what their type says', () => {
    const look = (event: InformerEvent<Pod>) => {
      if (event.type === 'synced') return undefined;
      expectTypeOf(event).toEqualTypeOf<ObjectChange<Pod>>();
      if (event.type === 'updated') expectTypeOf(event.oldObject).toEqualTypeOf<DeepReadonly<Pod>>();
      if (event.type === 'added') expectTypeOf(event.isInInitialList).toEqualTypeOf<boolean>();
      if (event.type === 'deleted') expectTypeOf(event.object).toEqualTypeOf<DeepReadonly<Pod> | undefined>();
      // @ts-expect-error: additions have no state before
      if (event.type === 'added') return event.oldObject;
      return event.key;
    };
    expectTypeOf(look).toBeFunction();
  });

  it('tell a deletion that was missed by a tombstone', () => {
    const handler: ResourceEventHandler<Pod> = {
      onDelete: (last) => {
        expectTypeOf(last).toEqualTypeOf<DeepReadonly<Pod> | DeletedFinalStateUnknown<Pod>>();
        if (!isDeletedFinalStateUnknown(last)) expectTypeOf(last).toEqualTypeOf<DeepReadonly<Pod>>();
      },
    };
    expectTypeOf(handler).toExtend<ResourceEventHandler<Pod>>();
  });

  it('go through operators with their types', () => {
    const work = conflateByKey(async (change: ObjectChange<Pod>) => change.key.length);
    expectTypeOf(informer.events$.pipe(work)).toEqualTypeOf<Observable<number>>();
    expectTypeOf(retryWatch<Pod>).returns.toEqualTypeOf<Observable<ObjectEvent<Pod>>>();
  });
});
