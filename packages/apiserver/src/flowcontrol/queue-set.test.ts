import { describe, expect, it } from 'vitest';
import { FlowRequest } from './fair-queue.ts';
import { FlowCounts } from './flow-counts.ts';
import type { Queuing } from './flow-schema.ts';
import { QueueSet, type QueueSetLimits } from './queue-set.ts';
import { seatSeconds } from './seat-seconds.ts';
import { dealHand, hashFlow } from './shuffle-sharding.ts';

const target = { type: 'path', verb: 'get', path: '/' } as const;
const query = new URLSearchParams();

interface Come {
  readonly flow: string;
  readonly seats?: number;
  readonly finalSeats?: number;
  readonly lingerMs?: number;
}

/** A set of queues with a clock that the test moves. */
class Scene {
  nowMs = 0;
  readonly set: QueueSet;
  readonly counts = new FlowCounts('s', 'l');
  #limits: QueueSetLimits;

  constructor(limits: QueueSetLimits) {
    this.#limits = limits;
    this.set = new QueueSet(limits, { nowMs: 0, onChange: () => undefined });
  }

  come({ flow, seats = 1, finalSeats = 0, lingerMs = 0 }: Come): FlowRequest {
    const request = new FlowRequest(this.counts, { target, user: { name: flow, groups: [] }, query }, this.nowMs);
    request.take({ initialSeats: seats, finalSeats, lingerMs });
    request.distinguisher = flow;
    this.set.start(request, this.#handOf(flow), this.nowMs);
    return request;
  }

  /** Ends the request after this time; it must be running. */
  finish(request: FlowRequest, afterMs = 0): void {
    this.nowMs += afterMs;
    expect(request.phase).toBe('executing');
    this.set.finish(request, this.nowMs);
  }

  configure(limits: QueueSetLimits): void {
    this.#limits = limits;
    this.set.configure(limits, this.nowMs);
  }

  #handOf(flow: string): readonly number[] {
    const { queuing } = this.#limits;
    return typeof queuing === 'string' ? [] : dealHand(queuing.queues, queuing.handSize, hashFlow('s', flow));
  }
}

const queuing = (change: Partial<Queuing> = {}): Queuing => ({
  queues: 8,
  handSize: 2,
  queueLengthLimit: 10,
  ...change,
});
/** Flows with separate queues: each hand is one card, and all cards differ. */
const apart = queuing({ queues: 64, handSize: 1, queueLengthLimit: 1000 });
const phases = (requests: readonly FlowRequest[]): string => requests.map(({ phase }) => phase[0]).join('');

describe('a level without queues', () => {
  it('refuses what finds no seat', () => {
    const scene = new Scene({ limit: 2, queuing: 'none' });
    const requests = [1, 2, 3].map(() => scene.come({ flow: 'a' }));
    expect(phases(requests)).toBe('eer');
    expect(scene.counts.refused['concurrency-limit']).toBe(1);
    scene.finish(requests[0] as FlowRequest);
    expect(scene.come({ flow: 'a' }).phase).toBe('executing');
  });

  it('lets one request run that is wider than everything, alone', () => {
    const scene = new Scene({ limit: 2, queuing: 'none' });
    const wide = scene.come({ flow: 'a', seats: 5 });
    expect([wide.phase, scene.come({ flow: 'b' }).phase]).toEqual(['executing', 'refused']);
    scene.finish(wide);
    scene.come({ flow: 'b' });
    expect(scene.come({ flow: 'a', seats: 5 }).phase).toBe('refused');
  });

  it('that has no seats at all runs one at a time even so', () => {
    const scene = new Scene({ limit: 0, queuing: 'none' });
    expect([scene.come({ flow: 'a' }).phase, scene.come({ flow: 'a' }).phase]).toEqual(['executing', 'refused']);
  });

  it('and without a limit runs everything and counts it', () => {
    const scene = new Scene({ limit: 0, queuing: 'unlimited' });
    const requests = Array.from({ length: 100 }, () => scene.come({ flow: 'a' }));
    expect(new Set(requests.map(({ phase }) => phase))).toEqual(new Set(['executing']));
    expect(scene.set.seatsInUse).toBe(100);
    for (const request of requests) scene.finish(request);
    expect([scene.set.seatsInUse, scene.set.isIdle, [...scene.set.queueless]]).toEqual([0, true, []]);
  });
});

describe('a level with queues', () => {
  it('runs what finds a seat, queues up to the length limit, and refuses the rest', () => {
    const scene = new Scene({ limit: 2, queuing: queuing({ handSize: 1, queueLengthLimit: 3 }) });
    const requests = Array.from({ length: 7 }, () => scene.come({ flow: 'a' }));
    expect(phases(requests)).toBe('eewwwrr');
    expect(scene.counts.refused['queue-full']).toBe(2);
    scene.finish(requests[1] as FlowRequest, 5);
    expect(requests.map(({ phase }) => phase)).toEqual([
      'executing',
      'ended',
      'executing',
      'waiting',
      'waiting',
      'refused',
      'refused',
    ]);
  });

  it('spreads a flow over its hand, to the queue with the least work', () => {
    const scene = new Scene({ limit: 1, queuing: queuing({ handSize: 2 }) });
    for (let i = 0; i < 9; i++) scene.come({ flow: 'a' });
    const lengths = [...scene.set.queues.values()].map(({ waiting }) => waiting.length);
    expect(lengths.sort()).toEqual([4, 4]);
  });

  it('takes turns between flows, however many requests one of them has', () => {
    const scene = new Scene({ limit: 1, queuing: apart });
    const first = scene.come({ flow: 'flood' });
    for (let i = 0; i < 50; i++) scene.come({ flow: 'flood' });
    const quiet = [scene.come({ flow: 'quiet' }), scene.come({ flow: 'quiet' })];
    scene.finish(first, 3);
    const order: string[] = [];
    for (let i = 0; i < 5; i++) {
      const running = runningIn(scene);
      order.push(running.distinguisher);
      scene.finish(running, 3);
    }
    // The idle queue starts level with the flood: neither ahead of it nor behind everything that waits in it.
    expect(order.slice(0, 4).filter((flow) => flow === 'quiet')).toHaveLength(2);
    expect(quiet.map(({ phase }) => phase)).toEqual(['ended', 'ended']);
  });

  it('gives flows of wide requests as many seat-seconds as flows of narrow ones', () => {
    const scene = new Scene({ limit: 4, queuing: apart });
    const served = { wide: 0, narrow: 0 };
    for (let i = 0; i < 200; i++) scene.come({ flow: 'wide', seats: 4 });
    for (let i = 0; i < 800; i++) scene.come({ flow: 'narrow' });
    for (let i = 0; i < 200; i++) {
      scene.nowMs += 3;
      for (const request of allRunning(scene)) {
        served[request.distinguisher as 'wide' | 'narrow'] += request.maxSeats;
        scene.set.finish(request, scene.nowMs);
      }
    }
    expect(served.wide / served.narrow).toBeGreaterThan(0.9);
    expect(served.wide / served.narrow).toBeLessThan(1.1);
  });

  it('charges a flow for the time that its requests really took', () => {
    const scene = new Scene({ limit: 1, queuing: apart });
    for (let i = 0; i < 100; i++) for (const flow of ['slow', 'fast']) scene.come({ flow });
    const time = { slow: 0, fast: 0 };
    for (let i = 0; i < 100; i++) {
      const request = runningIn(scene);
      const flow = request.distinguisher as 'slow' | 'fast';
      const ms = flow === 'slow' ? 30 : 3;
      time[flow] += ms;
      scene.finish(request, ms);
      if (time.fast >= 240) break;
    }
    // Both got the same time, so the slow flow had a tenth of the requests.
    expect(time.slow / time.fast).toBeGreaterThan(0.7);
    expect(time.slow / time.fast).toBeLessThan(1.4);
  });

  it('keeps the seats of a write that is still delivered to watches, and no longer', () => {
    const scene = new Scene({ limit: 3, queuing: queuing() });
    const write = scene.come({ flow: 'a', finalSeats: 3, lingerMs: 10 });
    const next = scene.come({ flow: 'b' });
    expect([write.maxSeats, next.phase]).toEqual([3, 'waiting']);
    scene.finish(write, 2);
    expect([write.phase, next.phase, scene.set.executing]).toEqual(['lingering', 'waiting', 0]);
    scene.set.release(write, scene.nowMs + 10);
    expect([write.phase, next.phase, scene.set.seatsInUse]).toEqual(['ended', 'executing', 1]);
  });

  it('holds fewer final seats for longer where the level has too few', () => {
    const scene = new Scene({ limit: 2, queuing: queuing() });
    const write = scene.come({ flow: 'a', finalSeats: 8, lingerMs: 5 });
    expect([write.phase, write.finalSeats, write.lingerMs, write.maxSeats]).toEqual(['executing', 2, 20, 2]);
    expect([scene.set.seatsInUse, scene.set.seatsWaiting]).toEqual([2, 0]);
  });

  it('does not let narrow requests overtake a wide one for ever', () => {
    const scene = new Scene({ limit: 2, queuing: apart });
    const [first, second] = [scene.come({ flow: 'a' }), scene.come({ flow: 'a' })];
    const wide = scene.come({ flow: 'w', seats: 2 });
    const narrow = Array.from({ length: 5 }, () => scene.come({ flow: 'a' }));
    let ran = 0;
    scene.finish(first, 3);
    while (wide.phase === 'waiting') {
      const running = allRunning(scene)[0] ?? second;
      ran++;
      scene.finish(running, 3);
    }
    expect(ran).toBeLessThan(narrow.length + 1);
  });

  it('forgets a request that gives up, and lets the next one go', () => {
    const scene = new Scene({ limit: 3, queuing: apart });
    const [first] = [scene.come({ flow: 'a' }), scene.come({ flow: 'a' })];
    const wide = scene.come({ flow: 'w', seats: 2 });
    const next = scene.come({ flow: 'a' });
    expect(phases([first, wide, next])).toBe('eww');
    scene.set.cancel(wide, 4);
    scene.set.cancel(wide, 4);
    expect(phases([first, wide, next])).toBe('ere');
    expect([scene.set.waiting, scene.set.seatsWaiting, scene.counts.refused['time-out']]).toEqual([0, 0, 1]);
    scene.set.cancel(first, 5);
    expect(first.phase).toBe('executing');
  });

  it('lets in who waits when the limit rises, and keeps who waits when the queues go', () => {
    const scene = new Scene({ limit: 1, queuing: queuing() });
    const requests = [1, 2, 3, 4].map(() => scene.come({ flow: 'a' }));
    scene.configure({ limit: 2, queuing: queuing({ queues: 2, handSize: 1 }) });
    expect(phases(requests)).toBe('eeww');
    scene.configure({ limit: 2, queuing: 'none' });
    expect(scene.come({ flow: 'a' }).phase).toBe('refused');
    for (const request of requests) scene.finish(request, 1);
    expect([scene.set.isIdle, phases(requests)]).toEqual([true, 'eeee']);
  });

  it('of ten million queues keeps only those in use', () => {
    const scene = new Scene({ limit: 1, queuing: queuing({ queues: 10_000_000, handSize: 2 }) });
    for (let i = 0; i < 5000; i++) scene.finish(scene.come({ flow: `user-${i}` }), 1);
    expect(scene.set.queues.size).toBeLessThanOrEqual(1026);
  });

  it('sets its meter back before sums lose digits, and stays fair', () => {
    const scene = new Scene({ limit: 600, queuing: apart });
    const long = scene.come({ flow: 'a', seats: 500 });
    // Over some days at full load the meter passes its limit several times.
    for (let hour = 0; hour < 200; hour++) {
      scene.nowMs += 3_600_000;
      scene.finish(scene.come({ flow: `b${hour % 7}` }), 1);
      for (const { nextDispatch } of scene.set.queues.values()) expect(Number.isSafeInteger(nextDispatch)).toBe(true);
    }
    expect(Math.abs(scene.set.meter)).toBeLessThan(2 ** 53);
    expect(scene.set.totals.epochs).toBeGreaterThan(0);
    scene.finish(long, 1);
    expect(scene.set.isIdle).toBe(true);
  });

  it('measures how far queues could have come, not how far they came', () => {
    const scene = new Scene({ limit: 10, queuing: apart });
    scene.come({ flow: 'a', seats: 2 });
    scene.nowMs = 100;
    scene.come({ flow: 'b' });
    // One queue that uses 2 seats for 100 ms.
    expect(scene.set.meter).toBe(seatSeconds(2, 100));
    scene.nowMs = 200;
    scene.come({ flow: 'c' });
    // Two queues share the use of 3 seats.
    expect(scene.set.meter).toBe(seatSeconds(2, 100) + seatSeconds(1.5, 100));
  });
});

function allRunning({ set }: Scene): readonly FlowRequest[] {
  return [...set.queues.values()].flatMap(({ executing }) => [...executing]);
}

function runningIn(scene: Scene): FlowRequest {
  const [running] = allRunning(scene);
  if (running === undefined) throw new Error('nothing runs');
  return running;
}
