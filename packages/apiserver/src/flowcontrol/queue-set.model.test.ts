// Tests QueueSet with random programs: no request is lost, no limit is exceeded, and no flow falls behind its share.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FlowRequest } from './fair-queue.ts';
import { FlowCounts } from './flow-counts.ts';
import { QueueSet, type QueueSetLimits } from './queue-set.ts';
import { dealHand, hashFlow } from './shuffle-sharding.ts';

const target = { type: 'path', verb: 'get', path: '/' } as const;
const query = new URLSearchParams();

type Step =
  | { readonly type: 'come'; readonly flow: number; readonly seats: number; readonly finalSeats: number }
  | { readonly type: 'finish' | 'cancel' | 'release'; readonly pick: number }
  | { readonly type: 'pass'; readonly ms: number }
  | { readonly type: 'limit'; readonly limit: number; readonly queues: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('come' as const),
      flow: fc.nat(5),
      seats: fc.integer({ min: 1, max: 4 }),
      finalSeats: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 12 })),
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('finish' as const), pick: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('release' as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('cancel' as const), pick: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('pass' as const), ms: fc.nat(50) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('limit' as const),
      limit: fc.integer({ min: 1, max: 12 }),
      queues: fc.integer({ min: 0, max: 9 }),
    }),
  },
);

/** The queue set under test and all requests that it got. */
class Program {
  readonly counts = new FlowCounts('s', 'l');
  readonly all: FlowRequest[] = [];
  readonly set: QueueSet;
  limits: QueueSetLimits = { limit: 4, queuing: { queues: 6, handSize: 2, queueLengthLimit: 3 } };
  nowMs = 0;

  constructor() {
    this.set = new QueueSet(this.limits, { nowMs: 0, onChange: () => undefined });
  }

  run(taken: Step): void {
    if (taken.type === 'pass') this.nowMs += taken.ms;
    else if (taken.type === 'come') this.#come(taken);
    else if (taken.type === 'limit') this.#configure(taken);
    else this.#act(taken);
  }

  /** Requests in a phase. */
  in(phase: FlowRequest['phase']): readonly FlowRequest[] {
    return this.all.filter((request) => request.phase === phase);
  }

  #come({ flow, seats, finalSeats }: Extract<Step, { type: 'come' }>): void {
    const request = new FlowRequest(this.counts, { target, user: { name: `${flow}`, groups: [] }, query }, this.nowMs);
    request.take({ initialSeats: seats, finalSeats, lingerMs: finalSeats > 0 ? 5 : 0 });
    const { queuing } = this.limits;
    const hand =
      typeof queuing === 'string' ? [] : dealHand(queuing.queues, queuing.handSize, hashFlow('s', `${flow}`));
    this.set.start(request, hand, this.nowMs);
    this.all.push(request);
  }

  #configure({ limit, queues }: Extract<Step, { type: 'limit' }>): void {
    const queuing = queues === 0 ? 'none' : { queues, handSize: Math.min(2, queues), queueLengthLimit: 3 };
    this.limits = { limit, queuing };
    this.set.configure(this.limits, this.nowMs);
  }

  #act({ type, pick }: Extract<Step, { pick: number }>): void {
    const from = { finish: 'executing', release: 'lingering', cancel: 'waiting' } as const;
    const candidates = this.in(from[type]);
    const request = candidates[pick % candidates.length];
    if (request !== undefined) this.set[type](request, this.nowMs);
  }
}

function check(program: Program): void {
  const { set, counts, limits } = program;
  const [executing, lingering, waiting] = [program.in('executing'), program.in('lingering'), program.in('waiting')];
  const seats = [...executing, ...lingering].reduce((sum, { maxSeats }) => sum + maxSeats, 0);
  // No request is lost: each is in one phase, and every total equals the sum over the requests.
  expect(set.executing).toBe(executing.length);
  expect(set.waiting).toBe(waiting.length);
  expect(set.seatsInUse).toBe(seats);
  expect(set.seatsWaiting).toBe(waiting.reduce((sum, { maxSeats }) => sum + maxSeats, 0));
  expect([counts.executing, counts.waiting, counts.seatsInUse]).toEqual([executing.length, waiting.length, seats]);
  const queues = [...set.queues.values()];
  expect(queues.reduce((sum, queue) => sum + queue.waiting.length, 0)).toBe(waiting.length);
  for (const queue of queues) {
    const own = [...executing, ...lingering].filter((request) => request.queue === queue);
    expect(queue.seatsInUse).toBe(own.reduce((sum, { maxSeats }) => sum + maxSeats, 0));
    expect(queue.busyIndex >= 0).toBe(queue.waiting.length > 0);
    const oldest = queue.waiting.first;
    if (oldest !== undefined) expect(queue.nextDispatch).toBeGreaterThanOrEqual(oldest.arrivalMeter);
  }
  // No request waits in vain: if all seats are free, none waits.
  if (seats === 0 && limits.limit > 0) expect(waiting).toEqual([]);
}

const seed = 20_261_123;

describe('random programs of requests', () => {
  it('lose nothing and keep all sums, whatever happens', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const program = new Program();
        for (const taken of steps) {
          program.run(taken);
          check(program);
        }
        // In the end every waiting request runs.
        while (!program.set.isIdle || program.in('lingering').length > 0) {
          program.nowMs += 5;
          for (const request of program.in('lingering')) program.set.release(request, program.nowMs);
          for (const request of program.in('executing')) program.set.finish(request, program.nowMs);
          check(program);
        }
        const ended = program.in('ended').length + program.in('refused').length;
        expect(ended).toBe(program.all.length);
        expect(program.set.totals.dispatched + program.set.totals.refused).toBe(program.all.length);
      }),
      { seed, numRuns: 300 },
    );
  });

  it('never have more seats in use than the limit, but for one request that is wider than it', () => {
    const comes = fc.array(
      step.filter(({ type }) => type !== 'limit'),
      { maxLength: 120 },
    );
    fc.assert(
      fc.property(comes, (steps) => {
        const program = new Program();
        for (const taken of steps) {
          program.run(taken);
          const running = program.in('executing');
          const isAlone = running.length === 1 && (running[0]?.maxSeats ?? 0) > program.limits.limit;
          const lingering = program.in('lingering').reduce((sum, { maxSeats }) => sum + maxSeats, 0);
          if (!isAlone && lingering <= program.limits.limit)
            expect(program.set.seatsInUse).toBeLessThanOrEqual(program.limits.limit + lingering);
        }
      }),
      { seed, numRuns: 300 },
    );
  });

  it('serve every flow that always has requests its share, within a few requests', () => {
    const load = fc.record({
      limit: fc.integer({ min: 1, max: 8 }),
      flows: fc.array(fc.record({ backlog: fc.integer({ min: 5, max: 60 }), ms: fc.integer({ min: 1, max: 20 }) }), {
        minLength: 2,
        maxLength: 5,
      }),
    });
    fc.assert(fc.property(load, shareFairly), { seed, numRuns: 60 });
  });
});

interface Load {
  readonly limit: number;
  /** The number of requests that each flow keeps waiting, and the duration of each of its requests. */
  readonly flows: readonly { readonly backlog: number; readonly ms: number }[];
}

/** Runs flows that never run out of requests, each in its own queue, and compares the seat-milliseconds that they got. */
function shareFairly({ limit, flows }: Load): void {
  const counts = new FlowCounts('s', 'l');
  const queuing = { queues: flows.length, handSize: 1, queueLengthLimit: 1000 };
  const set = new QueueSet({ limit, queuing }, { nowMs: 0, onChange: () => undefined });
  const running = new Map<FlowRequest, number>();
  const got = flows.map(() => 0);
  const come = (flow: number, nowMs: number): FlowRequest => {
    const request = new FlowRequest(counts, { target, user: { name: `${flow}`, groups: [] }, query }, nowMs);
    request.distinguisher = `${flow}`;
    set.start(request, [flow], nowMs);
    return request;
  };
  const waiting = new Set<FlowRequest>();
  for (const [flow, { backlog }] of flows.entries()) for (let i = 0; i < backlog; i++) waiting.add(come(flow, 0));
  const started = (nowMs: number): void => {
    for (const request of waiting) {
      if (request.phase !== 'executing') continue;
      waiting.delete(request);
      running.set(request, nowMs + (flows[Number(request.distinguisher)]?.ms ?? 1));
    }
  };
  started(0);
  for (let nowMs = 1; nowMs <= 4000; nowMs++) {
    for (const [request, endMs] of running) {
      if (endMs > nowMs) continue;
      running.delete(request);
      const flow = Number(request.distinguisher);
      got[flow] = (got[flow] ?? 0) + (flows[flow]?.ms ?? 0);
      set.finish(request, nowMs);
      waiting.add(come(flow, nowMs));
    }
    started(nowMs);
  }
  // No flow may be behind another by more than the time of a few requests.
  const longest = Math.max(...flows.map(({ ms }) => ms));
  const spread = Math.max(...got) - Math.min(...got);
  expect(spread, JSON.stringify({ limit, flows, got })).toBeLessThanOrEqual(longest * (limit + 4) * 2);
}
