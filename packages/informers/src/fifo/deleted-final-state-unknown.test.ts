import { type DeepReadonly, objectKey, splitMetaNamespaceKey } from '@kapstan/api';
import { pod, type TestPod } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { callHandler, type ResourceEventHandler } from '../handlers/event-handler.ts';
import {
  DeletedFinalStateUnknown,
  deletionHandlingKey,
  isDeletedFinalStateUnknown,
} from './deleted-final-state-unknown.ts';

const tombstone = (key: string, object?: DeepReadonly<TestPod>) =>
  new DeletedFinalStateUnknown<TestPod>(key as ReturnType<typeof objectKey>, object);

describe('deletionHandlingKey', () => {
  it.each<[string, Parameters<typeof deletionHandlingKey<TestPod>>[0], string]>([
    ['an object of a namespace', pod({ name: 'a', namespace: 'x' }), 'x/a'],
    ['an object of no namespace', pod({ name: 'a', namespace: '' }), 'a'],
    ['an object without a name', { metadata: {} } as TestPod, ''],
    ['a tombstone: its own', tombstone('x/a', pod({ name: 'b', namespace: 'y' })), 'x/a'],
    ['a tombstone of nothing known', tombstone('x/a'), 'x/a'],
    ['a tombstone with a key that is none', tombstone('x/y/a'), 'x/y/a'],
  ])('gives the key of %s', (_what, value, key) => {
    expect(deletionHandlingKey(value)).toBe(key);
  });

  it('splits into the name of an object, whether that or its tombstone is there', () => {
    for (const value of [pod({ name: 'a', namespace: 'x' }), tombstone('x/a')])
      expect(splitMetaNamespaceKey(deletionHandlingKey<TestPod>(value))).toEqual({ namespace: 'x', name: 'a' });
  });

  it('says of an object without metadata what kind it is, why, and nothing of what it holds', () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', data: { password: 'hunter2' } } as unknown as TestPod;
    let error: unknown;
    try {
      deletionHandlingKey(secret);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({
      message: `couldn't create key for object {"apiVersion":"v1","kind":"Secret"}: object has no meta: metadata is absent`,
      cause: expect.objectContaining({ message: 'object has no meta: metadata is absent' }),
    });
  });
});

describe('a handler that is told of a deletion', () => {
  const told = (isFinalStateUnknown: boolean, object: DeepReadonly<TestPod> | undefined): unknown => {
    const values: unknown[] = [];
    const handler: ResourceEventHandler<TestPod> = { onDelete: (value) => void values.push(value) };
    void callHandler(handler, { type: 'deleted', key: objectKey('x', 'a'), object, isFinalStateUnknown });
    return values[0];
  };
  const last = pod({ name: 'a', namespace: 'x' });

  it('gets the object itself where its last state is known', () => {
    expect(told(false, last)).toBe(last);
  });

  it('gets a tombstone with an old state, or with none', () => {
    for (const state of [last, undefined]) {
      const value = told(true, state) as DeletedFinalStateUnknown<TestPod>;
      expect(isDeletedFinalStateUnknown<TestPod>(value)).toBe(true);
      expect([value.key, value.object]).toEqual(['x/a', state]);
    }
    expect(isDeletedFinalStateUnknown<TestPod>(told(false, undefined) as TestPod)).toBe(true);
  });

  it('may leave out what it does not want to hear', () => {
    const parts = { key: objectKey('x', 'a'), object: last };
    for (const change of [
      { type: 'added', ...parts, isInInitialList: true },
      { type: 'updated', ...parts, oldObject: last },
      { type: 'deleted', ...parts, isFinalStateUnknown: false },
    ] as const)
      expect(callHandler<TestPod>({}, change)).toBeUndefined();
  });
});
