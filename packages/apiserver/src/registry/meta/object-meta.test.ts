import type { ObjectMeta } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { ensureNamespace, fillSystemMetadata, keepSystemMetadata, wipeSystemMetadata } from './object-meta.ts';

describe('system metadata', () => {
  it('is wiped whole, and nothing else with it', () => {
    const meta: ObjectMeta = {
      name: 'a',
      generateName: 'b',
      generation: 3,
      finalizers: ['x.io/f'],
      uid: 'u',
      creationTimestamp: '2026-01-01T00:00:00Z',
      deletionTimestamp: '2026-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 30,
      selfLink: '/x',
    };
    wipeSystemMetadata(meta);
    expect(meta).toEqual({ name: 'a', generateName: 'b', generation: 3, finalizers: ['x.io/f'] });
  });

  it('is a uid and a time, whatever was there', () => {
    const meta: ObjectMeta = { uid: 'old', creationTimestamp: '2001-01-01T00:00:00Z' };
    fillSystemMetadata(meta, { uid: 'u', nowMs: Date.UTC(2026, 0, 2) });
    expect(meta).toEqual({ uid: 'u', creationTimestamp: '2026-01-02T00:00:00Z' });
  });

  it('outlives an update that leaves it out, and takes a grace period that the update names', () => {
    const old: ObjectMeta = {
      uid: 'u',
      generation: 2,
      creationTimestamp: '2026-01-01T00:00:00Z',
      deletionTimestamp: '2026-01-01T00:00:30Z',
      deletionGracePeriodSeconds: 30,
    };
    const kept: ObjectMeta = { generation: 9 };
    keepSystemMetadata(kept, old);
    expect(kept).toEqual(old);
    const named: ObjectMeta = { uid: 'v', deletionGracePeriodSeconds: 5 };
    keepSystemMetadata(named, old);
    // Validation decides whether that is allowed.
    expect(named).toMatchObject({ uid: 'v', deletionGracePeriodSeconds: 5, generation: 2 });
  });
});

describe('the namespace of an object and that of its request', () => {
  it.each<[requested: string, own: string | undefined, outcome: string | undefined]>([
    ['', undefined, undefined],
    ['', 'foo', undefined],
    ['foo', undefined, 'foo'],
    ['foo', '', 'foo'],
    ['foo', 'foo', 'foo'],
  ])('asked in "%s", sent with %j, lies in %j', (requested, own, outcome) => {
    const meta: ObjectMeta = own === undefined ? {} : { namespace: own };
    ensureNamespace(meta, requested);
    expect(meta.namespace).toBe(outcome);
  });

  it('must not differ', () => {
    expect(() => ensureNamespace({ namespace: 'bar' }, 'foo')).toThrow(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  });
});
