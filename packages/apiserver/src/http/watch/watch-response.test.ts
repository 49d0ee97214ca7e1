import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Revision, UnstructuredObject } from '@kapstan/api';
import { Histogram } from '@kapstan/api/internal';
import { VirtualClock } from '@kapstan/api/testing';
import { type StorageEvent, Stored } from '@kapstan/storage';
import { beforeEach, describe, expect, it } from 'vitest';
import { testDefinition } from '../../testing/store-fixture.ts';
import { objectFrame } from '../answer/encodings.ts';
import type { ResponseStream } from '../exchange/response-stream.ts';
import { TurnFlusher } from '../exchange/turn-flusher.ts';
import { InitialSlices } from './initial-slices.ts';
import { WatchBudget } from './watch-budget.ts';
import { WatchFrames } from './watch-frames.ts';
import { WatchResponse } from './watch-response.ts';

type Line = { readonly type: string; readonly object: UnstructuredObject & { readonly message?: string } };

/** A socket that takes `roomBytes` each time it is drained. */
class FakeStream implements ResponseStream {
  readonly takesPieces: boolean = true;
  bufferedBytes = 0;
  end_: 'open' | 'ended' | 'aborted' = 'open';
  written = 0;
  writes = 0;
  readonly #roomBytes: number;
  readonly #texts: string[] = [];
  #wake: (() => void) | undefined;

  constructor(roomBytes: number) {
    this.#roomBytes = roomBytes;
  }

  get isClosed(): boolean {
    return this.end_ !== 'open';
  }
  get lines(): Line[] {
    const text = this.#texts.join('');
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]));
  }
  write(bytes: Uint8Array): boolean {
    this.#texts.push(Buffer.from(bytes).toString());
    this.bufferedBytes += bytes.length;
    this.written += bytes.length;
    return this.bufferedBytes < this.#roomBytes;
  }
  writeShared(frames: readonly Uint8Array[]): boolean {
    this.writes++;
    return this.write(Buffer.concat(frames));
  }
  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
  drain(): void {
    this.bufferedBytes = 0;
    this.#wake?.();
    this.#wake = undefined;
  }
  cork(): void {
    throw new Error('nothing is held back here');
  }
  uncork(): void {
    throw new Error('nothing is held back here');
  }
  end(): void {
    if (!this.isClosed) this.end_ = 'ended';
  }
  abort(): void {
    this.end_ = 'aborted';
  }
}

class Unencodable extends Stored<UnstructuredObject> {
  override encoded(): never {
    throw new Error('no bytes');
  }
}

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
const definition = testDefinition();
const form = {
  format: { name: 'json', mediaType: 'application/json' },
  isPretty: false,
  target: undefined,
} as never;
const objectOf = (name: string, size = 0): UnstructuredObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  ...(size === 0 ? {} : { data: { k: 'x'.repeat(size) } }),
});
const added = (name: string, size?: number): StorageEvent<UnstructuredObject> => ({
  type: 'ADDED',
  stored: new Stored(`/configmaps/${name}`, 1 as Revision, objectOf(name, size)),
});
const broken = (name: string): StorageEvent<UnstructuredObject> => ({
  type: 'MODIFIED',
  stored: new Unencodable(`/configmaps/${name}`, 1 as Revision, objectOf(name)),
});
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
/** Lets the socket take what was written, and the watch write what comes next, which it does in a later turn. */
async function drained(stream: FakeStream): Promise<void> {
  stream.drain();
  await nextTurn();
  await nextTurn();
}

const flusher = new TurnFlusher();
let clock: VirtualClock;
let budget: WatchBudget;
let initialSlices: InitialSlices;
let sizes = new Histogram([100, 1000]);
let initialEnds = 0;
let overflows = 0;
let ends = 0;
let endings = 0;
beforeEach(() => {
  clock = new VirtualClock();
  budget = new WatchBudget({ userBytes: 0, serverBytes: 0 });
  initialSlices = new InitialSlices(clock);
  sizes = new Histogram([100, 1000]);
  initialEnds = 0;
  overflows = 0;
  ends = 0;
  endings = 0;
});

function watchOf(maxBufferedBytes = 4 * mebibyte): WatchResponse {
  return new WatchResponse({
    of: { group: '', resource: 'configmaps' },
    frames: new WatchFrames({ definition, form, includeObject: 'None', clock }),
    initialSlices,
    allowBookmarks: true,
    maxBufferedBytes,
    budget,
    userName: 'alice',
    flusher,
    clock,
    sizes,
    onInitialEventsSent: () => initialEnds++,
    onOverflow: () => overflows++,
    onEnding: () => endings++,
    onEnd: () => ends++,
  });
}

function liveWatch(stream: FakeStream, maxBufferedBytes?: number): WatchResponse {
  const watch = watchOf(maxBufferedBytes);
  watch.open(stream);
  watch.endInitialEvents();
  return watch;
}

const shown = (stream: FakeStream) =>
  stream.lines.map(({ type, object }) => `${type} ${object.metadata?.name ?? object.message}`);
const why = 'ERROR Internal error occurred: no bytes';

describe('an event that cannot be encoded', () => {
  it('ends its own watch with an ERROR, after the events before it', async () => {
    const streams = [new FakeStream(mebibyte), new FakeStream(mebibyte)];
    const [bad, good] = streams.map((stream) => liveWatch(stream));
    bad?.onEvent(added('a'));
    bad?.onEvent(broken('b'));
    bad?.onEvent(added('c'));
    good?.onEvent(added('d'));
    await nextTurn();
    expect(streams.map(shown)).toEqual([['ADDED a', why], ['ADDED d']]);
    expect(streams.map(({ end_ }) => end_)).toEqual(['ended', 'open']);
    expect([ends, endings, overflows]).toEqual([1, 1, 0]);
  });

  it('does so among the initial events too, which are encoded while they are written', async () => {
    const streams = [new FakeStream(mebibyte), new FakeStream(mebibyte)];
    for (const stream of streams) {
      const watch = watchOf();
      watch.open(stream);
      watch.onEvent(added('a'));
      watch.onEvent(stream === streams[0] ? broken('b') : added('b'));
      watch.onEvent(added('c'));
    }
    await nextTurn();
    expect(streams.map(shown)).toEqual([
      ['ADDED a', why],
      ['ADDED a', 'ADDED b', 'ADDED c'],
    ]);
    expect(streams.map(({ end_ }) => end_)).toEqual(['ended', 'open']);
  });

  it('does so as the very first one', async () => {
    const stream = new FakeStream(mebibyte);
    const watch = watchOf();
    watch.onEvent(broken('a'));
    watch.open(stream);
    await nextTurn();
    expect([shown(stream), stream.end_]).toEqual([['ERROR Internal error occurred: no bytes'], 'ended']);
  });
});

describe('what a watch has sent', () => {
  const initialEnd: StorageEvent<UnstructuredObject> = {
    type: 'BOOKMARK',
    revision: 3 as Revision,
    initialEventsEnd: true,
  };

  it('goes out in one write a turn, and in pieces where that is much', async () => {
    const stream = new FakeStream(mebibyte);
    const watch = liveWatch(stream);
    await nextTurn();
    for (let n = 0; n < 20; n++) watch.onEvent(added(`${n}`, kibibyte));
    await nextTurn();
    expect([stream.writes, stream.lines.length]).toEqual([1, 20]);
    for (let n = 0; n < 40; n++) watch.onEvent(added(`${n}`, kibibyte));
    await nextTurn();
    expect(stream.writes).toBe(2);
    expect(stream.lines.length).toBeLessThan(60);
    await nextTurn();
    expect([stream.writes, stream.lines.length]).toEqual([3, 60]);
  });

  it('is counted by its bytes, event by event', async () => {
    const stream = new FakeStream(mebibyte);
    const watch = watchOf();
    watch.onEvent(added('a', 500));
    watch.onEvent(added('b', 10));
    watch.onEvent(initialEnd);
    expect(sizes.counts().count).toBe(0);
    watch.open(stream);
    watch.onEvent(added('c', 2000));
    await nextTurn();
    expect(sizes.counts()).toMatchObject({ count: 4, sum: stream.written });
    expect(sizes.counts().buckets).toEqual([
      [100, 0],
      [1000, 3],
    ]);
  });

  it.each([
    ['after the initial events', [added('a')], 0],
    ['at once when there are none', [], 1],
  ])('tells when its initial events are out: %s', async (_, events, before) => {
    const watch = watchOf();
    for (const event of [...events, initialEnd]) watch.onEvent(event);
    expect(initialEnds).toBe(before);
    watch.open(new FakeStream(mebibyte));
    await nextTurn();
    expect(initialEnds).toBe(1);
  });
});

describe('initial events for a slow reader', () => {
  it('are held back while much waits, and asked for again when the socket has taken it', async () => {
    const stream = new FakeStream(64 * kibibyte);
    const watch = watchOf();
    let asked = 0;
    for (let n = 0; n < 5 && !watch.isFull; n++) watch.onEvent(added(`${n}`, 300 * kibibyte));
    expect(watch.isFull).toBe(false);
    for (let n = 5; n < 1_000 && !watch.isFull; n++) watch.onEvent(added(`${n}`));
    expect(watch.isFull).toBe(true);
    watch.onRoom = () => asked++;
    watch.open(stream);
    for (let turns = 0; turns < 100; turns++) {
      await drained(stream);
    }
    expect([asked, watch.isFull, stream.lines.length]).toEqual([1, false, 500]);
  });
});

describe('initial events that several watches send', () => {
  class Counted extends Stored<UnstructuredObject> {
    encodings = 0;
    override encoded(...encoding: Parameters<Stored<UnstructuredObject>['encoded']>): Uint8Array {
      this.encodings++;
      return super.encoded(...encoding);
    }
  }
  const counted = (name: string) => new Counted(`/configmaps/${name}`, 1 as Revision, objectOf(name, kibibyte));

  async function sent(objects: readonly Counted[]): Promise<string[]> {
    const stream = new FakeStream(64 * kibibyte);
    const watch = watchOf();
    for (const stored of objects) watch.onEvent({ type: 'ADDED', stored });
    watch.open(stream);
    for (let turns = 0; turns < 100; turns++) {
      await drained(stream);
    }
    expect(sizes.counts().sum).toBe(stream.written);
    sizes = new Histogram([100, 1000]);
    watch.close();
    return shown(stream);
  }

  const all = (objects: readonly Counted[]) => objects.map(({ object }) => `ADDED ${object.metadata?.name}`);

  it('are encoded for the first of them, also where the lists differ in a part', async () => {
    const objects = Array.from({ length: 400 }, (_, n) => counted(`${n}`));
    expect(await sent(objects)).toEqual(all(objects));
    const first = objects.map(({ encodings }) => encodings);
    expect(await sent(objects)).toEqual(all(objects));
    // The first event of a watch may carry the columns of a Table.
    expect(objects.slice(1).map(({ encodings }) => encodings)).toEqual(first.slice(1));
    const changed = objects.with(200, counted('new'));
    expect(await sent(changed)).toEqual(all(changed));
    const again = objects.filter(({ encodings }, index) => encodings > (first[index] as number));
    expect(again.length).toBeLessThan(150);
  });

  it('are let go of after a few seconds, and before they are too many', async () => {
    await sent(Array.from({ length: 400 }, (_, n) => counted(`${n}`)));
    expect(initialSlices.bytes).toBeGreaterThan(300 * kibibyte);
    await clock.advance(10_000);
    expect([initialSlices.bytes, clock.pendingTimers]).toEqual([0, 0]);
    const form = { definition, name: 'json' };
    for (let n = 0; n < 20; n++) {
      initialSlices.keep(form, { objects: [counted(`${n}`)], lengths: [mebibyte], bytes: new Uint8Array(mebibyte) });
    }
    expect(initialSlices.bytes).toBe(8 * mebibyte);
    initialSlices.clear();
    expect([initialSlices.bytes, clock.pendingTimers]).toEqual([0, 0]);
  });
});

describe('a reader that is always a little behind', () => {
  it('holds nothing of what it has taken', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const stream = new FakeStream(kibibyte);
    const watch = liveWatch(stream);
    const seen: WeakRef<object>[] = [];
    const offer = (n: number): void => {
      const event = added(`${n}`, 40 * kibibyte);
      if (event.type !== 'BOOKMARK') seen.push(new WeakRef(objectFrame('ADDED', event.stored)));
      watch.onEvent(event);
    };
    for (let n = 0; n < 600; n++) {
      offer(n);
      if (n < 2) continue;
      await nextTurn();
      await drained(stream);
    }
    await nextTurn();
    collectGarbage();
    await nextTurn();
    collectGarbage();
    expect(seen.filter((frame) => frame.deref() !== undefined).length).toBeLessThan(10);
    watch.abort();
  });
});

describe('watches whose sockets have room again at once', () => {
  it('write in several turns', async () => {
    const streams = Array.from({ length: 200 }, () => new FakeStream(kibibyte));
    const watches = streams.map((stream) => liveWatch(stream));
    const writes = (): number => streams.reduce((sum, stream) => sum + stream.writes, 0);
    for (const watch of watches) for (const name of ['a', 'b']) watch.onEvent(added(name, 40 * kibibyte));
    for (let turns = 0; turns < 10; turns++) await nextTurn();
    expect(writes()).toBe(200);
    for (const stream of streams) stream.drain();
    await nextTurn();
    await nextTurn();
    expect(writes()).toBeLessThanOrEqual(200 + 64);
    for (let turns = 0; turns < 10; turns++) await nextTurn();
    expect(writes()).toBe(400);
    for (const watch of watches) watch.abort();
  });
});

describe('a long event', () => {
  it('is written in pieces that the socket takes one by one, and is one event for its reader', async () => {
    const stream = new FakeStream(kibibyte);
    const watch = liveWatch(stream);
    watch.onEvent(added('long', mebibyte));
    await nextTurn();
    expect(stream.written).toBe(64 * kibibyte);
    watch.onEvent(added('next'));
    watch.finish();
    for (let turns = 0; turns < 40; turns++) {
      await drained(stream);
    }
    expect(shown(stream)).toEqual(['ADDED long', 'ADDED next']);
    expect([stream.end_, sizes.counts().count]).toEqual(['ended', 2]);
  });

  it('is cut, not ended, when its watch is closed in the middle of it', async () => {
    const stream = new FakeStream(kibibyte);
    const watch = liveWatch(stream);
    watch.onEvent(added('long', mebibyte));
    await nextTurn();
    watch.close();
    expect([stream.end_, ends]).toEqual(['aborted', 1]);
  });
});

describe('the budget of all watches', () => {
  it('ends the greediest of a user, and no other, when their sockets are full', async () => {
    budget = new WatchBudget({ userBytes: 300 * kibibyte, serverBytes: 0 });
    const streams = [new FakeStream(kibibyte), new FakeStream(kibibyte), new FakeStream(mebibyte)];
    const [greedy, modest, quick] = streams.map((stream) => liveWatch(stream));
    for (let n = 0; n < 10; n++) {
      const event = added(`${n}`, 16 * kibibyte);
      greedy?.onEvent(event);
      quick?.onEvent(event);
      if (n < 3) modest?.onEvent(event);
      await nextTurn();
      streams[2]?.drain();
    }
    greedy?.onEvent(added('more', 300 * kibibyte));
    expect(streams.map(({ end_ }) => end_)).toEqual(['aborted', 'open', 'open']);
    expect([overflows, ends, endings]).toEqual([1, 1, 1]);
    expect(shown(streams[2] as FakeStream)).toHaveLength(10);
    // The rest belongs to the watch that still waits: two events and the bytes in its socket.
    expect(budget.bytes).toBeLessThan(3 * 17 * kibibyte);
    modest?.abort();
    quick?.abort();
    expect([budget.bytes, budget.users]).toEqual([0, 0]);
  });
});

describe('the budget while a long event is written in pieces', () => {
  it('counts all of it until its last piece is taken', async () => {
    const stream = new FakeStream(kibibyte);
    const watch = liveWatch(stream);
    watch.onEvent(added('long', mebibyte));
    await nextTurn();
    expect(budget.bytes).toBeGreaterThan(mebibyte);
    watch.onEvent(added('longer', 2 * mebibyte));
    for (let turns = 0; turns < 17; turns++) {
      await drained(stream);
    }
    // The first watch is through, the second is cut.
    expect(budget.bytes).toBeGreaterThan(2 * mebibyte);
    expect(budget.bytes).toBeLessThan(3 * mebibyte);
    for (let turns = 0; turns < 40; turns++) {
      await drained(stream);
    }
    expect(shown(stream)).toEqual(['ADDED long', 'ADDED longer']);
    expect(budget.bytes).toBe(0);
    watch.abort();
  });

  it('lets the greediest go although its event is cut, and nothing of it stays counted', async () => {
    budget = new WatchBudget({ userBytes: mebibyte, serverBytes: 0 });
    const streams = [new FakeStream(kibibyte), new FakeStream(kibibyte)];
    const watches = streams.map((stream) => liveWatch(stream));
    for (const [index, watch] of watches.entries()) {
      watch.onEvent(added(`${index}`, 768 * kibibyte));
      await nextTurn();
    }
    expect(streams.filter(({ end_ }) => end_ === 'aborted')).toHaveLength(1);
    for (const watch of watches) watch.abort();
    expect([budget.bytes, budget.users]).toEqual([0, 0]);
  });
});

describe('bursts that a healthy reader survives', () => {
  /** Makes room for one write per turn: the reader reads, but events come faster for a while. */
  async function drainAll(stream: FakeStream): Promise<void> {
    for (let turns = 0; turns < 1_000; turns++) {
      await drained(stream);
    }
  }

  it.each([
    ['events of 1 MB, six in each of four turns', 4, 6, mebibyte],
    ['30,000 small events in one turn', 1, 30_000, 100],
    ['many small events in many turns', 50, 500, 100],
    ['a replay of 40 MB in one turn', 1, 40, mebibyte],
  ])('%s', async (_, turns, perTurn, size) => {
    const stream = new FakeStream(64 * kibibyte);
    const watch = liveWatch(stream);
    for (let turn = 0; turn < turns; turn++) {
      for (let n = 0; n < perTurn; n++) watch.onEvent(added(`${turn}-${n}`, size));
      await nextTurn();
    }
    await drainAll(stream);
    expect(stream.lines).toHaveLength(turns * perTurn);
    expect([stream.end_, overflows]).toEqual(['open', 0]);
  });
});

describe('a reader that is too slow', () => {
  it('is cut off when its socket takes nothing while more than the bound comes', async () => {
    const stream = new FakeStream(kibibyte);
    const watch = liveWatch(stream, 64 * kibibyte);
    let sent = 0;
    while (ends === 0 && sent < 1000) {
      watch.onEvent(added(`${sent++}`, 8 * kibibyte));
      await nextTurn();
      await clock.advance(100);
    }
    expect([stream.end_, overflows, ends, endings]).toEqual(['aborted', 1, 1, 1]);
    expect(sent).toBeLessThanOrEqual(10);
    expect(stream.written).toBeLessThan(16 * kibibyte);
    watch.onEvent(added('late'));
    watch.abort();
    expect([overflows, ends]).toEqual([1, 1]);
  });

  it('gets what waits and a peaceful end when it reads but is several bounds behind', async () => {
    const stream = new FakeStream(kibibyte);
    const watch = liveWatch(stream, 64 * kibibyte);
    watch.onEvent(added('0', 8 * kibibyte));
    await nextTurn();
    for (let n = 1; n < 200; n++) watch.onEvent(added(`${n}`, 8 * kibibyte));
    expect([overflows, endings, ends]).toEqual([1, 1, 0]);
    for (let turns = 0; turns < 100; turns++) {
      await nextTurn();
      stream.drain();
    }
    const count = stream.lines.length;
    expect(count).toBeGreaterThanOrEqual(64);
    expect(count).toBeLessThan(70);
    expect(shown(stream)).toEqual(Array.from({ length: count }, (_, n) => `ADDED ${n}`));
    expect([stream.end_, ends]).toEqual(['ended', 1]);
  });
});
