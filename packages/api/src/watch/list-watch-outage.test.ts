// The list/watch machine while its source is away, when it comes back, and when only the watch is refused.
import { describe, expect, it } from 'vitest';
import {
  expired,
  forbidden,
  internalError,
  serviceUnavailable,
  tooLargeResourceVersion,
  tooManyRequests,
} from '../errors/status-error.ts';
import { type ListWatchFailure, listWatchFailureOf } from './list-watch-failure.ts';
import { createListWatchState, stepListWatch } from './list-watch-machine.ts';
import type { ListWatchOptions } from './list-watch-options.ts';
import type { ListWatchEffect, ListWatchInput, ListWatchState } from './list-watch-state.ts';

const coded = (code: string): Error => Object.assign(new Error(code), { code });
const refused = listWatchFailureOf(coded('ECONNREFUSED'));
const forbiddenError = listWatchFailureOf(forbidden({ group: '', resource: 'pods' }, '', 'no watch'));

/** A machine with manual clock and random numbers. */
class Rig {
  nowMs = 0;
  random = 0;
  state: ListWatchState;
  readonly phases: string[] = [];

  constructor(options: ListWatchOptions = {}) {
    this.state = createListWatchState({ idleTimeoutMs: 0, ...options }, 0);
  }

  give(input: ListWatchInput): readonly ListWatchEffect[] {
    const step = stepListWatch(this.state, input, { nowMs: this.nowMs, random: this.random });
    this.state = step.state;
    for (const effect of step.effects) if (effect.type === 'status') this.phases.push(effect.phase);
    return step.effects;
  }

  /** Brings the machine to a watch that the source has accepted. */
  toWatch(): this {
    this.give({ type: 'start' });
    this.give({ type: 'listed', resourceVersion: '10' });
    this.give({ type: 'opened' });
    return this;
  }

  watchFails = (failure: ListWatchFailure) => this.give({ type: 'watchFailed', failure });

  /** Returns the pause after a failure; it is over when this returns. */
  pauseAfter(failure: ListWatchFailure): number {
    const delayMs = waitOf(this.watchFails(failure));
    this.nowMs += delayMs;
    this.give({ type: 'waited' });
    return delayMs;
  }

  /** Fails until some pauses have passed. */
  outage(failures = 7): void {
    for (let i = 0; i < failures; i++) this.pauseAfter(refused);
  }
}

function waitOf(effects: readonly ListWatchEffect[]): number {
  const wait = effects.find((effect) => effect.type === 'wait');
  return wait?.type === 'wait' ? wait.delayMs : 0;
}

describe('list/watch machine: after an outage', () => {
  const short = new Error('very short watch');

  it('a watch that was accepted and broke at once is tried again after the shortest pause', () => {
    const rig = new Rig({ useWatchList: false }).toWatch();
    rig.outage();
    rig.give({ type: 'opened' });
    expect(rig.pauseAfter({ kind: 'other', error: short })).toBe(800);
  });

  it('so is one that was refused, as by a server whose roles are not loaded yet', () => {
    const rig = new Rig({ useWatchList: false }).toWatch();
    rig.outage();
    expect(rig.pauseAfter(forbiddenError)).toBe(800);
    expect(rig.state.phase).toBe('listing');
  });

  it('a list that came starts the pauses anew too', () => {
    const rig = new Rig({ useWatchList: false });
    rig.give({ type: 'start' });
    for (let i = 0; i < 7; i++) {
      rig.give({ type: 'listFailed', failure: refused });
      rig.give({ type: 'waited' });
    }
    rig.give({ type: 'listed', resourceVersion: '10' });
    expect(rig.pauseAfter(forbiddenError)).toBe(800);
  });

  it('a second short outage within two minutes begins with the shortest pause', () => {
    const rig = new Rig({ useWatchList: false }).toWatch();
    rig.outage(4);
    rig.give({ type: 'opened' });
    rig.nowMs += 5000;
    expect([rig.pauseAfter(refused), rig.pauseAfter(refused)]).toEqual([800, 1600]);
  });

  it('watches that are accepted and break again and again wait longer each time', () => {
    const rig = new Rig({ useWatchList: false }).toWatch();
    rig.outage();
    const pauses = Array.from({ length: 4 }, () => {
      if (rig.state.phase === 'listing') rig.give({ type: 'listed', resourceVersion: '10' });
      rig.give({ type: 'opened' });
      return rig.pauseAfter({ kind: 'other', error: short });
    });
    expect(pauses).toEqual([800, 1600, 3200, 6400]);
  });

  it.each([
    [29_999, 3200],
    [30_000, 800],
  ])('a watch that lived for %i ms is followed by a pause of %i ms', (livedMs, pauseMs) => {
    const rig = new Rig({ useWatchList: false }).toWatch();
    for (let i = 0; i < 2; i++) rig.pauseAfter({ kind: 'overloaded', error: 'busy' });
    rig.give({ type: 'opened' });
    rig.nowMs += livedMs;
    expect(rig.pauseAfter({ kind: 'other', error: 'gone' })).toBe(pauseMs);
  });

  it.each([
    ['a refused connection', coded('ECONNREFUSED'), true],
    ['a connection that broke', coded('ECONNRESET'), true],
    ['no answer in time', coded('ETIMEDOUT'), true],
    ['a name that is not known', coded('ENOTFOUND'), true],
    ['a network that is away', new Error('x', { cause: coded('EHOSTUNREACH') }), true],
    ['503', serviceUnavailable('x'), true],
    ['a version from the future, which is a 504 too', tooLargeResourceVersion(9, 3, 1), undefined],
    ['403', forbidden({ group: '', resource: 'pods' }, '', 'no'), undefined],
    ['410', expired('x'), undefined],
    ['429', tooManyRequests('x', 1), undefined],
    ['500', internalError('x'), undefined],
    ['a certificate that is not trusted', coded('DEPTH_ZERO_SELF_SIGNED_CERT'), undefined],
    ['a failure of its own', new Error('x'), undefined],
  ])('%s counts as no answer: %s', (_name, error, isUnanswered) => {
    expect(listWatchFailureOf(error).isUnanswered).toBe(isUnanswered);
  });
});

describe('list/watch machine: the source answers somebody else', () => {
  const away = (): Rig => {
    const rig = new Rig({ useWatchList: false }).toWatch();
    rig.outage();
    rig.watchFails(refused);
    return rig;
  };

  it('asks to hear of it only while nobody answered', () => {
    const rig = new Rig({ useWatchList: false }).toWatch();
    expect(rig.watchFails(refused)).toContainEqual({ type: 'wait', delayMs: 800, untilReachable: true });
    rig.give({ type: 'waited' });
    expect(rig.watchFails(forbiddenError)).toContainEqual({ type: 'wait', delayMs: 800 });
    expect(rig.give({ type: 'reachable' })).toEqual([]);
  });

  it.each([
    [0, 0],
    [0.5, 400],
  ])('ends its pause within the shortest one: chance %d makes that %i ms', (random, delayMs) => {
    const rig = away();
    rig.random = random;
    expect(rig.give({ type: 'reachable' })).toEqual([{ type: 'wait', delayMs }]);
    rig.nowMs += delayMs;
    expect(rig.give({ type: 'waited' })[0]).toMatchObject({ type: 'watch', resourceVersion: '10' });
  });

  it('never makes a pause longer', () => {
    const rig = new Rig({ useWatchList: false }).toWatch();
    rig.watchFails(refused);
    rig.nowMs += 700;
    rig.random = 0.99;
    expect(rig.give({ type: 'reachable' })).toEqual([{ type: 'wait', delayMs: expect.closeTo(100, 6) }]);
  });

  it('waits longer each time where the answers to others help this request nothing', () => {
    const rig = away();
    rig.random = 0.5;
    const pauses = Array.from({ length: 6 }, () => {
      const delayMs = waitOf(rig.give({ type: 'reachable' }));
      rig.nowMs += delayMs;
      rig.give({ type: 'waited' });
      rig.watchFails(refused);
      return delayMs;
    });
    expect(pauses).toEqual([400, 800, 1600, 3200, 6400, 12_800]);
  });

  it('changes nothing elsewhere', () => {
    const rig = new Rig({ useWatchList: false }).toWatch();
    const before = rig.state;
    expect([rig.give({ type: 'reachable' }), rig.state === before]).toEqual([[], true]);
  });
});

describe('list/watch machine: a source that lets nobody watch', () => {
  /** Repeats rounds of a refused stream, a successful list and a refused watch. */
  function rounds(rig: Rig, { useWatchList }: { readonly useWatchList: boolean }): void {
    rig.give({ type: 'start' });
    for (let i = 0; i < 3; i++) {
      if (useWatchList) rig.watchFails(forbiddenError);
      rig.give({ type: 'listed', resourceVersion: String(10 + i) });
      rig.pauseAfter(forbiddenError);
    }
  }

  it('is never live: what it listed is old already', () => {
    const rig = new Rig();
    rounds(rig, { useWatchList: true });
    expect(rig.phases).toEqual(['failed', 'failed', 'failed']);
  });

  it('is live no more than once where the list comes first', () => {
    const rig = new Rig({ useWatchList: false });
    rounds(rig, { useWatchList: false });
    expect(rig.phases).toEqual(['live', 'failed', 'failed', 'failed']);
  });

  it.each<[string, ListWatchInput]>([
    ['open', { type: 'opened' }],
    ['told an event', { type: 'event', isAdded: false, resourceVersion: '14' }],
    ['told a bookmark', { type: 'bookmark', initialEventsEnd: false, resourceVersion: '14' }],
  ])('is live as soon as a watch is %s', (_name, input) => {
    const rig = new Rig();
    rounds(rig, { useWatchList: true });
    rig.watchFails(forbiddenError);
    rig.give({ type: 'listed', resourceVersion: '13' });
    expect(rig.phases.at(-1)).toBe('failed');
    rig.give(input);
    expect(rig.phases.at(-1)).toBe('live');
  });

  it('is live with a list where the stream failed for another reason', () => {
    const rig = new Rig();
    rig.give({ type: 'start' });
    rig.watchFails({ kind: 'other', error: 'invalid: sendInitialEvents' });
    rig.give({ type: 'listed', resourceVersion: '10' });
    expect(rig.phases).toEqual(['live']);
  });
});
