import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { formatTime } from '../time/clock.ts';
import { type AnyCondition, getCondition, setCondition } from './condition.ts';

const clock = new VirtualClock();
const early = '2020-01-01T00:00:00Z';
const ready = { type: 'Ready', status: 'True', reason: 'Applied', message: 'All is there.', observedGeneration: 1 };
const now = () => formatTime(clock.now());

describe('setCondition', () => {
  it('appends a condition of a new type, with the present time, and leaves the given list alone', () => {
    const others: readonly AnyCondition[] = Object.freeze([{ type: 'Other', status: 'False' }]);
    expect(setCondition(others, ready, clock)).toEqual([
      { type: 'Other', status: 'False' },
      { ...ready, lastTransitionTime: now() },
    ]);
    expect(others).toHaveLength(1);
  });

  it.each([[undefined], [null], [[]]])('begins a list where there is none: %s', (none) => {
    expect(setCondition<AnyCondition>(none, ready, clock)).toEqual([{ ...ready, lastTransitionTime: now() }]);
  });

  it('keeps the time while the status stays, whatever else changes and whatever time is given', () => {
    const before: readonly AnyCondition[] = [{ ...ready, lastTransitionTime: early }];
    const next = { ...ready, reason: 'Again', message: 'Still.', observedGeneration: 2 };
    expect(setCondition(before, next, clock)).toEqual([{ ...next, lastTransitionTime: early }]);
    expect(setCondition(before, { ...next, lastTransitionTime: now() }, clock)).toEqual([
      { ...next, lastTransitionTime: early },
    ]);
  });

  it('moves the time when the status changes: to now, or to the given one', () => {
    const before: readonly AnyCondition[] = [
      { ...ready, lastTransitionTime: early },
      { type: 'Other', status: 'True' },
    ];
    const next = { ...ready, status: 'False' };
    expect(setCondition(before, next, clock)).toEqual([{ ...next, lastTransitionTime: now() }, before[1]]);
    const given = '2021-01-01T00:00:00Z';
    expect(setCondition(before, { ...next, lastTransitionTime: given }, clock)[0]).toEqual({
      ...next,
      lastTransitionTime: given,
    });
  });

  it('drops the observedGeneration that is not given, as it was that of the condition before', () => {
    const { observedGeneration: _gone, ...next } = ready;
    expect(setCondition<AnyCondition>([{ ...ready, lastTransitionTime: early }], next, clock)).toEqual([
      { ...next, lastTransitionTime: early },
    ]);
  });

  it('gives the same list again for the same condition, so that a status that is set each time comes to rest', () => {
    const once = setCondition<AnyCondition>([], ready, clock);
    expect(setCondition(once, ready, new VirtualClock({ startMs: 0 }))).toEqual(once);
  });
});

describe('getCondition', () => {
  it('finds the condition of a type, and nothing where there is no list', () => {
    expect(getCondition([{ type: 'Other', status: 'True' }, ready], 'Ready')).toBe(ready);
    expect(getCondition([ready], 'ready')).toBeUndefined();
    expect(getCondition(undefined, 'Ready')).toBeUndefined();
    expect(getCondition(null, 'Ready')).toBeUndefined();
  });
});

it.each<[string, () => unknown, string]>([
  ['a status', () => getCondition({ conditions: [] } as never, 'Ready'), 'conditions must be a list, such as'],
  ['no type', () => getCondition([], undefined as never), 'the type of a condition must be a string, not undefined'],
  [
    'no condition',
    () => setCondition([], undefined as never),
    'a condition, such as { type, status, reason, message }',
  ],
  ['no status', () => setCondition([], { type: 'Ready' } as never), 'the status of a condition must be a string'],
  ['true', () => setCondition([], { type: 'Ready', status: true } as never), 'must be a string, not true'],
])('refuses with TypeError, as JavaScript lets it through, %s', (_what, call, message) => {
  expect(call).toThrow(TypeError);
  expect(call).toThrow(message);
});
