import { objectKey } from '@kapstan/api';
import { pod, settle, type TestPod } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { HandlerListener } from './handler-listener.ts';
import type { AddedChange, DeletedChange, UpdatedChange } from './object-change.ts';
import { ResyncSchedule } from './resync-schedule.ts';

const parts = (name: string) => ({ key: objectKey('default', name), object: pod({ name }) });
const added = (name: string): AddedChange<TestPod> => ({ type: 'added', ...parts(name), isInInitialList: true });
const updated = (name: string): UpdatedChange<TestPod> => ({
  type: 'updated',
  ...parts(name),
  oldObject: pod({ name }),
});
const deleted = (name: string): DeletedChange<TestPod> => ({
  type: 'deleted',
  ...parts(name),
  isFinalStateUnknown: false,
});

describe('HandlerListener', () => {
  it('has synced when the last initial object goes before the handler was told of it', async () => {
    const releases: (() => void)[] = [];
    const slowly = (): Promise<void> => new Promise((resolve) => releases.push(resolve));
    const listener = new HandlerListener<TestPod>({
      handler: { onAdd: slowly, onUpdate: slowly },
      resync: new ResyncSchedule({ requestedMs: 0, checkMs: 0, nowMs: 0 }),
      gate: { hold: () => false, deliver: () => undefined },
      onError: (error) => {
        throw error;
      },
    });
    // Simulates one DeltaFifo entry with two changes, and a second entry.
    for (const change of [added('a'), updated('a'), added('b')]) listener.deliver(change);
    listener.noteUpstream(true);
    releases[0]?.();
    await settle();
    expect([releases.length, listener.synced.isDone]).toEqual([2, false]);
    listener.deliver(deleted('b'));
    expect(listener.synced.isDone).toBe(true);
    expect(listener.backlog).toBe(0);
    releases[1]?.();
    await listener.remove();
  });
});
