// Tests the compiler's checks of informers: `npm run typecheck` reads this file, and the run itself shows the same values.
import type { DeepReadonly } from '@kapstan/api';
import { FakeListerWatcher, pod, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from 'vitest';
import type { DeletedFinalStateUnknown } from './fifo/deleted-final-state-unknown.ts';
import { SharedInformer } from './shared-informer.ts';
import type { Indexer, Indexers } from './store/indexer.ts';

type Pod = DeepReadonly<TestPod>;

describe('the types of an informer', () => {
  let clock: VirtualClock;
  let informer: SharedInformer<TestPod>;
  beforeEach(() => {
    clock = new VirtualClock();
    const source = new FakeListerWatcher<TestPod>();
    source.add(pod({ name: 'a' }, { spec: { nodeName: 'n1' } }));
    informer = new SharedInformer<TestPod>(source, { clock });
  });
  afterEach(() => informer.close());

  it('are those of its resource: in handlers', async () => {
    const seen: string[] = [];
    informer.addEventHandler({
      onAdd: (object) => {
        expectTypeOf(object).toEqualTypeOf<Pod>();
        seen.push(object.spec?.nodeName ?? '');
      },
      onUpdate: (old, object) => {
        expectTypeOf([old, object]).toEqualTypeOf<Pod[]>();
      },
      onDelete: (last) => {
        expectTypeOf(last).toEqualTypeOf<Pod | DeletedFinalStateUnknown<TestPod>>();
      },
    });
    informer.start();
    await clock.advance(0);
    expect(seen).toEqual(['n1']);
  });

  it('are those of its resource: in index functions', async () => {
    const indexers: Indexers<TestPod> = { node: (object) => [object.spec?.nodeName] };
    expectTypeOf(indexers.node).parameter(0).toEqualTypeOf<Pod>();
    informer.addIndexers(indexers);
    informer.start();
    await clock.advance(0);
    expect(informer.indexer.indexValues('node')).toEqual(['n1']);
    // @ts-expect-error: pods have no such field
    informer.addIndexers({ other: (object) => [object.spec?.missing] });
  });

  it('are those of its resource: in its store and lister', async () => {
    informer.start();
    await clock.advance(0);
    expectTypeOf(informer.indexer).toExtend<Indexer<TestPod>>();
    expectTypeOf(informer.indexer.list()).toEqualTypeOf<readonly Pod[]>();
    expectTypeOf(informer.indexer.getIndexers()).toEqualTypeOf<Indexers<TestPod>>();
    expectTypeOf(informer.lister.list()).toEqualTypeOf<readonly Pod[]>();
    expect(informer.lister.list()[0]?.spec?.nodeName).toBe('n1');
  });
});
