import { once } from 'node:events';
import {
  type CallOptions,
  type Clock,
  deepCopy,
  type LogFields,
  type ResourceClient,
  silentLogger,
} from '@kapstan/api';
import { alreadyExists, conflict, forbidden, notFound } from '@kapstan/api/errors';
import { settle, VirtualClock } from '@kapstan/api/testing';
import type { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import { describe, expect, it } from 'vitest';
import type { LeaderElectorOptions } from './leader-election-options.ts';
import { LeaderElector, LeadershipLostError } from './leader-elector.ts';

const group = { group: 'coordination.k8s.io', resource: 'leases' };
type Verb = 'get' | 'create' | 'update';

/** One Lease behind the verbs that an elector uses, with a log and faults. */
class LeaseServer {
  lease: Lease | undefined;
  readonly calls: string[] = [];
  /** Called before each call of a client, which rejects if this does. */
  fault: (verb: Verb, identity: string) => Promise<void> = async () => undefined;
  #version = 0;

  client(identity: string): ResourceClient {
    const answer = async (verb: Verb, run: () => Lease): Promise<Lease> => {
      this.calls.push(`${identity} ${verb}`);
      await this.fault(verb, identity);
      return deepCopy(run()) as Lease;
    };
    const get = () => {
      if (this.lease === undefined) throw notFound(group, 'lock');
      return this.lease;
    };
    return {
      get: () => answer('get', get),
      create: (_token: unknown, lease: Lease) =>
        answer('create', () => {
          if (this.lease !== undefined) throw alreadyExists(group, 'lock');
          return this.set(lease);
        }),
      update: (_token: unknown, lease: Lease) =>
        answer('update', () => {
          if (get().metadata?.resourceVersion !== lease.metadata?.resourceVersion)
            throw conflict(group, 'lock', 'the object has been modified');
          return this.set(lease);
        }),
    } as unknown as ResourceClient;
  }

  set(lease: Lease): Lease {
    const copy = deepCopy(lease) as Lease;
    copy.metadata = { ...copy.metadata, resourceVersion: String(++this.#version) };
    this.lease = copy;
    return copy;
  }

  /** Writes the Lease as another holder would. */
  hold(holderIdentity: string, leaseDurationSeconds = 15): void {
    const spec = { holderIdentity, leaseDurationSeconds, leaseTransitions: 3, renewTime: `change ${this.#version}` };
    this.set({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'lock', namespace: 'ns' },
      spec,
    });
  }
}

interface Candidate {
  readonly elector: LeaderElector;
  readonly stop: AbortController;
  /** Events of this elector, in order. */
  readonly log: string[];
  readonly finished: Promise<unknown>;
  endWork: () => void;
}

function candidate(server: LeaseServer, clock: Clock, options: Partial<LeaderElectorOptions> = {}): Candidate {
  const { identity = 'me' } = options;
  const log: string[] = [];
  const stop = new AbortController();
  const elector = new LeaderElector({
    client: server.client(identity),
    name: 'lock',
    namespace: 'ns',
    identity,
    clock,
    random: () => 0,
    onNewLeader: (leader) => log.push(`leader: ${leader}`),
    onChange: (isLeader) => log.push(isLeader ? 'leads' : 'leads no more'),
    ...options,
  });
  const own: Candidate = { elector, stop, log, finished: Promise.resolve(), endWork: () => undefined };
  const work = async (term: AbortSignal): Promise<void> => {
    log.push('work');
    await new Promise<void>((resolve) => {
      own.endWork = resolve;
      term.addEventListener('abort', () => {
        log.push('aborted');
        resolve();
      });
      stop.signal.addEventListener('abort', () => resolve());
    });
  };
  const finished = elector.run(work, stop.signal).catch((error: unknown) => error);
  return Object.assign(own, { finished });
}

/** The clock of a process that was paused: its time went on, but its timers did not run. */
function shifted(clock: VirtualClock, pausedMs: () => number): Clock {
  return {
    now: () => clock.now() + pausedMs(),
    monotonicNow: () => clock.monotonicNow() + pausedMs(),
    setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs),
    setBackgroundTimer: (callback, delayMs) => clock.setBackgroundTimer(callback, delayMs),
  };
}

const spec = (server: LeaseServer) => server.lease?.spec;

describe('LeaderElector', () => {
  it.each<[string, () => unknown]>([
    [
      'throw',
      () => {
        throw new Error('mine');
      },
    ],
    ['reject', () => Promise.reject(new Error('mine'))],
  ])('leads on, and gives the Lease back, with callbacks that %s', async (_, fail) => {
    const clock = new VirtualClock();
    const server = new LeaseServer();
    const told: string[] = [];
    const logger = {
      ...silentLogger,
      error: (message: string, fields?: LogFields) => void told.push(`${message} ${fields?.error}`),
    };
    const callback = fail as () => void;
    const recorder = { record: callback };
    const callbacks = { onNewLeader: callback, onChange: callback, onSlowRenewal: callback, recorder };
    const own = candidate(server, clock, { ...callbacks, logger });
    await clock.advance(60_000);
    expect(own.elector.isLeader).toBe(true);
    own.stop.abort();
    expect(await own.finished).toBeUndefined();
    expect([own.log, spec(server)?.holderIdentity]).toEqual([['work'], '']);
    expect(told).toEqual(
      ['onNewLeader', 'onChange', 'recorder.record', 'recorder.record', 'onChange', 'onNewLeader'].map(
        (name) => `${name} failed Error: mine`,
      ),
    );
  });

  it('leads on, and gives the Lease back, with a logger that throws', async () => {
    const [clock, server] = [new VirtualClock(), new LeaseServer()];
    const throwing = (): never => {
      throw new Error('no log');
    };
    const warned = once(process, 'warning');
    const own = candidate(server, clock, {
      onChange: throwing,
      logger: { debug: throwing, info: throwing, warn: throwing, error: throwing },
    });
    await clock.advance(60_000);
    expect(own.elector.isLeader).toBe(true);
    own.stop.abort();
    expect(await own.finished).toBeUndefined();
    expect([own.log, spec(server)?.holderIdentity]).toEqual([['leader: me', 'work', 'leader: '], '']);
    expect(await warned).toMatchObject([{ message: 'no log' }]);
  });

  it('logs that it waits, each new leader once, and when it leads itself', async () => {
    const [clock, server] = [new VirtualClock(), new LeaseServer()];
    const told: unknown[] = [];
    const info = (message: string, fields?: LogFields) => void told.push([message, fields]);
    const line = (message: string, identity: string) => [message, { lease: 'lock', namespace: 'ns', identity }];
    server.hold('one');
    const { stop, finished } = candidate(server, clock, { logger: { ...silentLogger, info } });
    const expected = [line('Attempting to acquire leader lease', 'me'), line('New leader elected', 'one')];
    await clock.advance(10_000);
    server.hold('one');
    await clock.advance(10_000);
    expect(told).toEqual(expected);
    server.hold('two');
    await clock.advance(30_000);
    expected.push(line('New leader elected', 'two'), line('Successfully acquired lease', 'me'));
    expect(told).toEqual(expected);
    stop.abort();
    await finished;
    expect(told).toEqual(expected);
  });

  it('warns once of an error that keeps it from the Lease, and again when the error changes or comes back', async () => {
    const clock = new VirtualClock();
    const server = new LeaseServer();
    const warnings: unknown[] = [];
    const warn = (_message: string, { error }: LogFields = {}) => void warnings.push((error as Error).message);
    let trouble: string | undefined = 'down';
    server.fault = async () => {
      if (trouble !== undefined) throw new Error(trouble);
    };
    const { stop, finished } = candidate(server, clock, { logger: { ...silentLogger, warn }, releasesOnStop: false });
    for (const next of ['down', 'still down', undefined, 'still down']) {
      await clock.advance(6000);
      trouble = next;
    }
    await clock.advance(6000);
    expect(warnings).toEqual(['down', 'still down', 'still down']);
    stop.abort();
    await finished;
  });

  it('creates the Lease where there is none, and works', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock({ startMs: Date.UTC(2026, 0, 2) })];
    const { log, elector } = candidate(server, clock);
    await settle();
    expect(log).toEqual(['leader: me', 'leads', 'work']);
    expect(elector.isLeader).toBe(true);
    expect(server.lease).toMatchObject({ metadata: { name: 'lock', namespace: 'ns' } });
    expect(spec(server)).toEqual({
      holderIdentity: 'me',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-02T00:00:00.000000Z',
      renewTime: '2026-01-02T00:00:00.000000Z',
      leaseTransitions: 0,
    });
  });

  it('renews every 2 s with one update each, and keeps acquireTime and transitions', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    candidate(server, clock);
    await settle();
    const before = deepCopy(spec(server));
    await clock.advance(60_000);
    expect(server.calls).toEqual(['me get', 'me create', ...Array.from({ length: 30 }, () => 'me update')]);
    expect(spec(server)).toEqual({ ...(before as object), renewTime: '2026-01-01T00:01:00.000000Z' });
  });

  it.each([
    ['without a spec', undefined],
    ['without a holder, seen only now', { holderIdentity: '', leaseDurationSeconds: 15, leaseTransitions: 3 }],
    ['of its own earlier life', { holderIdentity: 'me', leaseDurationSeconds: 15, leaseTransitions: 3 }],
  ])('takes a Lease %s at once', async (_what, given) => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    server.set({ metadata: { name: 'lock', namespace: 'ns' }, ...(given === undefined ? {} : { spec: given }) });
    const { log } = candidate(server, clock);
    await settle();
    expect(log).toContain('work');
    const isOwn = given?.holderIdentity === 'me';
    expect(spec(server)?.leaseTransitions).toBe(isOwn ? 3 : (given?.leaseTransitions ?? 0) + 1);
  });

  it("waits for the Lease's own duration after the last change that it saw, whatever the times in it say", async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    server.hold('other', 3);
    const { log } = candidate(server, clock);
    await clock.advance(2000);
    server.hold('other', 3);
    await clock.advance(2000);
    // The change at 2 s was seen at 4 s, because the check at 2 s ran first. The lease ends 3 s later, which the check
    // at 8 s finds.
    await clock.advance(3999);
    expect(log.filter((line) => !line.startsWith('leader'))).toEqual([]);
    await clock.advance(1);
    expect(log).toEqual(['leader: other', 'leader: me', 'leads', 'work']);
    expect(spec(server)?.leaseTransitions).toBe(4);
  });

  it('tries again after the retry period plus up to 1.2 times that', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    server.hold('other');
    let random = 0;
    candidate(server, clock, { random: () => random });
    await settle();
    await clock.advance(1999);
    expect(server.calls.length).toBe(1);
    random = 0.999_999;
    await clock.advance(1);
    expect(server.calls.length).toBe(2);
    await clock.advance(4398);
    expect(server.calls.length).toBe(2);
    await clock.advance(2);
    expect(server.calls.length).toBe(3);
  });

  it('aborts the work when 10 s have passed since the start of its last renewal, and writes nothing more', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    const { log, elector, finished } = candidate(server, clock);
    await clock.advance(4000);
    server.fault = () => new Promise(() => undefined);
    await clock.advance(9999);
    expect(log).not.toContain('aborted');
    expect(elector.isLeader).toBe(true);
    await clock.advance(1);
    expect(log.slice(3)).toEqual(['aborted', 'leads no more']);
    expect(elector.isLeader).toBe(false);
    expect(await finished).toBeInstanceOf(LeadershipLostError);
    const calls = server.calls.length;
    server.fault = async () => undefined;
    await clock.advance(60_000);
    expect(server.calls.length, 'no release, no renewal').toBe(calls);
    expect(clock.pendingTimers).toBe(0);
  });

  it('writes nothing after the deadline though it was just about to', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    const { finished } = candidate(server, clock);
    await clock.advance(4000);
    // The renewals at 6 and 12.5 s are refused, and the reads that follow are slow: the second is answered at 17 s.
    server.fault = async (verb) => {
      if (verb === 'update') throw conflict(group, 'lock', 'modified');
      await new Promise<void>((resolve) => clock.setTimer(resolve, 4500));
    };
    await clock.advance(9000);
    server.fault = async () => undefined;
    const updates = () => server.calls.filter((call) => call.endsWith('update')).length;
    const before = updates();
    await clock.advance(20_000);
    expect(await finished).toBeInstanceOf(LeadershipLostError);
    expect(updates()).toBe(before);
    expect(clock.pendingTimers).toBe(0);
  });

  it('writes nothing when it wakes from a pause in the middle of a renewal', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    let pausedMs = 0;
    const { finished } = candidate(
      server,
      shifted(clock, () => pausedMs),
    );
    await settle();
    let answer: () => void = () => undefined;
    server.fault = async (verb) => {
      if (verb === 'update') throw conflict(group, 'lock', 'modified');
      await new Promise<void>((resolve) => (answer = resolve));
    };
    await clock.advance(2000);
    server.fault = async () => undefined;
    expect(server.calls.slice(2)).toEqual(['me update', 'me get']);
    pausedMs = 20_000;
    // The answer to the read arrives before any timer has run.
    answer();
    await settle();
    expect(server.calls.length).toBe(4);
    expect(await finished).toBeInstanceOf(LeadershipLostError);
  });

  it('writes nothing when it wakes from a pause while the client waits before it sends a renewal again', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    let pausedMs = 0;
    let again: () => void = () => undefined;
    const client = server.client('me');
    const repeating = {
      ...client,
      update: async (resource: typeof Lease, lease: Lease, options: CallOptions = {}): Promise<Lease> => {
        await new Promise<void>((resolve) => (again = resolve));
        options.beforeAttempt?.();
        return await client.update(resource, lease, options);
      },
    } as unknown as ResourceClient;
    const { log, finished } = candidate(
      server,
      shifted(clock, () => pausedMs),
      { client: repeating },
    );
    await clock.advance(2000);
    again();
    await clock.advance(2000);
    expect(server.calls).toEqual(['me get', 'me create', 'me update']);
    pausedMs = 20_000;
    // The retry happens before any timer has run.
    again();
    await settle();
    expect(log.slice(3)).toEqual(['aborted', 'leads no more']);
    expect(await finished).toBeInstanceOf(LeadershipLostError);
    expect(server.calls).toHaveLength(3);
  });

  it('gives nothing back and reports the loss when it wakes from a pause during its last renewal', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    let pausedMs = 0;
    const own = candidate(
      server,
      shifted(clock, () => pausedMs),
    );
    await settle();
    let answer: () => void = () => undefined;
    server.fault = () => new Promise<void>((resolve) => (answer = resolve));
    await clock.advance(2000);
    own.endWork();
    await settle();
    server.fault = async () => undefined;
    pausedMs = 20_000;
    // The answer arrives before any timer has run.
    answer();
    await settle();
    expect(own.log.slice(3)).toEqual(['aborted', 'leads no more']);
    expect(await own.finished).toBeInstanceOf(LeadershipLostError);
    expect(server.calls.slice(2)).toEqual(['me update']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('is not revived by a renewal that began in time and ended after it', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    let pausedMs = 0;
    const { elector, finished } = candidate(
      server,
      shifted(clock, () => pausedMs),
    );
    await settle();
    let answer: () => void = () => undefined;
    server.fault = () => new Promise<void>((resolve) => (answer = resolve));
    await clock.advance(2000);
    // Too late for the previous renewal, and in time for this one.
    pausedMs = 9000;
    answer();
    await settle();
    expect(elector.isLeader).toBe(false);
    expect(await finished).toBeInstanceOf(LeadershipLostError);
    expect(server.calls.slice(2)).toEqual(['me update']);
  });

  it('counts from the start of a renewal, not from its answer', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    const { log, finished } = candidate(server, clock);
    await settle();
    server.fault = () => new Promise((resolve) => clock.setTimer(resolve, 4000));
    await clock.advance(6000);
    // The renewal begins at 2 s and is answered at 6 s; then nothing is answered.
    server.fault = () => new Promise(() => undefined);
    await clock.advance(5999);
    expect(log).not.toContain('aborted');
    await clock.advance(1);
    expect(log).toContain('aborted');
    await finished;
  });

  it('gives up at once when it sees another holder', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    const { log, finished } = candidate(server, clock);
    await settle();
    server.hold('thief');
    await clock.advance(2000);
    expect(log.slice(3)).toEqual(['leader: thief', 'aborted', 'leads no more']);
    expect(await finished).toMatchObject({ message: 'leader election lost: thief holds the lease' });
    expect(spec(server)?.holderIdentity).toBe('thief');
  });

  it('goes on through failures shorter than the deadline, reading the Lease again after a conflict', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    const { log } = candidate(server, clock);
    await settle();
    server.set({ ...(server.lease as Lease), metadata: { ...server.lease?.metadata, labels: { edited: 'yes' } } });
    await clock.advance(2000);
    expect(server.calls.slice(2)).toEqual(['me update', 'me get', 'me update']);
    expect(server.lease?.metadata?.labels).toEqual({ edited: 'yes' });
    server.fault = async () => {
      throw new Error('connection refused');
    };
    await clock.advance(7999);
    server.fault = async () => undefined;
    await clock.advance(30_000);
    expect(log).toEqual(['leader: me', 'leads', 'work']);
  });

  it('reports renewals that had to read the Lease first, but neither the first claim nor that of a new Lease', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    let slow = 0;
    candidate(server, clock, { onSlowRenewal: () => slow++ });
    await clock.advance(4000);
    expect(slow).toBe(0);
    // Somebody labels the Lease, so the next renewal is a conflict, and the one after it is quick again.
    server.set({ ...server.lease, metadata: { ...server.lease?.metadata, labels: { a: 'b' } } });
    await clock.advance(4000);
    expect(slow).toBe(1);
    server.lease = undefined;
    await clock.advance(4000);
    expect(slow).toBe(1);
  });

  it.each([
    ['has no rights to the Lease', forbidden(group, 'lock', 'no rights')],
    ['reaches no server', new Error('connection refused')],
  ])('ends in peace when it is stopped while it %s', async (_, error) => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    server.fault = () => Promise.reject(error);
    const { log, stop, finished } = candidate(server, clock);
    await clock.advance(10_000);
    stop.abort();
    expect(await finished).toBeUndefined();
    expect([log, clock.pendingTimers]).toEqual([[], 0]);
  });

  it('warns again of an error that comes back while another process leads', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    server.hold('other', 3600);
    const warnings: unknown[] = [];
    const warn = (_message: string, { error }: LogFields = {}) => void warnings.push((error as Error).message);
    const { stop, finished } = candidate(server, clock, { logger: { ...silentLogger, warn } });
    for (const trouble of ['down', undefined, 'down']) {
      server.fault = async () => {
        if (trouble !== undefined) throw new Error(trouble);
      };
      await clock.advance(6000);
    }
    expect(warnings).toEqual(['down', 'down']);
    stop.abort();
    await finished;
  });

  it('creates the Lease again when it was deleted while it led', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    const { log } = candidate(server, clock);
    await settle();
    server.lease = undefined;
    await clock.advance(2000);
    expect(spec(server)?.holderIdentity).toBe('me');
    expect(log).toEqual(['leader: me', 'leads', 'work']);
  });

  it('does not lead on an answer that took longer than the deadline', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    let answer: () => void = () => undefined;
    server.fault = (verb) => (verb === 'create' ? new Promise((resolve) => (answer = resolve)) : Promise.resolve());
    const { log } = candidate(server, clock);
    await settle();
    await clock.advance(4999);
    answer();
    await settle();
    expect(log).toContain('work');
    const slow = new LeaseServer();
    slow.fault = (verb) => (verb === 'create' ? new Promise((resolve) => (answer = resolve)) : Promise.resolve());
    const late = candidate(slow, clock);
    await settle();
    await clock.advance(5000);
    answer();
    await settle();
    expect(late.log, 'counts as unanswered after half the deadline').not.toContain('work');
    await clock.advance(4000);
    expect(late.log, 'and is found as its own with the next look').toContain('work');
  });

  it('stops leading by its clock, even when the process was paused and ran nothing since', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    // Timers do not run while a process is paused; its clock continues.
    let pausedMs = 0;
    const paused = shifted(clock, () => pausedMs);
    const { log, elector, finished } = candidate(server, paused);
    await clock.advance(3000);
    const calls = server.calls.length;
    pausedMs = 20_000;
    expect(elector.isLeader).toBe(false);
    expect(log.slice(3)).toEqual(['aborted', 'leads no more']);
    expect(await finished).toBeInstanceOf(LeadershipLostError);
    await clock.advance(30_000);
    expect(server.calls.length).toBe(calls);
  });

  it('keeps renewing until the work has ended, then gives the Lease back', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    const own = candidate(server, clock);
    await settle();
    own.endWork();
    await own.finished;
    expect(spec(server)).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 0 });
    expect(server.calls.slice(-2)).toEqual(['me get', 'me update']);
    expect(own.log).toEqual(['leader: me', 'leads', 'work', 'leads no more', 'leader: ']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('gives the Lease back also when the work failed, and fails as it did', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    const elector = new LeaderElector({ client: server.client('me'), name: 'lock', namespace: 'ns', clock });
    const failed = elector.run(() => Promise.reject(new Error('broken')), new AbortController().signal);
    await expect(failed).rejects.toThrow('broken');
    expect(spec(server)?.holderIdentity).toBe('');
  });

  it.each<Verb>(['get', 'create'])('gives back what it got although it was stopped during %s', async (slow) => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    let answer: () => void = () => undefined;
    server.fault = (verb) => (verb === slow ? new Promise((resolve) => (answer = resolve)) : Promise.resolve());
    const own = candidate(server, clock);
    await settle();
    own.stop.abort();
    server.fault = async () => undefined;
    answer();
    expect(await own.finished).toBeUndefined();
    expect(own.log).not.toContain('work');
    expect(spec(server)?.holderIdentity).toBe('');
    expect(clock.pendingTimers).toBe(0);
  });

  it.each<Verb>(['get', 'update'])(
    'gives the Lease back when it is stopped amid a renewal, during %s',
    async (slow) => {
      const [server, clock] = [new LeaseServer(), new VirtualClock()];
      const own = candidate(server, clock);
      await settle();
      let fail: () => void = () => undefined;
      server.fault = (verb) => {
        // A renewal first updates the last written state, and reads the Lease only if that was refused.
        if (verb === 'update' && slow === 'get') throw conflict(group, 'lock', 'modified');
        if (verb !== slow) return Promise.resolve();
        return new Promise((_resolve, reject) => (fail = () => reject(new Error('aborted'))));
      };
      await clock.advance(2_000);
      own.stop.abort();
      server.fault = async () => undefined;
      fail();
      await own.finished;
      expect(own.log.slice(0, 4)).toEqual(['leader: me', 'leads', 'work', 'leads no more']);
      expect(spec(server)?.holderIdentity).toBe('');
      expect(clock.pendingTimers).toBe(0);
    },
  );

  it('tries again to give the Lease back after a conflict, and leaves alone what is not its own', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    const own = candidate(server, clock);
    await settle();
    let updates = 0;
    server.fault = async (verb) => {
      if (verb === 'update' && updates++ === 0) throw conflict(group, 'lock', 'modified');
    };
    own.endWork();
    await own.finished;
    expect(server.calls.slice(-4)).toEqual(['me get', 'me update', 'me get', 'me update']);
    expect(spec(server)?.holderIdentity).toBe('');
    const other = candidate(server, clock);
    await settle();
    server.hold('who came meanwhile');
    other.endWork();
    await other.finished;
    expect(server.calls.at(-1)).toBe('me get');
    expect(spec(server)?.holderIdentity).toBe('who came meanwhile');
  });

  it('records Events about the Lease when it begins and when it ends without an error', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    const recorded: unknown[] = [];
    const recorder = { record: (...event: unknown[]) => void recorded.push(event) };
    const own = candidate(server, clock, { recorder });
    await settle();
    own.endWork();
    await own.finished;
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'lock', namespace: 'ns' } };
    expect(recorded).toMatchObject([
      [lease, { type: 'Normal', reason: 'LeaderElection', message: 'me became leader' }],
      [lease, { type: 'Normal', reason: 'LeaderElection', message: 'me stopped leading' }],
    ]);
  });

  it('leaves the Lease to expire when told to', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    const own = candidate(server, clock, { releasesOnStop: false });
    await settle();
    own.stop.abort();
    await own.finished;
    expect(spec(server)?.holderIdentity).toBe('me');
  });

  it('reports when it believed to lead for too long', async () => {
    const [server, clock] = [new LeaseServer(), new VirtualClock()];
    const paused = { at: 0 };
    const slow = shifted(clock, () => paused.at);
    const { elector } = candidate(server, slow);
    expect(elector.check()).toBeUndefined();
    await settle();
    expect(elector.check()).toBeUndefined();
    paused.at = 15_001;
    expect(elector.check(1000)).toBeUndefined();
    expect(elector.check()?.message).toBe('failed election to renew leadership on lease lock');
  });

  it('never has two leaders, whatever fails and whoever is paused', async () => {
    for (let seed = 1; seed <= 25; seed++) await manyCandidates(seed);
  });

  it.each<[Partial<LeaderElectorOptions>, string]>([
    [{ leaseDurationMs: 10_000 }, 'leaseDurationMs (10000) must be greater than renewDeadlineMs (10000)'],
    [{ renewDeadlineMs: 2400 }, 'renewDeadlineMs (2400) must be greater than retryPeriodMs (2000) * 1.2'],
    [{ retryPeriodMs: 0 }, 'retryPeriodMs must be greater than zero'],
    [{ identity: '' }, 'Lock identity is empty'],
    [{ name: '' }, 'Lock name is empty'],
  ])('refuses %o', (options, message) => {
    const base = { client: new LeaseServer().client('me'), name: 'lock', namespace: 'ns', identity: 'me' };
    expect(() => new LeaderElector({ ...base, ...options })).toThrow(new TypeError(message));
  });
});

/**
 * Runs three candidates, restarted when they lose, with random failures and pauses; there must never be two leaders.
 */
async function manyCandidates(seed: number): Promise<void> {
  const random = mulberry(seed);
  const [server, clock] = [new LeaseServer(), new VirtualClock()];
  server.fault = async () => {
    const fate = random();
    if (fate < 0.15) throw new Error('connection reset');
    if (fate < 0.3) await new Promise<void>((resolve) => clock.setTimer(resolve, random() * 8000));
  };
  const running = new Map<string, Candidate>();
  const ended: Candidate[] = [];
  let terms = 0;
  for (let second = 0; second < 120; second++) {
    for (const identity of ['a', 'b', 'c']) {
      const own = running.get(identity);
      if (own?.log.includes('leads no more') === true) {
        ended.push(own);
        running.delete(identity);
      }
      // The identity is new, so that requests of a process's earlier life are not mistaken for this one's.
      const options = { identity: `${identity}-${second}`, random };
      if (!running.has(identity)) running.set(identity, candidate(server, clock, options));
    }
    await clock.advance(500);
    const leaders = [...running].filter(([, { elector }]) => elector.isLeader).map(([identity]) => identity);
    expect(ended.every(({ elector }) => !elector.isLeader)).toBe(true);
    expect(leaders.length, `seed ${seed}, ${second} s: ${leaders}`).toBeLessThanOrEqual(1);
    terms += leaders.length;
    if (random() < 0.05) server.fault = async () => Promise.reject(new Error('partition'));
    if (random() < 0.2) server.fault = async () => undefined;
    if (leaders[0] !== undefined && random() < 0.05) running.get(leaders[0])?.endWork();
  }
  expect(terms, `seed ${seed}: somebody led`).toBeGreaterThan(10);
  for (const { stop } of running.values()) stop.abort();
  server.fault = async () => undefined;
  await clock.advance(30_000);
  await Promise.all([...ended, ...running.values()].map(({ finished }) => finished));
}

function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
}
