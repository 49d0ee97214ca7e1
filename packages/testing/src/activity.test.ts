import { VirtualClock } from '@kapstan/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { Activity } from './activity.ts';

describe('settling', () => {
  let clock: VirtualClock;
  let activity: Activity;
  beforeEach(() => {
    clock = new VirtualClock();
    activity = new Activity(clock);
  });

  const turns = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
  };
  const settled = (): { readonly isOver: boolean } => {
    const state = { isOver: false };
    void activity.settle().then(() => {
      state.isOver = true;
    });
    return state;
  };

  it('takes 16 quiet turns of the event loop', async () => {
    const state = settled();
    await turns(15);
    expect(state.isOver).toBe(false);
    await turns(2);
    expect(state.isOver).toBe(true);
  });

  it('begins anew whenever something moves', async () => {
    const state = settled();
    for (let i = 0; i < 20; i++) {
      await turns(10);
      activity.moved();
    }
    expect(state.isOver).toBe(false);
    await turns(20);
    expect(state.isOver).toBe(true);
  });

  it('waits for an operation, however long it takes', async () => {
    const end = activity.beginOperation();
    const state = settled();
    await clock.advance(120_000);
    await turns(100);
    expect(state.isOver).toBe(false);
    end();
    end();
    await turns(20);
    expect(state.isOver).toBe(true);
  });

  it('waits for a request while something moves, but not for one that waits for time', async () => {
    const end = activity.beginRequest();
    const state = settled();
    await turns(100);
    expect(state.isOver).toBe(false);
    await clock.advance(49);
    await turns(100);
    expect(state.isOver).toBe(false);
    await clock.advance(1);
    await turns(20);
    expect(state.isOver).toBe(true);
    end();
  });
});
