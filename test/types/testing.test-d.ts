// Tests the types of @kapstan/testing and @kapstan/api/testing: a cluster in the test's process, and its clock.
import type { Clock, ListerWatcher, ResourceClient } from '@kapstan/api';
import { FakeListerWatcher, type TestConfigMap, VirtualClock } from '@kapstan/api/testing';
import type { Client } from '@kapstan/client';
import { type ActiveFault, type TestCluster, testCluster } from '@kapstan/testing';
import { describe, expectTypeOf, it } from 'vitest';

declare const cluster: TestCluster;

describe('a test cluster', () => {
  it('has a client in process, and others over HTTPS', () => {
    expectTypeOf(testCluster).returns.resolves.toEqualTypeOf<TestCluster>();
    expectTypeOf(cluster.client).toEqualTypeOf<ResourceClient>();
    expectTypeOf(cluster.connect()).resolves.toEqualTypeOf<Client>();
    expectTypeOf<TestCluster>().toExtend<AsyncDisposable>();
  });

  it('has a clock that moves when it is told', () => {
    expectTypeOf(cluster.clock).toEqualTypeOf<Clock>();
    expectTypeOf(cluster.advance).parameters.toEqualTypeOf<[ms: number]>();
    expectTypeOf(cluster.advance(5)).resolves.toBeVoid();
  });

  it('takes faults by their kind', () => {
    expectTypeOf(cluster.fault({ kind: 'reset' })).resolves.toEqualTypeOf<ActiveFault>();
    expectTypeOf(cluster.fault({ kind: '429', times: 2, match: 'watch' })).resolves.toEqualTypeOf<ActiveFault>();
    // @ts-expect-error: there is no such fault
    cluster.fault({ kind: 'boom' });
    // @ts-expect-error: watches and calls can be told apart
    cluster.fault({ kind: 'reset', match: 'watches' });
  });
});

describe('what unit tests are made of', () => {
  it('stands in for the real parts', () => {
    expectTypeOf(new VirtualClock()).toExtend<Clock>();
    expectTypeOf(new FakeListerWatcher<TestConfigMap>()).toExtend<ListerWatcher<TestConfigMap>>();
  });
});
