// Checks client-go's numbers against the machine. Source: tools/cache/reflector.go, util/wait/backoff.go.
import { describe, expect, it } from 'vitest';
import type { Status } from '../errors/status.ts';
import { statusErrorFrom } from '../errors/status-error.ts';
import type { BackoffOptions } from '../time/backoff.ts';
import { type ListWatchFailureKind, listWatchFailureOf } from './list-watch-failure.ts';
import { createListWatchState, stepListWatch } from './list-watch-machine.ts';
import type { ListWatchOptions } from './list-watch-options.ts';
import type { ListWatchEffect, ListWatchInput, ListWatchState } from './list-watch-state.ts';

/** The highest random number, just below 1. */
const highest = 1 - 2 ** -40;

/** A machine with manual clock and random numbers. */
class Rig {
  nowMs = 0;
  random = 0;
  state: ListWatchState;

  constructor(options: ListWatchOptions = {}) {
    this.state = createListWatchState({ useWatchList: false, ...options }, 0);
  }

  give(input: ListWatchInput): readonly ListWatchEffect[] {
    const step = stepListWatch(this.state, input, { nowMs: this.nowMs, random: this.random });
    this.state = step.state;
    return step.effects;
  }

  /** Brings the machine to a watch from version 10 that the source has accepted. */
  toWatch(): this {
    this.give({ type: 'start' });
    this.give({ type: 'listed', resourceVersion: '10' });
    this.give({ type: 'opened' });
    return this;
  }

  watchFails = (kind: ListWatchFailureKind) => this.give({ type: 'watchFailed', failure: { kind, error: kind } });
  listFails = (kind: ListWatchFailureKind) => this.give({ type: 'listFailed', failure: { kind, error: kind } });

  /** Fails the watch and returns the pause that follows; 0 = none. */
  pauseAfter(kind: ListWatchFailureKind): number {
    const delayMs = waitOf(this.watchFails(kind));
    if (delayMs === undefined) return 0;
    this.nowMs += delayMs;
    this.give({ type: 'waited' });
    return delayMs;
  }
}

const waitOf = (effects: readonly ListWatchEffect[]): number | undefined => {
  const found = effects.find((effect) => effect.type === 'wait');
  return found?.type === 'wait' ? found.delayMs : undefined;
};
const watchOf = (effects: readonly ListWatchEffect[]): Extract<ListWatchEffect, { type: 'watch' }> | undefined => {
  const found = effects.find((effect) => effect.type === 'watch');
  return found?.type === 'watch' ? found : undefined;
};
const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

describe('list/watch machine: pauses', () => {
  const bases = [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000];

  it.each([
    { factor: 1, random: 0 },
    { factor: 1.5, random: 0.5 },
    { factor: 2, random: highest },
  ])('doubles from 800 ms to 30 s, and chance makes each up to twice as long: $factor times', ({ factor, random }) => {
    const rig = new Rig({ idleTimeoutMs: 0 }).toWatch();
    rig.random = random;
    const delays: (number | undefined)[] = [];
    for (let i = 0; i < bases.length; i++) {
      delays.push(waitOf(rig.watchFails('unreachable')));
      rig.give({ type: 'waited' });
    }
    expect(delays).toEqual(bases.map((base) => expect.closeTo(base * factor, 6)));
  });

  it.each([
    ['two minutes to the millisecond are not over', { failuresAt: [0, 120_000], last: 1600 }],
    ['after two minutes it begins anew', { failuresAt: [0, 120_001], last: 800 }],
    ['the last failure does not count, the last beginning does', { failuresAt: [0, 119_000, 121_000], last: 800 }],
    ['the window counts from where it began anew', { failuresAt: [121_000, 200_000, 240_000], last: 3200 }],
    ['and is over two minutes after that', { failuresAt: [121_000, 200_000, 241_001], last: 800 }],
  ])('starts anew every two minutes: %s', (_name, { failuresAt, last }) => {
    const rig = new Rig({ idleTimeoutMs: 0 }).toWatch();
    const delays = failuresAt.map((atMs) => {
      rig.nowMs = atMs;
      const delayMs = waitOf(rig.watchFails('unreachable'));
      rig.give({ type: 'waited' });
      return delayMs;
    });
    expect(delays.at(-1)).toBe(last);
  });

  it('one sequence of pauses serves lists, watches and streams', () => {
    const rig = new Rig({ useWatchList: true });
    rig.give({ type: 'start' });
    const delays = [rig.pauseAfter('overloaded'), rig.pauseAfter('unreachable')];
    rig.watchFails('other'); // falls back to a list
    delays.push(waitOf(rig.listFails('internal')) ?? -1);
    expect(delays).toEqual([800, 1600, 3200]);
  });

  const quick: BackoffOptions = { initialMs: 1, maxMs: 50, factor: 2, jitter: 1, resetAfterMs: 100_000 };
  it.each([
    { failures: 5, totalMs: 1 + 2 + 4 + 8 + 16, random: 0 },
    { failures: 5, totalMs: 2 * (1 + 2 + 4 + 8 + 16), random: highest },
    { failures: 40, totalMs: 1 + 2 + 4 + 8 + 16 + 32 + 34 * 50, random: 0 },
    { failures: 40, totalMs: 2 * (1 + 2 + 4 + 8 + 16 + 32 + 34 * 50), random: highest },
  ])('$failures refused connections take $totalMs ms with pauses from 1 to 50 ms', (row) => {
    const rig = new Rig({ backoff: quick, idleTimeoutMs: 0 }).toWatch();
    rig.random = row.random;
    const delays = Array.from({ length: row.failures }, () => rig.pauseAfter('unreachable'));
    expect(sum(delays)).toBeCloseTo(row.totalMs, 6);
    expect(rig.state).toMatchObject({ phase: 'watching', resourceVersion: '10' });
  });

  it('takes the pauses that it was given: 10, 20, 40, 80 and 100 ms', () => {
    const backoff: BackoffOptions = { initialMs: 10, maxMs: 100, factor: 2, jitter: 0, resetAfterMs: 0 };
    const rig = new Rig({ backoff, idleTimeoutMs: 0 }).toWatch();
    rig.random = highest;
    expect(Array.from({ length: 5 }, () => rig.pauseAfter('unreachable'))).toEqual([10, 20, 40, 80, 100]);
    rig.nowMs = 10_000_000;
    expect(rig.pauseAfter('unreachable')).toBe(100);
  });

  it.each([
    ['overloaded', 0],
    ['unreachable', 0],
    ['expired', 2],
    ['other', 2],
  ] as const)('two watches that cannot start (%s) cost two pauses and %i lists', (kind, lists) => {
    const rig = new Rig();
    rig.give({ type: 'start' });
    rig.give({ type: 'listed', resourceVersion: '10' });
    let listed = 0;
    for (const pauseMs of [800, 1600]) {
      expect(waitOf(rig.watchFails(kind))).toBe(pauseMs);
      if (rig.give({ type: 'waited' })[0]?.type !== 'list') continue;
      listed++;
      rig.give({ type: 'listed', resourceVersion: '10' });
    }
    expect([listed, rig.state.phase]).toEqual([lists, 'watching']);
  });
});

describe('list/watch machine: how long a watch lives', () => {
  const minutes = 60_000;
  it.each([
    ['5 minutes at least', { asked: 0, random: 0, timeoutMs: 5 * minutes }],
    ['below 10 minutes, in whole seconds', { asked: 0, random: highest, timeoutMs: 10 * minutes - 1000 }],
    ['rounded down to seconds', { asked: 0, random: 0.123_456, timeoutMs: 337_000 }],
    ['a smaller least time does not count', { asked: 10_000, random: 0, timeoutMs: 5 * minutes }],
    ['nor does the same', { asked: 5 * minutes, random: 0.5, timeoutMs: 7.5 * minutes }],
    ['a larger one does', { asked: 30 * minutes, random: 0, timeoutMs: 30 * minutes }],
    ['up to its double', { asked: 30 * minutes, random: highest, timeoutMs: 60 * minutes - 1000 }],
  ])('asks for a random time: %s', (_name, { asked, random, timeoutMs }) => {
    for (const useWatchList of [true, false]) {
      const rig = new Rig({ minWatchTimeoutMs: asked, useWatchList });
      rig.random = random;
      const started = rig.give({ type: 'start' });
      const effects = useWatchList ? started : rig.give({ type: 'listed', resourceVersion: '10' });
      expect(watchOf(effects)).toMatchObject({ timeoutMs, sendInitialEvents: useWatchList });
    }
  });

  it.each([
    [999, 0, true],
    [1000, 0, false],
    [0, 1, false],
  ])('a watch of %i ms with %i events is very short: %s', (livedMs, events, isShort) => {
    const rig = new Rig().toWatch();
    rig.nowMs = livedMs;
    for (let i = 0; i < events; i++) rig.give({ type: 'bookmark', resourceVersion: '11', initialEventsEnd: false });
    expect(waitOf(rig.give({ type: 'ended' }))).toBe(isShort ? 800 : undefined);
  });

  it.each([
    ['after 90 s of silence where nothing is said', {}, 90_000],
    ['after as much silence as is said', { idleTimeoutMs: 5000 }, 5000],
    ['never for 0', { idleTimeoutMs: 0 }, undefined],
  ])('looks %s', (_name, options, after) => {
    const rig = new Rig(options);
    rig.give({ type: 'start' });
    const effect = rig.give({ type: 'listed', resourceVersion: '10' }).find(({ type }) => type === 'watchdog');
    expect(effect).toEqual(after === undefined ? undefined : { type: 'watchdog', delayMs: after });
  });
});

describe('list/watch machine: the size of a page', () => {
  it.each([
    ['0', 0, 500],
    ['0', 4, 4],
    ['10', 0, 0],
    ['10', 4, 4],
    ['', 0, 500],
    ['', 4, 4],
  ])('at version "%s" and with pageSize %i is %i', (asked, pageSize, limit) => {
    const rig = new Rig({ pageSize });
    let effects = rig.give({ type: 'start' });
    if (asked !== '0') {
      rig.give({ type: 'listed', resourceVersion: '10' });
      rig.watchFails('other');
      effects = rig.give({ type: 'waited' });
    }
    if (asked === '') {
      rig.listFails('expired');
      rig.listFails('expired');
      effects = rig.give({ type: 'waited' });
    }
    expect(effects).toEqual([{ type: 'list', resourceVersion: asked, limit }]);
  });

  it.each([
    ['in pages', 500],
    ['whole', 0],
  ])('at a definite version, once a list at "0" came %s, is %i', (how, limit) => {
    const rig = new Rig();
    rig.give({ type: 'start' });
    if (how === 'in pages') rig.give({ type: 'listed', resourceVersion: '10', continue: 'c' });
    rig.give({ type: 'listed', resourceVersion: '10' });
    for (let round = 0; round < 2; round++) {
      rig.watchFails('other');
      expect(rig.give({ type: 'waited' })).toEqual([{ type: 'list', resourceVersion: '10', limit }]);
      rig.give({ type: 'listed', resourceVersion: '10' });
    }
  });

  it('does not take a list at a definite version that came in pages for a source without a cache', () => {
    const rig = new Rig({ pageSize: 0 }).toWatch();
    rig.watchFails('other');
    rig.give({ type: 'waited' });
    rig.give({ type: 'listed', resourceVersion: '11', continue: 'c' });
    rig.give({ type: 'listed', resourceVersion: '11' });
    rig.watchFails('other');
    expect(rig.give({ type: 'waited' })).toEqual([{ type: 'list', resourceVersion: '11', limit: 0 }]);
  });
});

describe('list/watch machine: which version is asked for', () => {
  it('three rounds from the future ask for "0", then each time the last version and the most recent one', () => {
    const rig = new Rig();
    const asked: string[] = [];
    const note = (effects: readonly ListWatchEffect[]): void => {
      for (const effect of effects) if (effect.type === 'list') asked.push(effect.resourceVersion);
    };
    note(rig.give({ type: 'start' }));
    for (const version of ['20', '30', '40']) {
      rig.give({ type: 'listed', resourceVersion: version });
      rig.watchFails('expired');
      note(rig.give({ type: 'waited' }));
      note(rig.listFails('tooLargeVersion'));
    }
    expect(asked).toEqual(['0', '20', '', '30', '', '40', '']);
  });

  const text = 'Too large resource version';
  it.each<[string, Partial<Status>]>([
    [
      'the cause of servers since 1.17',
      { reason: 'Timeout', details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } },
    ],
    [
      'that cause, whatever the reason',
      { reason: 'ServiceUnavailable', details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } },
    ],
    ['an older text in a cause', { reason: 'Timeout', details: { causes: [{ message: text }] } }],
    ['an older text in the message', { reason: 'Timeout', message: `Timeout: ${text}: 9, current: 3`, details: {} }],
  ])('knows a version from the future by %s', (_name, fields) => {
    expect(listWatchFailureOf(statusErrorFrom({ message: '', code: 504, ...fields })).kind).toBe('tooLargeVersion');
  });

  it.each<[string, Partial<Status>]>([
    ['a text without details', { reason: 'Timeout', message: text }],
    ['a text with another reason', { reason: 'InternalError', message: text, details: {} }],
    ['a cause with more than the text', { reason: 'Timeout', details: { causes: [{ message: `${text}.` }] } }],
    ['any other time-out', { reason: 'Timeout', message: 'Timeout: slow', details: { retryAfterSeconds: 1 } }],
  ])('does not take %s for one', (_name, fields) => {
    expect(listWatchFailureOf(statusErrorFrom({ message: '', code: 504, ...fields })).kind).not.toBe('tooLargeVersion');
  });
});

describe('list/watch machine: a version that is gone (410)', () => {
  const gone = { kind: 'expired', error: 'gone' } as const;
  const listFailed: ListWatchInput = { type: 'listFailed', failure: gone };
  const watchFailed: ListWatchInput = { type: 'watchFailed', failure: gone };
  const page: ListWatchInput = { type: 'listed', resourceVersion: '11', continue: 'c' };
  const again: ListWatchInput = { type: 'waited' };
  const end: ListWatchInput = { type: 'watchFailed', failure: { kind: 'other', error: 'reset' } };
  const list = (resourceVersion: string, limit: number): object => ({ type: 'list', resourceVersion, limit });
  const pause = { type: 'wait', delayMs: 800 };

  it.each<[string, boolean, ListWatchInput[], object[]]>([
    ['of an open watch: a pause', false, [watchFailed], [pause]],
    [
      'of an open watch: then a list at the last version, which may still be had',
      false,
      [watchFailed, again],
      [list('10', 0)],
    ],
    ['of a list: the most recent version at once', false, [end, again, listFailed], [list('', 0)]],
    ['of a list, twice: a pause', false, [end, again, listFailed, listFailed], [{ ...pause, delayMs: 1600 }]],
    ['of a later page: all at once, at the same version', false, [end, again, page, listFailed], [list('10', 0)]],
    ['of that list: the most recent version', false, [end, again, page, listFailed, listFailed], [list('', 0)]],
    [
      'of a stream: the most recent version at once',
      true,
      [end, again, watchFailed],
      [{ type: 'watch', resourceVersion: '' }],
    ],
    ['of that stream: a list', true, [end, again, watchFailed, watchFailed], [list('', 500)]],
  ])('%s', (_name, useWatchList, inputs, expected) => {
    const rig = new Rig({ useWatchList, idleTimeoutMs: 0 });
    rig.give({ type: 'start' });
    if (useWatchList) rig.give({ type: 'bookmark', resourceVersion: '10', initialEventsEnd: true });
    else rig.give({ type: 'listed', resourceVersion: '10' });
    rig.give({ type: 'opened' });
    const effects = inputs.map((input) => rig.give(input)).at(-1) ?? [];
    expect(effects.filter(({ type }) => type !== 'status')).toMatchObject(expected);
  });
});

describe('list/watch machine: internal errors of an open watch', () => {
  /** Causes errors a second apart and returns the ones that were followed by a new watch at once. */
  const retries = (internalErrorRetryMs: number, errors: number): number => {
    const rig = new Rig({ internalErrorRetryMs, idleTimeoutMs: 0 }).toWatch();
    let count = 0;
    for (let i = 0; i < errors; i++) {
      if (watchOf(rig.watchFails('internal')) === undefined) break;
      count++;
      rig.give({ type: 'opened' });
      rig.nowMs += 1000;
    }
    return count;
  };

  it.each([
    [0, 10, 0],
    [31, 40, 30_000],
    [40, 40, 60_000],
  ])('%i of %i, a second apart, are retried in a window of %i ms', (retried, errors, windowMs) => {
    expect(retries(windowMs, errors)).toBe(retried);
  });

  it.each(['other', 'refused', 'expired'] as const)('does not retry at once what is %s', (kind) => {
    const rig = new Rig({ internalErrorRetryMs: 60_000 }).toWatch();
    expect(waitOf(rig.watchFails(kind))).toBe(800);
  });

  it.each([
    { gapMs: 59_999, isRetried: false },
    { gapMs: 60_000, isRetried: true },
  ])('a gap of $gapMs ms begins a new window: $isRetried', ({ gapMs, isRetried }) => {
    const rig = new Rig({ internalErrorRetryMs: 10_000, idleTimeoutMs: 0 }).toWatch();
    rig.watchFails('internal');
    rig.give({ type: 'opened' });
    rig.nowMs += gapMs;
    expect(watchOf(rig.watchFails('internal')) !== undefined).toBe(isRetried);
  });

  it('begins a new window once the old one was exceeded', () => {
    const rig = new Rig({ internalErrorRetryMs: 10_000, idleTimeoutMs: 0 }).toWatch();
    rig.watchFails('internal');
    rig.give({ type: 'opened' });
    rig.nowMs = 10_001;
    expect(waitOf(rig.watchFails('internal'))).toBe(800);
    rig.give({ type: 'waited' });
    rig.give({ type: 'listed', resourceVersion: '20' });
    rig.give({ type: 'opened' });
    expect(watchOf(rig.watchFails('internal'))).toMatchObject({ resourceVersion: '20' });
  });

  it.each(['list', 'stream'])('begins a new window after a new state: a %s', (how) => {
    const rig = new Rig({ internalErrorRetryMs: 10_000, idleTimeoutMs: 0 }).toWatch();
    rig.watchFails('internal');
    rig.give({ type: 'opened' });
    rig.watchFails('other');
    if (how === 'stream') rig.state = { ...rig.state, memory: streaming(rig.state.memory) };
    rig.give({ type: 'waited' });
    if (how === 'stream') rig.give({ type: 'bookmark', resourceVersion: '20', initialEventsEnd: true });
    else rig.give({ type: 'listed', resourceVersion: '20' });
    rig.give({ type: 'opened' });
    rig.nowMs = 10_001;
    expect(watchOf(rig.watchFails('internal'))).toMatchObject({ resourceVersion: '20' });
  });
});

const streaming = (memory: ListWatchState['memory']): ListWatchState['memory'] => ({
  ...memory,
  options: { ...memory.options, useWatchList: true },
});
