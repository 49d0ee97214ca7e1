import {
  type CallOptions,
  type LogFields,
  type Patch,
  type Resource,
  type ResourceClient,
  silentLogger,
  type UnstructuredObject,
} from '@kapstan/api';
import { internalError, notFound } from '@kapstan/api/errors';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { EventCorrelator } from './event-correlator.ts';
import { EventRecorder } from './event-recorder.ts';

/** Records writes; `fail` may replace the answer. */
function fakeClient(fail: (verb: string, call: number) => Error | undefined = () => undefined) {
  const calls: { verb: string; object: UnstructuredObject }[] = [];
  const answer = async (verb: string, object: unknown) => {
    calls.push({ verb, object: object as UnstructuredObject });
    const error = fail(verb, calls.length);
    if (error) throw error;
    return object;
  };
  const client = {
    create: (_token: Resource, object: UnstructuredObject) => answer('create', object),
    patch: (_token: Resource, target: object, patch: Patch) =>
      answer('patch', { ...target, ...(patch.body as object) }),
  } as unknown as ResourceClient;
  return { client, calls };
}

const foo = {
  apiVersion: 'samplecontroller.k8s.io/v1alpha1',
  kind: 'Foo',
  metadata: { name: 'example', namespace: 'ns', uid: 'u1' },
};
const synced = { type: 'Normal', reason: 'Synced', message: 'Foo synced successfully' } as const;

/** A logger that keeps its lines. */
function listener() {
  const said: [message: string, fields: LogFields | undefined][] = [];
  const say = (message: string, fields?: LogFields): void => void said.push([message, fields]);
  return { said, logger: { ...silentLogger, info: say, warn: say, error: say } };
}

describe('EventRecorder', () => {
  it('writes a core/v1 Event with the reference, the source, the count and both times', async () => {
    const { client, calls } = fakeClient();
    const recorder = new EventRecorder({ client, component: 'sample-controller', clock: new VirtualClock() });
    recorder.record(foo, synced);
    await recorder.flush();
    expect(calls[0]?.object).toMatchObject({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace: 'ns', name: expect.stringMatching(/^example\.[0-9a-f]+$/) },
      involvedObject: {
        apiVersion: 'samplecontroller.k8s.io/v1alpha1',
        kind: 'Foo',
        name: 'example',
        namespace: 'ns',
        uid: 'u1',
      },
      ...synced,
      source: { component: 'sample-controller' },
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
      count: 1,
      reportingComponent: 'sample-controller',
    });
  });

  it('patches the count of an event that repeats', async () => {
    const { client, calls } = fakeClient();
    const clock = new VirtualClock();
    const recorder = new EventRecorder({ client, component: 'c', clock });
    recorder.record(foo, synced);
    await recorder.flush();
    await clock.advance(1000);
    recorder.record(foo, synced);
    await recorder.flush();
    expect(calls.map((call) => call.verb)).toEqual(['create', 'patch']);
    expect(calls[1]?.object).toMatchObject({ namespace: 'ns', count: 2, lastTimestamp: '2026-01-01T00:00:01Z' });
  });

  it('creates a new event with the count reached when the old one has expired', async () => {
    const { client, calls } = fakeClient((verb) =>
      verb === 'patch' ? notFound({ group: '', resource: 'events' }, 'x') : undefined,
    );
    const recorder = new EventRecorder({ client, component: 'c', clock: new VirtualClock() });
    recorder.record(foo, synced);
    recorder.record(foo, synced);
    await recorder.flush();
    expect(calls.map((call) => call.verb)).toEqual(['create', 'patch', 'create']);
    expect(calls[2]?.object.count).toBe(2);
  });

  it('tries a transport error again, first within 10 s, and not an answer of the server', async () => {
    const clock = new VirtualClock();
    const { client, calls } = fakeClient((_verb, call) =>
      call === 1 ? new Error('ECONNREFUSED') : call === 2 ? internalError('no') : undefined,
    );
    const recorder = new EventRecorder({ client, component: 'c', clock, random: () => 0.5 });
    recorder.record(foo, synced);
    await clock.advance(4999);
    expect(calls).toHaveLength(1);
    await clock.advance(1);
    expect(calls).toHaveLength(2);
    await recorder.flush();
    expect(calls, 'a 500 is not retried').toHaveLength(2);
  });

  it('gives up after 12 attempts', async () => {
    const clock = new VirtualClock();
    const { client, calls } = fakeClient(() => new Error('ECONNREFUSED'));
    const recorder = new EventRecorder({ client, component: 'c', clock });
    recorder.record(foo, synced);
    for (let i = 0; i < 15; i++) await clock.advance(10_000);
    await recorder.flush();
    expect(calls).toHaveLength(12);
  });

  it('I5: drops and counts what comes while 1000 wait', async () => {
    const clock = new VirtualClock();
    const { client } = fakeClient(() => new Error('ECONNREFUSED'));
    const recorder = new EventRecorder({ client, component: 'c', clock });
    for (let i = 0; i < 1003; i++) recorder.record(foo, { ...synced, message: `${i}` });
    expect(recorder.dropped).toBe(2);
    await recorder.close();
  });

  it('says of dropped events one line, then one a minute with their number', async () => {
    const clock = new VirtualClock();
    const { client } = fakeClient();
    client.create = () => new Promise(() => undefined);
    const { logger, said } = listener();
    const recorder = new EventRecorder({ client, component: 'c', clock, logger });
    const drop = (events: number): void => {
      for (let i = 0; i < events; i++) recorder.record(foo, { ...synced, message: `${i}` });
    };
    drop(1001 + 3000);
    await clock.advance(59_999);
    drop(7);
    const first = 'Unable to record event: too many queued events, dropped event';
    expect(said.map(([message]) => message)).toEqual([first]);
    await clock.advance(1);
    const later = 'Unable to record events: too many queued events, dropped events';
    expect(said.slice(1)).toEqual([[later, { component: 'c', events: 3006 }]]);
    await clock.advance(60_000);
    expect([said.length, clock.pendingTimers, recorder.dropped]).toEqual([2, 0, 3007]);
  });

  it('drains without pauses: what fails once more is given up, and counted in the end', async () => {
    const clock = new VirtualClock();
    const { client, calls } = fakeClient((_verb, count) => (count < 4 ? new Error('ECONNREFUSED') : undefined));
    const { logger, said } = listener();
    const recorder = new EventRecorder({ client, component: 'c', clock, logger });
    for (let i = 0; i < 5; i++) recorder.record(foo, { ...synced, reason: `R${i}` });
    await settle();
    expect([calls.length, recorder.waiting]).toEqual([1, 5]);
    await recorder.drain();
    expect([calls.length, recorder.waiting, clock.now() - clock.monotonicNow()]).toEqual([
      6,
      0,
      new VirtualClock().now(),
    ]);
    await recorder.close();
    expect(said.at(-1)).toEqual(['events were not written before the end', { component: 'c', events: 2 }]);
    expect(said).toHaveLength(2);
  });

  it('I9: close gives up on a retry and leaves no timer', async () => {
    const clock = new VirtualClock();
    const { client, calls } = fakeClient(() => new Error('ECONNREFUSED'));
    const recorder = new EventRecorder({ client, component: 'c', clock });
    recorder.record(foo, synced);
    await clock.advance(0);
    await recorder.close();
    recorder.record(foo, synced);
    expect(clock.pendingTimers).toBe(0);
    expect(calls).toHaveLength(1);
  });

  it('close ends a write that is under way, and counts what was not written', async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const waits = (options?: CallOptions): Promise<never> => {
      signals.push(options?.signal);
      return new Promise((_, reject) =>
        options?.signal?.addEventListener('abort', () => reject(options.signal?.reason)),
      );
    };
    const client = {
      create: (_token: Resource, object: UnstructuredObject, options?: CallOptions) =>
        signals.length === 0 ? Promise.resolve(object).finally(() => signals.push(undefined)) : waits(options),
      patch: (...[, , , options]: Parameters<ResourceClient['patch']>) => waits(options),
    } as unknown as ResourceClient;
    const { logger, said } = listener();
    for (const second of [synced, { ...synced, reason: 'Other' }]) {
      signals.length = 0;
      const clock = new VirtualClock();
      const recorder = new EventRecorder({ client, component: 'c', clock, logger });
      recorder.record(foo, synced);
      await recorder.flush();
      recorder.record(foo, second);
      await settle();
      expect(signals.map((signal) => signal?.aborted)).toEqual([undefined, false]);
      await recorder.close();
      expect(clock.pendingTimers).toBe(0);
    }
    const line = ['events were not written before the end', { component: 'c', events: 1 }];
    expect(said).toEqual([line, line]);
  });

  it('tries again with the same event: one name, and the time at which it was recorded', async () => {
    const clock = new VirtualClock();
    const { client, calls } = fakeClient((_verb, call) => (call === 1 ? new Error('ECONNRESET') : undefined));
    let next = 0;
    const random = (): number => {
      next += 0.1;
      return next;
    };
    const recorder = new EventRecorder({ client, component: 'c', clock, random });
    recorder.record(foo, synced);
    recorder.record(foo, { ...synced, message: 'waits behind it' });
    await clock.advance(10_000);
    await recorder.flush();
    expect(calls).toHaveLength(3);
    expect(calls[1]?.object).toEqual(calls[0]?.object);
    const times = { firstTimestamp: '2026-01-01T00:00:00Z', lastTimestamp: '2026-01-01T00:00:00Z' };
    for (const { object } of calls) expect(object).toMatchObject(times);
    expect(calls[2]?.object.metadata?.name).not.toBe(calls[0]?.object.metadata?.name);
  });

  it.each(['system:controller:node', 'x'.repeat(250)])(
    'names the event by a UUID where the name of the object makes no valid one: %s',
    async (name) => {
      const { client, calls } = fakeClient();
      const recorder = new EventRecorder({ client, component: 'c', clock: new VirtualClock() });
      recorder.record({ ...foo, metadata: { name } }, synced);
      await recorder.flush();
      expect(calls[0]?.object.metadata?.name).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    },
  );

  it('writes again after events that were filtered as spam', async () => {
    const clock = new VirtualClock();
    const { client, calls } = fakeClient();
    const recorder = new EventRecorder({ client, component: 'c', clock });
    for (let i = 0; i < 27; i++) {
      recorder.record(foo, { ...synced, reason: `Reason${i}` });
      await recorder.flush();
    }
    expect(calls).toHaveLength(25);
    await clock.advance(300_000);
    recorder.record(foo, { ...synced, reason: 'Later' });
    await recorder.flush();
    expect(calls.at(-1)?.object).toMatchObject({ reason: 'Later' });
  });

  it('loses what cannot be sent, and nothing else', async () => {
    const clock = new VirtualClock();
    const { client, calls } = fakeClient();
    const correlator = new EventCorrelator({ clock });
    const correlate = correlator.correlate.bind(correlator);
    correlator.correlate = (draft) => {
      if (draft.message === 'bad') throw new Error('no correlation');
      return correlate(draft);
    };
    const told: unknown[] = [];
    const logger = { ...silentLogger, error: (message: string, fields?: LogFields) => told.push([message, fields]) };
    const recorder = new EventRecorder({ client, component: 'c', clock, correlator, logger });
    for (const message of ['bad', 'good', 'bad', 'better']) recorder.record(foo, { ...synced, message });
    await recorder.flush();
    recorder.record(foo, { ...synced, message: 'best' });
    await recorder.flush();
    expect(calls.map(({ object }) => object.message)).toEqual(['good', 'better', 'best']);
    expect(told).toEqual(
      Array(2).fill([
        'Unable to write event (will not retry!)',
        { component: 'c', object: 'Foo ns/example', reason: 'Synced', error: new Error('no correlation') },
      ]),
    );
  });

  it('is not silenced by a logger that throws', async () => {
    const clock = new VirtualClock();
    const { client, calls } = fakeClient((_verb, call) => (call === 1 ? internalError('no') : undefined));
    const throwing = (): never => {
      throw new Error('no log');
    };
    const logger = { debug: throwing, info: throwing, warn: throwing, error: throwing };
    const warnings: string[] = [];
    const listen = (warning: Error): void => void warnings.push(warning.message);
    process.on('warning', listen);
    const recorder = new EventRecorder({ client, component: 'c', clock, logger });
    recorder.record(foo, synced);
    await recorder.flush();
    recorder.record(foo, synced);
    await recorder.flush();
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', listen);
    expect(calls).toHaveLength(2);
    expect(warnings).toEqual(['no log']);
    await recorder.close();
  });

  it('takes annotations along, and the namespace default for an object that has none', async () => {
    const { client, calls } = fakeClient();
    const recorder = new EventRecorder({ client, component: 'c', clock: new VirtualClock() });
    const annotations: Record<string, string> = { trace: '1' };
    recorder.record({ ...foo, metadata: { name: 'node' } }, { ...synced, annotations });
    annotations.trace = '2';
    await recorder.flush();
    expect(calls[0]?.object.metadata).toMatchObject({ namespace: 'default', annotations: { trace: '1' } });
    expect(calls[0]?.object.involvedObject).not.toHaveProperty('namespace');
  });

  it('correlates with what it wrote itself: another recorder begins anew', async () => {
    const { client, calls } = fakeClient();
    const clock = new VirtualClock();
    const recorders = [1, 2].map(() => new EventRecorder({ client, component: 'c', clock }));
    for (const recorder of [...recorders, ...recorders]) {
      recorder.record(foo, synced);
      await recorder.flush();
    }
    expect(calls.map(({ verb }) => verb)).toEqual(['create', 'create', 'patch', 'patch']);
  });

  it('writes a thousand events in their order over a connection that breaks now and then', async () => {
    const clock = new VirtualClock();
    const { client, calls } = fakeClient((_verb, call) => (call % 200 === 7 ? new Error('ECONNRESET') : undefined));
    const recorder = new EventRecorder({ client, component: 'c', clock });
    const names = Array.from({ length: 1000 }, (_, i) => `foo-${i}`);
    for (const name of names) recorder.record({ ...foo, metadata: { name } }, synced);
    const written = recorder.flush();
    await clock.advance(100_000);
    await written;
    const told = calls.map(({ object }) => (object.involvedObject as { name: string }).name);
    expect([...new Set(told)]).toEqual(names);
    expect([told.length > 1000, recorder.dropped]).toEqual([true, 0]);
  });

  it('does not record an event of an unknown type', async () => {
    const { client, calls } = fakeClient();
    const told: unknown[] = [];
    const logger = { ...silentLogger, error: (...line: unknown[]) => void told.push(line) };
    const recorder = new EventRecorder({ client, component: 'c', clock: new VirtualClock(), logger });
    recorder.record(foo, { ...synced, type: 'Error' as 'Normal' });
    await recorder.flush();
    const who = { component: 'c', object: 'Foo ns/example' };
    expect([calls, told]).toEqual([[], [['Unsupported event type', { ...who, ...synced, type: 'Error' }]]]);
  });

  it('does not record about an object that does not say what it is', async () => {
    const { client, calls } = fakeClient();
    const recorder = new EventRecorder({ client, component: 'c', clock: new VirtualClock() });
    recorder.record({ metadata: { name: 'x' } }, synced);
    await recorder.flush();
    expect(calls).toEqual([]);
  });
});
