import type { KubernetesObject, ListerWatcher, WatchEvent, WatchOptions } from '@kapstan/api';
import { expired, forbidden, internalError, notFound, timeout, unauthorized } from '@kapstan/api/errors';
import { FakeListerWatcher, LeakCheck, pod, settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { Observable, of, Subject, type Subscription } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { retryWatch } from './retry-watch.ts';

let clock: VirtualClock;
let source: FakeListerWatcher<TestPod>;
let subscription: Subscription | undefined;
let seen: string[];
let leaks: LeakCheck;

function follow(from: Pick<ListerWatcher<TestPod>, 'watch'>, resourceVersion: string): void {
  subscription = retryWatch(from, { resourceVersion, clock }).subscribe({
    next: ({ type, object }) => seen.push(`${type} ${object.metadata?.name}@${object.metadata?.resourceVersion}`),
    error: (error) => seen.push(`error ${error.code}: ${error.message}`),
    complete: () => seen.push('complete'),
  });
}

/** A source whose watches follow the script one after the other; the last one repeats. */
function scripted(...watches: (() => Observable<WatchEvent<TestPod>>)[]) {
  const asked: WatchOptions[] = [];
  const watch = (options: WatchOptions): Observable<WatchEvent<TestPod>> => {
    asked.push(options);
    return (watches[Math.min(asked.length, watches.length) - 1] as (typeof watches)[number])();
  };
  return { watch, asked };
}

const failing = (error: unknown) => () => new Observable<never>((subscriber) => subscriber.error(error));
const event = (version: string | undefined): WatchEvent<TestPod> => ({
  type: 'MODIFIED',
  object: pod({ name: 'a', ...(version === undefined ? {} : { resourceVersion: version }) }),
});

beforeEach(() => {
  clock = new VirtualClock();
  leaks = new LeakCheck({ clock });
  source = new FakeListerWatcher<TestPod>({ startVersion: 10 });
  seen = [];
});
afterEach(async () => {
  subscription?.unsubscribe();
  expect(source.openWatches).toBe(0);
  await leaks.assertNone();
});

describe('retryWatch', () => {
  it.each(['', '0'])('refuses the initial version "%s"', (resourceVersion) => {
    expect(() => retryWatch(source, { resourceVersion })).toThrow(
      new TypeError(`initial RV "${resourceVersion}" is not supported due to issues with underlying WATCH`),
    );
  });

  it('tells what happened after the version, then what happens, and asks for bookmarks and its selection', () => {
    source.add(pod({ name: 'a' }));
    source.add(pod({ name: 'b' }));
    follow(source, '11');
    source.modify(pod({ name: 'a' }));
    source.delete({ name: 'a' });
    expect(seen).toEqual(['ADDED b@12', 'MODIFIED a@13', 'DELETED a@14']);
    retryWatch(source, { resourceVersion: '14', namespace: 'x', labelSelector: 'a=b', clock })
      .subscribe()
      .unsubscribe();
    expect(source.asked('watch')[1]).toEqual({
      namespace: 'x',
      labelSelector: 'a=b',
      resourceVersion: '14',
      allowWatchBookmarks: true,
    });
  });

  it('goes on after its connections have ended: every change once, in order', async () => {
    follow(source, '10');
    for (const name of ['a', 'b', 'c', 'd']) {
      source.add(pod({ name }));
      source.resetWatches(name === 'c' ? new Error('ECONNRESET') : undefined);
      source.modify(pod({ name }));
      await clock.advance(1000);
    }
    expect(seen).toEqual(
      ['a', 'b', 'c', 'd'].flatMap((name, i) => [`ADDED ${name}@${11 + 2 * i}`, `MODIFIED ${name}@${12 + 2 * i}`]),
    );
    expect(source.asked('watch').map(({ resourceVersion }) => resourceVersion)).toEqual(['10', '11', '13', '15', '17']);
  });

  it('begins at most once a second, later where the server says so', async () => {
    const starts: number[] = [];
    const later = timeout('busy', 7);
    const errors = [undefined, internalError('x'), later];
    const watch = (): Observable<never> =>
      new Observable((subscriber) => {
        starts.push(clock.monotonicNow());
        const error = errors[starts.length - 1];
        if (error === undefined) subscriber.complete();
        else subscriber.error(error);
      });
    follow({ watch }, '10');
    await clock.advance(9500);
    expect(starts).toEqual([0, 1000, 2000, 9000]);
    subscription?.unsubscribe();
    await clock.advance(60_000);
    expect(starts).toHaveLength(4);
  });

  it('does not wait where the watch lasted longer than a second', async () => {
    follow(source, '10');
    await clock.advance(1500);
    source.resetWatches();
    await clock.advance(0);
    expect(source.asked('watch')).toHaveLength(2);
  });

  it('resumes from a bookmark, and keeps that to itself', async () => {
    follow(source, '10');
    source.bookmark();
    source.resetWatches();
    await clock.advance(1000);
    expect(source.asked('watch')[1]?.resourceVersion).toBe('11');
    expect(seen).toEqual([]);
  });

  it('does not tell again what a source repeats after a new start', async () => {
    const { watch } = scripted(
      () => of(event('11')),
      () => of(event('11'), event('12')),
    );
    follow({ watch }, '10');
    await clock.advance(1500);
    expect(seen).toEqual(['MODIFIED a@11', 'MODIFIED a@12']);
  });

  it.each([
    ['an internal error', internalError('x')],
    ['a timeout', timeout('x', 0)],
    ['an unknown status', notFound({ group: '', resource: 'pods' }, 'x')],
    ['what is no status', new Error('ECONNREFUSED')],
    ['what is no error', undefined],
  ])('tries again after %s', async (_name, error) => {
    const { watch, asked } = scripted(failing(error), failing(error), () => of(event('11')));
    follow({ watch }, '10');
    await clock.advance(2000);
    expect(asked).toHaveLength(3);
    expect(seen).toEqual(['MODIFIED a@11']);
  });

  it('tries again where the source throws, or gives no watch', async () => {
    const { watch, asked } = scripted(
      () => {
        throw new Error('x');
      },
      () => undefined as unknown as Observable<never>,
      () => of(event('11')),
    );
    follow({ watch }, '10');
    await clock.advance(2000);
    expect(asked).toHaveLength(3);
    expect(seen).toEqual(['MODIFIED a@11']);
  });

  it.each([
    ['the version is gone', expired('too old'), 'error 410: too old'],
    ['it may not watch', forbidden({ group: '', resource: 'pods' }, '', 'no'), 'error 403: pods is forbidden: no'],
    ['it is not known', unauthorized('who?'), 'error 401: who?'],
  ])('ends where %s, at the start and later', async (_name, error, told) => {
    const { watch, asked } = scripted(failing(error));
    follow({ watch }, '10');
    await clock.advance(60_000);
    expect([asked.length, seen]).toEqual([1, [told]]);
    seen.length = 0;
    follow(source, '10');
    source.add(pod({ name: 'a' }));
    source.resetWatches(error);
    await clock.advance(60_000);
    expect(seen).toEqual(['ADDED a@11', told]);
    expect(clock.pendingTimers).toBe(0);
  });

  it.each<[string, WatchEvent<KubernetesObject>, string]>([
    ['has no version', event(undefined), 'object has no resource version'],
    ['has an empty version', event(''), 'object has no resource version'],
    [
      'is of an unknown type',
      { type: 'RENAMED', object: pod({ name: 'a' }) } as never,
      'failed to recognize event type',
    ],
  ])('ends with an internal error where an event %s', async (_name, bad, text) => {
    const events = new Subject<WatchEvent<TestPod>>();
    follow({ watch: () => events }, '10');
    events.next(event('11'));
    events.next(bad as WatchEvent<TestPod>);
    events.next(event('13'));
    expect(seen).toEqual(['MODIFIED a@11', expect.stringContaining(`error 500: Internal error occurred: ${text}`)]);
    expect(events.observed).toBe(false);
  });

  it('ends with its subscriber, also in the middle of what it is told', async () => {
    for (const name of ['a', 'b']) source.add(pod({ name }));
    const names: string[] = [];
    const own = new Subject<void>();
    const watching = retryWatch(source, { resourceVersion: '10', clock }).subscribe(({ object }) => {
      names.push(object.metadata?.name ?? '');
      own.next();
    });
    own.subscribe(() => watching.unsubscribe());
    source.add(pod({ name: 'c' }));
    await settle();
    expect(names).toEqual(['a', 'b', 'c']);
    source.add(pod({ name: 'd' }));
    expect(names).toHaveLength(3);
    expect([source.openWatches, clock.pendingTimers]).toEqual([0, 0]);
  });
});
