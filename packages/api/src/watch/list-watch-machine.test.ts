import { describe, expect, it } from 'vitest';
import {
  badRequest,
  expired,
  forbidden,
  internalError,
  notFound,
  serviceUnavailable,
  tooLargeResourceVersion,
  tooManyRequests,
  unauthorized,
} from '../errors/status-error.ts';
import type { Moment } from '../time/backoff.ts';
import { isConnectionRefused, type ListWatchFailureKind, listWatchFailureOf } from './list-watch-failure.ts';
import { createListWatchState, stepListWatch } from './list-watch-machine.ts';
import { defaultListWatchOptions, type ListWatchOptions, resolveListWatchOptions } from './list-watch-options.ts';
import type { ListWatchEffect, ListWatchInput, ListWatchState } from './list-watch-state.ts';

const pods = { group: '', resource: 'pods' };

/** A machine with a manual clock; `random` is 0, so waits and timeouts are the shortest. */
class Rig {
  state: ListWatchState;
  nowMs = 0;
  random = 0;

  constructor(options: ListWatchOptions = { useWatchList: false }) {
    this.state = createListWatchState(options, 0);
  }

  give(input: ListWatchInput): readonly ListWatchEffect[] {
    const moment: Moment = { nowMs: this.nowMs, random: this.random };
    const step = stepListWatch(this.state, input, moment);
    this.state = step.state;
    return step.effects;
  }

  start = () => this.give({ type: 'start' });
  listed = (resourceVersion: string, next?: string) => this.give({ type: 'listed', resourceVersion, continue: next });
  listFails = (kind: ListWatchFailureKind) => this.give({ type: 'listFailed', failure: { kind, error: kind } });
  watchFails = (kind: ListWatchFailureKind) => this.give({ type: 'watchFailed', failure: { kind, error: kind } });
  event = (resourceVersion: string, isAdded = false) => this.give({ type: 'event', resourceVersion, isAdded });
  bookmark = (resourceVersion: string, initialEventsEnd = false) =>
    this.give({ type: 'bookmark', resourceVersion, initialEventsEnd });
  waited = () => this.give({ type: 'waited' });
  opened = () => this.give({ type: 'opened' });
  ended = () => this.give({ type: 'ended' });
  watchdog = () => this.give({ type: 'watchdog' });
}

const list = (resourceVersion: string, limit: number, next?: string): ListWatchEffect => ({
  type: 'list',
  resourceVersion,
  limit,
  ...(next === undefined ? {} : { continue: next }),
});
const watch = (resourceVersion: string): ListWatchEffect => ({
  type: 'watch',
  resourceVersion,
  timeoutMs: 300_000,
  sendInitialEvents: false,
});
const stream = (resourceVersion: string): ListWatchEffect =>
  ({ ...watch(resourceVersion), sendInitialEvents: true }) as ListWatchEffect;
const watchdog = (delayMs = 90_000): ListWatchEffect => ({ type: 'watchdog', delayMs });
const status = (phase: string, error?: unknown): ListWatchEffect =>
  ({ type: 'status', phase, ...(error === undefined ? {} : { error }) }) as ListWatchEffect;
const wait = (delayMs: number): ListWatchEffect => ({ type: 'wait', delayMs });
const replace = (resourceVersion: string): ListWatchEffect => ({ type: 'replace', resourceVersion });

function watching(options: ListWatchOptions = { useWatchList: false }): Rig {
  const rig = new Rig({ useWatchList: false, ...options });
  rig.start();
  rig.listed('10');
  rig.opened();
  return rig;
}

describe('list/watch machine: lists', () => {
  it('lists any version first, in pages of 500, then watches from the version of the list', () => {
    const rig = new Rig();
    expect(rig.start()).toEqual([list('0', 500)]);
    expect(rig.listed('10')).toEqual([replace('10'), status('live'), watch('10'), watchdog()]);
  });

  it('takes the version of the first page and sends no version beside a continue token', () => {
    const rig = new Rig();
    rig.start();
    expect(rig.listed('10', 'c1')).toEqual([list('', 500, 'c1')]);
    expect(rig.listed('11', 'c2')).toEqual([list('', 500, 'c2')]);
    expect(rig.listed('12')).toEqual([replace('10'), status('live'), watch('10'), watchdog()]);
  });

  it('treats an empty continue token as the last page', () => {
    const rig = new Rig();
    rig.start();
    expect(rig.listed('10', '')[0]).toEqual(replace('10'));
  });

  it('relists at the last version without a limit, so that a cache may answer', () => {
    const rig = watching();
    rig.event('15');
    rig.watchFails('other');
    expect(rig.waited()).toEqual([list('15', 0)]);
  });

  it('pages always once a list at "0" came in pages', () => {
    const rig = new Rig();
    rig.start();
    rig.listed('10', 'c');
    rig.listed('10');
    rig.watchFails('other');
    expect(rig.waited()).toEqual([list('10', 500)]);
  });

  it('keeps to the page size that it was given', () => {
    const rig = watching({ pageSize: 4 });
    rig.watchFails('other');
    expect(rig.waited()).toEqual([list('10', 4)]);
  });

  it('asks for everything at once when a later page expired', () => {
    const rig = watching({ pageSize: 4 });
    rig.watchFails('other');
    rig.waited();
    rig.listed('10', 'c');
    expect(rig.listFails('expired')).toEqual([list('10', 0)]);
    expect(rig.listFails('expired')).toEqual([list('', 4)]);
    expect(rig.listed('30')[0]).toEqual(replace('30'));
  });

  it.each(['expired', 'tooLargeVersion'] as const)(
    'relists at once from the most recent version when the list fails with %s',
    (kind) => {
      const rig = watching();
      rig.event('20');
      rig.watchFails('other');
      expect(rig.waited()).toEqual([list('20', 0)]);
      expect(rig.listFails(kind)).toEqual([list('', 0)]);
      expect(rig.listed('30')[0]).toEqual(replace('30'));
      rig.watchFails('other');
      expect(rig.waited()).toEqual([list('30', 0)]);
    },
  );

  it('gives up the round when the second attempt fails too, and lists from the most recent version in the next', () => {
    const rig = watching();
    rig.watchFails('other');
    rig.waited();
    rig.listFails('expired');
    expect(rig.listFails('expired')).toEqual([status('retrying', 'expired'), wait(3200 / 2)]);
    expect(rig.waited()).toEqual([list('', 500)]);
  });

  it.each([
    ['unreachable', 'retrying'],
    ['overloaded', 'retrying'],
    ['internal', 'retrying'],
    ['other', 'retrying'],
    ['refused', 'failed'],
  ] as const)('waits and lists again when the list fails with %s: %s', (kind, phase) => {
    const rig = new Rig();
    rig.start();
    expect(rig.listFails(kind)).toEqual([status(phase, kind), wait(800)]);
    expect(rig.waited()).toEqual([list('0', 500)]);
    expect(rig.listed('10')[1]).toEqual(status('live'));
  });
});

describe('list/watch machine: the watch', () => {
  it('goes on at once from the last version when the source ends the watch', () => {
    const rig = watching();
    rig.event('11', true);
    rig.event('12');
    rig.bookmark('40');
    rig.nowMs = 300_000;
    expect(rig.ended()).toEqual([watch('40'), watchdog()]);
  });

  it('lists again after a very short watch: under a second and no event', () => {
    const rig = watching();
    rig.nowMs = 999;
    const [failure, pause] = rig.ended();
    expect(failure).toMatchObject({
      phase: 'retrying',
      error: {
        message: 'very short watch: Unexpected watch close - watch lasted less than a second and no items received',
      },
    });
    expect(pause).toEqual(wait(800));
    expect(rig.waited()).toEqual([list('10', 0)]);
  });

  it('does not call a watch very short that lasted a second or had an event', () => {
    const rig = watching();
    rig.event('11');
    expect(rig.ended()[0]).toEqual(watch('11'));
    rig.nowMs += 1000;
    expect(rig.ended()[0]).toEqual(watch('11'));
  });

  it('goes on at once from the last version when the connection of an open watch breaks', () => {
    const rig = watching();
    rig.opened();
    rig.event('11');
    expect(rig.watchFails('broken')).toEqual([status('stale', 'broken'), watch('11'), watchdog()]);
    expect(rig.opened()).toEqual([status('live')]);
    rig.nowMs += 1000;
    expect(rig.watchFails('broken')).toEqual([status('stale', 'broken'), watch('11'), watchdog()]);
  });

  it('waits, then lists when the connection breaks under a second after it was asked for, without an event', () => {
    const rig = watching();
    rig.opened();
    rig.nowMs = 999;
    expect(rig.watchFails('broken')).toEqual([status('retrying', 'broken'), wait(800)]);
    expect(rig.waited()).toEqual([list('10', 0)]);
  });

  it('waits and watches again without a list when the connection breaks before the watch is open', () => {
    const rig = watching();
    rig.event('11');
    rig.ended();
    expect(rig.watchFails('broken')).toEqual([status('retrying', 'broken'), wait(800)]);
    expect(rig.waited()).toEqual([watch('11'), watchdog()]);
  });

  it.each(['unreachable', 'overloaded'] as const)(
    'waits and watches again without a list when the watch is %s',
    (kind) => {
      const rig = watching();
      rig.event('11');
      expect(rig.watchFails(kind)).toEqual([status('retrying', kind), wait(800)]);
      expect(rig.waited()).toEqual([watch('11'), watchdog()]);
      expect(rig.watchFails(kind)).toEqual([status('retrying', kind), wait(1600)]);
      rig.waited();
      expect(rig.opened()).toEqual([status('live')]);
    },
  );

  it('is live again with the first event where nobody says that the watch is open', () => {
    const rig = watching();
    rig.watchFails('unreachable');
    rig.waited();
    expect(rig.bookmark('12')).toEqual([status('live')]);
    expect(rig.event('13')).toEqual([]);
  });

  it('waits, then lists at the last version when the watch expired', () => {
    const rig = watching();
    rig.event('11');
    expect(rig.watchFails('expired')).toEqual([status('stale', 'expired'), wait(800)]);
    expect(rig.waited()).toEqual([list('11', 0)]);
  });

  it.each([
    ['other', 'retrying'],
    ['tooLargeVersion', 'retrying'],
    ['internal', 'retrying'],
    ['refused', 'failed'],
  ] as const)('waits, then lists when the watch fails with %s: %s', (kind, phase) => {
    const rig = watching();
    expect(rig.watchFails(kind)).toEqual([status(phase, kind), wait(800)]);
    expect(rig.waited()).toEqual([list('10', 0)]);
  });

  it('asks for a random time between five and ten minutes in whole seconds', () => {
    const rig = watching();
    rig.random = 0.123_456;
    rig.nowMs = 2000;
    expect(rig.ended()[0]).toMatchObject({ timeoutMs: 337_000 });
    const long = new Rig({ useWatchList: false, minWatchTimeoutMs: 1_800_000 });
    long.random = 0.5;
    long.start();
    expect(long.listed('1')[2]).toMatchObject({ timeoutMs: 2_700_000 });
    expect(resolveListWatchOptions({ minWatchTimeoutMs: 10 }).minWatchTimeoutMs).toBe(300_000);
  });

  it('trusts no version of synthetic initial events until another event than an added one came', () => {
    const rig = new Rig();
    rig.start();
    rig.listed('');
    rig.event('7', true);
    rig.event('5', true);
    expect(rig.state.resourceVersion).toBe('');
    rig.event('9');
    rig.event('10', true);
    expect(rig.state.resourceVersion).toBe('10');
  });

  it('keeps the last version when an object carries none', () => {
    const rig = watching();
    rig.event('');
    expect(rig.state.resourceVersion).toBe('10');
  });

  it('retries an internal error of an open watch at once inside the window, and lists beyond it', () => {
    const rig = watching({ internalErrorRetryMs: 10_000 });
    rig.event('11');
    expect(rig.watchFails('internal')).toEqual([watch('11'), watchdog()]);
    rig.opened();
    rig.nowMs = 10_000;
    expect(rig.watchFails('internal')[0]).toEqual(watch('11'));
    rig.opened();
    rig.nowMs = 10_001;
    expect(rig.watchFails('internal')).toEqual([status('retrying', 'internal'), wait(800)]);
  });

  it('starts the window of internal errors anew after a minute without one', () => {
    const rig = watching({ internalErrorRetryMs: 10_000 });
    rig.watchFails('internal');
    rig.opened();
    rig.nowMs = 60_000;
    expect(rig.watchFails('internal')[0]).toEqual(watch('10'));
  });

  it('does not retry an internal error at once where the watch never opened', () => {
    const rig = new Rig({ useWatchList: false, internalErrorRetryMs: 10_000 });
    rig.start();
    rig.listed('10');
    expect(rig.watchFails('internal')[0]).toEqual(status('retrying', 'internal'));
  });
});

describe('list/watch machine: the watchdog', () => {
  it('reopens a silent watch from the last version, without a list', () => {
    const rig = watching();
    rig.nowMs = 30_000;
    rig.event('11');
    rig.nowMs = 90_000;
    expect(rig.watchdog()).toEqual([watchdog(30_000)]);
    rig.nowMs = 120_000;
    expect(rig.watchdog()).toEqual([{ type: 'closeWatch' }, status('stale'), watch('11'), watchdog()]);
    expect(rig.opened()).toEqual([status('live')]);
  });

  it('counts bookmarks as life', () => {
    const rig = watching();
    rig.nowMs = 89_999;
    rig.bookmark('11');
    rig.nowMs = 90_000;
    expect(rig.watchdog()).toEqual([watchdog(89_999)]);
  });

  it('begins the initial stream anew when it falls silent', () => {
    const rig = new Rig({});
    rig.start();
    rig.event('3', true);
    rig.nowMs = 90_000;
    expect(rig.watchdog()).toEqual([{ type: 'closeWatch' }, stream(''), watchdog()]);
  });

  it('is off at 0', () => {
    const rig = new Rig({ useWatchList: false, idleTimeoutMs: 0 });
    rig.start();
    expect(rig.listed('10')).toEqual([replace('10'), status('live'), watch('10')]);
  });
});

describe('list/watch machine: the initial state as a stream', () => {
  it('streams from the most recent version and watches on over the same stream after the end marker', () => {
    const rig = new Rig({});
    expect(rig.start()).toEqual([stream(''), watchdog()]);
    expect(rig.event('7', true)).toEqual([]);
    expect(rig.bookmark('8')).toEqual([]);
    expect(rig.state).toMatchObject({ phase: 'streaming', resourceVersion: '' });
    expect(rig.bookmark('9', true)).toEqual([replace('9'), status('live')]);
    expect(rig.state).toMatchObject({ phase: 'watching', resourceVersion: '9' });
    rig.event('12', true);
    expect(rig.ended()).toEqual([watch('12'), watchdog()]);
  });

  it('streams a later round from the last version', () => {
    const rig = new Rig({});
    rig.start();
    rig.bookmark('9', true);
    rig.watchFails('expired');
    expect(rig.waited()).toEqual([stream('9'), watchdog()]);
  });

  it('streams the state anew, from the last version, when the watch behind the marker expires', () => {
    const rig = new Rig({});
    rig.start();
    rig.bookmark('9', true);
    rig.event('12');
    expect(rig.watchFails('expired')).toEqual([status('stale', 'expired'), wait(800)]);
    expect(rig.waited()).toEqual([stream('12'), watchdog()]);
    expect(rig.bookmark('20', true)).toEqual([replace('20'), status('live')]);
  });

  it.each(['unreachable', 'overloaded'] as const)('waits and streams again when the source is %s', (kind) => {
    const rig = new Rig({});
    rig.start();
    expect(rig.watchFails(kind)).toEqual([status('retrying', kind), wait(800)]);
    expect(rig.waited()).toEqual([stream(''), watchdog()]);
  });

  it.each(['expired', 'tooLargeVersion'] as const)(
    'streams at once from the most recent version when the last one is %s',
    (kind) => {
      const rig = new Rig({});
      rig.start();
      rig.bookmark('9', true);
      rig.watchFails('other');
      rig.waited();
      expect(rig.watchFails(kind)).toEqual([stream(''), watchdog()]);
      expect(rig.watchFails(kind)).toEqual([list('', 500)]);
    },
  );

  it.each(['other', 'internal', 'refused'] as const)(
    'falls back to a list, for this round only, when the stream fails with %s',
    (kind) => {
      const rig = new Rig({});
      rig.start();
      expect(rig.watchFails(kind)).toEqual([list('0', 500)]);
      rig.listed('10');
      rig.watchFails('other');
      expect(rig.waited()).toEqual([stream('10'), watchdog()]);
    },
  );

  it('streams again when its connection breaks on the way', () => {
    const rig = new Rig({});
    rig.start();
    rig.opened();
    rig.event('3', true);
    expect(rig.watchFails('broken')).toEqual([stream(''), watchdog()]);
  });

  it('falls back to a list when the stream was very short', () => {
    const rig = new Rig({});
    rig.start();
    expect(rig.ended()).toEqual([list('0', 500)]);
  });

  it('begins anew when the stream ended before its marker', () => {
    const rig = new Rig({});
    rig.start();
    rig.event('3', true);
    expect(rig.ended()).toEqual([stream(''), watchdog()]);
  });
});

describe('list/watch machine: backoff and end', () => {
  it('doubles from 800 ms to 30 s with jitter and starts anew two minutes after its start', () => {
    const rig = new Rig();
    rig.start();
    const delays: number[] = [];
    for (let i = 0; i < 8; i++) {
      const pause = rig.listFails('other').find((effect) => effect.type === 'wait');
      delays.push(pause?.type === 'wait' ? pause.delayMs : -1);
      rig.waited();
    }
    expect(delays).toEqual([800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
    rig.nowMs = 120_001;
    rig.random = 0.5;
    expect(rig.listFails('other')[1]).toEqual(wait(1200));
  });

  it('closes from every phase, once, and ignores what arrives later', () => {
    const phases: Rig[] = [new Rig(), new Rig(), new Rig({}), watching(), watching()];
    phases[1]?.start();
    phases[2]?.start();
    phases[4]?.watchFails('other');
    expect(phases.map((rig) => rig.state.phase)).toEqual(['idle', 'listing', 'streaming', 'watching', 'waiting']);
    for (const rig of phases) {
      expect(rig.give({ type: 'close' })).toEqual([{ type: 'stop' }]);
      expect(rig.give({ type: 'close' })).toEqual([]);
      expect([rig.start(), rig.listed('1'), rig.event('1'), rig.waited(), rig.watchdog()]).toEqual([
        [],
        [],
        [],
        [],
        [],
      ]);
    }
  });

  it('ignores answers that crossed a change of phase', () => {
    const rig = watching();
    const before = rig.state;
    expect([rig.listed('99'), rig.listFails('other'), rig.waited(), rig.start()]).toEqual([[], [], [], []]);
    expect(rig.state).toBe(before);
  });

  it('refuses options that make no sense', () => {
    expect(() => createListWatchState({ pageSize: -1 }, 0)).toThrow(TypeError);
    expect(() => createListWatchState({ idleTimeoutMs: Number.NaN }, 0)).toThrow(TypeError);
    expect(() => createListWatchState({ backoff: { ...defaultListWatchOptions.backoff, initialMs: 0 } }, 0)).toThrow(
      TypeError,
    );
  });
});

describe('listWatchFailureOf', () => {
  it.each([
    [expired('too old resource version: 1 (2)'), 'expired'],
    [tooLargeResourceVersion(9, 3, 1), 'tooLargeVersion'],
    [tooManyRequests('slow down', 1), 'overloaded'],
    [internalError('x'), 'internal'],
    [unauthorized(), 'refused'],
    [forbidden(pods, '', 'no'), 'refused'],
    [notFound(pods, 'x'), 'refused'],
    [badRequest('x'), 'refused'],
    [serviceUnavailable('x'), 'other'],
    [Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }), 'unreachable'],
    [new Error('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }) }), 'unreachable'],
    [new AggregateError([Object.assign(new Error('x'), { code: 'ECONNREFUSED' })]), 'unreachable'],
    [Object.assign(new Error('reset'), { code: 'ECONNRESET' }), 'broken'],
    [new Error('terminated', { cause: Object.assign(new Error('x'), { code: 'ETIMEDOUT' }) }), 'broken'],
    [Object.assign(new Error('no such host'), { code: 'ENOTFOUND' }), 'other'],
    ['text', 'other'],
  ])('sorts %s as %s', (error, kind) => {
    expect(listWatchFailureOf(error)).toMatchObject({ kind, error });
  });

  it('survives an error that is its own cause', () => {
    const error: { cause?: unknown } = {};
    error.cause = error;
    expect(isConnectionRefused(error)).toBe(false);
  });
});
