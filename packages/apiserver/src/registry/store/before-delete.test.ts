import { formatTime, type ObjectMeta } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { configMap, unconditionalStrategy } from '../../testing/store-fixture.ts';
import { beforeDelete, markAsDeleting } from './before-delete.ts';

const nowMs = Date.UTC(2026, 0, 1);
const at = (seconds: number): string => formatTime(nowMs + seconds * 1000);

/** A kind that is always deleted gracefully, by default with 30 seconds. */
const graceful = {
  ...unconditionalStrategy,
  gracePeriodSeconds: (_: unknown, asked: number | undefined) => asked ?? 30,
};
const decide = (metadata: ObjectMeta, asked: number | undefined, strategy = graceful) => {
  const object = configMap('a', { metadata });
  const request = { gracePeriodSeconds: asked };
  const groupKind = { group: '', resource: 'Pod' };
  const { type } = beforeDelete(object, { strategy, request, groupKind, nowMs });
  const { deletionTimestamp, deletionGracePeriodSeconds, generation } = object.metadata ?? {};
  return { type, at: deletionTimestamp, grace: deletionGracePeriodSeconds, generation };
};

describe('a deletion of what is being deleted already', () => {
  it.each<[present: number, asked: number, type: string, grace: number]>([
    [-1, -1, 'pending', 1],
    [-1, 0, 'graceful', 0],
    [-1, 1, 'pending', 1],
    [-1, 2, 'pending', 1],
    [0, -1, 'now', 0],
    [0, 0, 'now', 0],
    [0, 1, 'now', 0],
    [0, 2, 'now', 0],
    [1, -1, 'pending', 1],
    [1, 0, 'graceful', 0],
    [1, 1, 'pending', 1],
    [1, 2, 'pending', 1],
    [2, -1, 'graceful', 1],
    [2, 0, 'graceful', 0],
    [2, 1, 'graceful', 1],
    [2, 2, 'pending', 2],
  ])('with %i seconds left, asked for %i, is %s and leaves %i', (present, asked, type, grace) => {
    const metadata = { deletionTimestamp: at(present), deletionGracePeriodSeconds: present };
    expect(decide(metadata, asked)).toMatchObject({ type, grace });
  });

  it.each([
    [50, 1],
    [0, 0],
  ])('never ends before now: asked for %i, it leaves %i', (asked, grace) => {
    const metadata = { deletionTimestamp: at(-60), deletionGracePeriodSeconds: 60 };
    expect(decide(metadata, asked)).toMatchObject({ type: 'graceful', at: at(0), grace });
  });

  it('counts the new time from the beginning, and raises no generation', () => {
    const metadata = { deletionTimestamp: at(50), deletionGracePeriodSeconds: 60, generation: 4 };
    expect(decide(metadata, 20)).toEqual({ type: 'graceful', at: at(10), grace: 20, generation: 4 });
  });

  it('goes on at once where no time was left or none is known', () => {
    expect(decide({ deletionTimestamp: at(0), deletionGracePeriodSeconds: 0 }, undefined).type).toBe('now');
    expect(decide({ deletionTimestamp: at(0) }, 5)).toEqual({
      type: 'now',
      at: at(0),
      grace: undefined,
      generation: undefined,
    });
  });
});

describe('a first deletion', () => {
  it('takes the time from the kind, and raises a generation that there is', () => {
    expect(decide({ generation: 1 }, undefined)).toEqual({ type: 'graceful', at: at(30), grace: 30, generation: 2 });
    expect(decide({}, 7)).toEqual({ type: 'graceful', at: at(7), grace: 7, generation: undefined });
  });

  it('of a kind without grace changes nothing', () => {
    const plain = { type: 'now', at: undefined, grace: undefined, generation: 3 };
    expect(decide({ generation: 3 }, 7, unconditionalStrategy as typeof graceful)).toEqual(plain);
    const unwilling = { ...graceful, gracePeriodSeconds: () => undefined } as unknown as typeof graceful;
    expect(decide({ generation: 3 }, 7, unwilling)).toEqual(plain);
  });
});

describe('marking what stays for its finalizers', () => {
  it.each<[string, ObjectMeta, ObjectMeta]>([
    ['for the first time', { generation: 1 }, { deletionTimestamp: at(0), generation: 2 }],
    ['that has no generation', {}, { deletionTimestamp: at(0) }],
    ['that had time left', { deletionTimestamp: at(1), generation: 1 }, { deletionTimestamp: at(0), generation: 1 }],
    ['whose time is over', { deletionTimestamp: at(-1), generation: 1 }, { deletionTimestamp: at(-1), generation: 1 }],
  ])('%s: deleted from now on at the latest, without grace', (_case, metadata, expected) => {
    const meta = { ...metadata };
    markAsDeleting(meta, nowMs);
    expect(meta).toEqual({ ...expected, deletionGracePeriodSeconds: 0 });
  });
});
