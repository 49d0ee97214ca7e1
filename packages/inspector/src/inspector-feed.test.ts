import { settle, VirtualClock } from '@kapstan/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Inspection } from './inspection.ts';
import { InspectorFeed } from './inspector-feed.ts';

let clock: VirtualClock;
let looks: number;
let objects: number;
let inspection: Inspection;
let feed: InspectorFeed;
beforeEach(() => {
  clock = new VirtualClock();
  looks = 0;
  objects = 1;
  inspection = {
    subject: 'manager',
    name: 'test',
    documents: {},
    sections: () => {
      looks++;
      return {
        informers: { total: objects, items: [] },
        election: { lease: 'a/b', identity: 'me', leader: 'me', isLeader: true },
      };
    },
  };
  feed = new InspectorFeed({ inspection, clock });
});

/** Follows the feed; reads one event at a time. */
function follow(stop = new AbortController()) {
  const stream = feed.watch(stop.signal);
  const next = async (): Promise<string | undefined> => {
    const piece = await stream.next();
    return piece.done === true ? undefined : Buffer.from(piece.value).toString();
  };
  return { stop, next, end: () => stream.return() };
}

describe('the feed of the inspector', () => {
  it('begins with everything, then sends the sections that changed, once a second at most', async () => {
    const { next, stop } = follow();
    expect(await next()).toMatch(
      /^event: overview\ndata: \{"apiVersion":"inspector.kapstan.dev\/v1",.*"election".*\n\n$/,
    );
    let change: string | undefined;
    const waiting = next().then((text) => {
      change = text;
    });
    objects = 2;
    await clock.advance(999);
    expect(change).toBeUndefined();
    await clock.advance(1);
    await waiting;
    expect(change).toBe(
      `event: change\ndata: {"at":${clock.now()},"sections":{"informers":{"total":2,"items":[]}}}\n\n`,
    );
    stop.abort();
    expect(await next()).toBeUndefined();
  });

  it('takes one snapshot for all who watch and ask', async () => {
    const watchers = Array.from({ length: 5 }, () => follow());
    await Promise.all(watchers.map(({ next }) => next()));
    await feed.overview();
    expect(looks).toBe(1);
    const waiting = watchers.map(({ next }) => next());
    objects = 2;
    await clock.advance(1000);
    const pieces = await Promise.all(waiting);
    expect([looks, new Set(pieces).size]).toEqual([2, 1]);
    for (const { stop } of watchers) stop.abort();
  });

  it('shows watchers a change that somebody else who asked has seen first', async () => {
    const { next, stop } = follow();
    await next();
    const waiting = next();
    await clock.advance(500);
    objects = 2;
    await clock.advance(499);
    await feed.overview();
    await clock.advance(501);
    expect(await waiting).toContain('"total":2');
    stop.abort();
  });

  it('gives a reader that missed changes everything anew, and queues nothing for it', async () => {
    const slow = follow();
    const quick = follow();
    await Promise.all([slow.next(), quick.next()]);
    for (let change = 0; change < 3; change++) {
      const waiting = quick.next();
      objects++;
      await clock.advance(1000);
      expect(await waiting).toMatch(/^event: change/);
    }
    expect(await slow.next()).toMatch(/^event: overview\n.*"total":4/);
    for (const { stop } of [slow, quick]) stop.abort();
  });

  it('sends a sign of life after fifteen looks without a change', async () => {
    const { next, stop } = follow();
    await next();
    const waiting = next();
    let piece: string | undefined;
    void waiting.then((text) => {
      piece = text;
    });
    await clock.advance(15_000);
    expect(piece).toBeUndefined();
    await clock.advance(1000);
    expect(await waiting).toBe(':\n\n');
    stop.abort();
  });

  it('has neither timer nor look while nobody watches', async () => {
    const { next, stop } = follow();
    await next();
    const last = next();
    await settle();
    expect(clock.pendingTimers).toBe(1);
    stop.abort();
    await last;
    expect([clock.pendingTimers, feed.watchers]).toEqual([0, 0]);
    await clock.advance(60_000);
    expect(looks).toBe(1);
  });

  it('refuses the thirty-third watcher', async () => {
    const watchers = Array.from({ length: 32 }, () => follow());
    await Promise.all(watchers.map(({ next }) => next()));
    await expect(follow().next()).rejects.toMatchObject({ code: 429 });
    for (const { stop, end } of watchers) {
      stop.abort();
      await end();
    }
    expect(feed.watchers).toBe(0);
  });

  it('ends all streams when it is closed', async () => {
    const { next } = follow();
    await next();
    const last = next();
    await settle();
    feed.close();
    expect(await last).toBeUndefined();
    expect(clock.pendingTimers).toBe(0);
  });
});
