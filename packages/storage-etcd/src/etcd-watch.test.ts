import type { Revision } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { EtcdWatch } from './etcd-watch.ts';
import type { WireEvent } from './wire.ts';

function watchFrom(after: number, range = { start: '/', end: '0' }) {
  const told: string[] = [];
  const watch = new EtcdWatch({
    id: 7,
    range,
    after: after as Revision,
    wantsProgress: true,
    quietKey: '/registry/',
    sink: {
      onEvents: (events, revision) => told.push(`${revision}:${events.map((event) => event.key).join()}`),
      onProgress: (revision) => told.push(`progress ${revision}`),
      onError: (error) => told.push(error.message),
    },
  });
  return { watch, told };
}

const event = (key: string, modRevision: number): WireEvent => ({
  type: 0,
  kv: { key: Buffer.from(key), value: Buffer.from('v'), createRevision: modRevision, modRevision, lease: 0 },
  prevKv: null,
});

describe('EtcdWatch', () => {
  it('delivers the events of one revision together, also when etcd cut them in pieces', () => {
    const { watch, told } = watchFrom(1);
    watch.take([event('/a', 2), event('/b', 3)], true);
    expect(told).toEqual(['2:/a']);
    watch.take([event('/c', 3)], true);
    watch.take([event('/d', 3), event('/e', 4)], false);
    expect(told).toEqual(['2:/a', '3:/b,/c,/d', '4:/e']);
  });

  it('goes on at the first revision that was not delivered whole', () => {
    const { watch, told } = watchFrom(1);
    watch.take([event('/a', 2), event('/b', 3)], true);
    expect(watch.createRequest().createRequest).toMatchObject({ startRevision: 3, watchId: 7, prevKv: true });
    watch.take([event('/b', 3), event('/c', 3)], false);
    expect(told).toEqual(['2:/a', '3:/b,/c']);
    expect(watch.createRequest().createRequest).toMatchObject({ startRevision: 4 });
  });

  it('delivers no revision twice and goes on after what it was told to be complete', () => {
    const { watch, told } = watchFrom(1);
    watch.take([event('/a', 2)], false);
    watch.take([event('/a', 2)], false);
    watch.progress(9);
    watch.progress(8);
    expect(told).toEqual(['2:/a', 'progress 9']);
    expect(watch.nextRevision).toBe(10);
  });

  it('stays silent about progress before the revision that it waits for, and in the middle of a revision', () => {
    const { watch, told } = watchFrom(5);
    watch.progress(4);
    expect(told).toEqual([]);
    watch.take([event('/a', 6)], true);
    watch.progress(6);
    expect(told).toEqual([]);
  });

  it('hears nothing of a range without keys, but knows how far it is', () => {
    const { watch, told } = watchFrom(1, { start: '/b', end: '/a' });
    expect(watch.createRequest().createRequest).not.toHaveProperty('rangeEnd');
    watch.take([event('/registry/', 2)], false);
    watch.progress(3);
    expect(told).toEqual(['progress 3']);
  });

  it('stops in the middle of a message when it is closed', () => {
    const { watch, told } = watchFrom(1);
    watch.close();
    watch.take([event('/a', 2)], false);
    watch.progress(5);
    watch.fail(new Error('late'));
    expect(told).toEqual([]);
  });
});
