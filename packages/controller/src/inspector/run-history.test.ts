import type { ResourceClient } from '@kapstan/api';
import { invalid } from '@kapstan/api/errors';
import { safeErrorText } from '@kapstan/api/internal';
import { configMap, testConfigMaps, VirtualClock } from '@kapstan/api/testing';
import { Secret } from '@kapstan/kinds/core/v1';
import { beforeEach, describe, expect, it } from 'vitest';
import { isTerminalError, TerminalError } from '../reconcile/reconcile-loop.ts';
import { RateLimitingQueue } from '../workqueue/index.ts';
import { causeType, changedObject } from './changed-object.ts';
import { recordedClient, recordedHandler } from './recorded-run.ts';
import { RunHistory } from './run-history.ts';
import { WakeCauses } from './wake-causes.ts';

let clock: VirtualClock;
let causes: WakeCauses;
let history: RunHistory;
let queue: RateLimitingQueue<string>;
beforeEach(() => {
  clock = new VirtualClock();
  causes = new WakeCauses(clock);
  history = new RunHistory({ causes, errorText: safeErrorText });
  queue = new RateLimitingQueue({ clock, observer: causes.observer });
});

const request = (key: string) => ({ key, namespace: 'default', name: key });
const context = { signal: new AbortController().signal, attempt: 0 };
const object = changedObject(
  { type: 'added', key: 'a' as never, object: configMap({ name: 'a', resourceVersion: '7' }), isInInitialList: false },
  testConfigMaps,
  'owner',
);

/** Takes the next key, runs it and adds it again, like the reconcile loop. */
async function runNext(error?: unknown, requeueAfterMs?: number): Promise<void> {
  const key = (await queue.get()) as string;
  const result = requeueAfterMs === undefined ? undefined : { requeueAfterMs };
  const reconcile = async () => {
    if (error !== undefined) throw error;
    return result;
  };
  await recordedHandler(history, reconcile)(request(key), context).catch(() => undefined);
  if (isTerminalError(error)) queue.forget(key);
  else if (error !== undefined) queue.addRateLimited(key);
  else if (requeueAfterMs !== undefined) queue.addAfter(key, requeueAfterMs);
  queue.done(key);
  history.outcome(
    error === undefined
      ? { type: 'succeeded', request: request(key) }
      : { type: 'failed', request: request(key), error, willRetry: true },
  );
}

const causesOf = (key: string) => history.keys.get(key)?.runs.map(({ causes }) => causes.items.map(({ type }) => type));

describe('the history of runs', () => {
  it('says which change woke a key, with its versions and through what', async () => {
    causes.wake('a', { type: 'added', object });
    queue.add('a');
    await runNext();
    expect(history.keys.get('a')?.runs[0]).toMatchObject({
      result: 'succeeded',
      causes: {
        items: [{ type: 'added', object: { kind: 'ConfigMap', name: 'a', newVersion: '7', through: 'owner' } }],
        more: 0,
      },
    });
  });

  it('keeps four causes of a waiting key and counts the others', async () => {
    for (let times = 0; times < 7; times++) causes.wake('a', { type: 'updated', object });
    queue.add('a');
    await runNext();
    expect(history.keys.get('a')?.runs[0]?.causes).toMatchObject({ items: { length: 4 }, more: 3 });
  });

  it('gives a change that comes while a worker has the key to the next run', async () => {
    causes.wake('a', { type: 'added', object });
    queue.add('a');
    const key = (await queue.get()) as string;
    causes.wake('a', { type: 'updated', object });
    queue.add('a');
    await recordedHandler(history, async () => undefined)(request(key), context);
    expect(causesOf('a')).toEqual([['added']]);
    queue.done('a');
    await runNext();
    expect(causesOf('a')?.at(-1)).toEqual(['updated']);
  });

  it('tells a retry, an asked-for return and a trigger from changes', async () => {
    causes.wake('a', { type: 'trigger' });
    queue.add('a');
    await runNext(new Error('no'));
    await clock.advance(5);
    await runNext(undefined, 1000);
    expect(causesOf('a')).toEqual([['trigger'], ['retry']]);
    await clock.advance(1000);
    await runNext();
    expect(causesOf('a')?.at(-1)).toEqual(['requeueAfter']);
  });

  it('says of a run that gave up what woke the key afterwards, which is no retry', async () => {
    queue.add('a');
    await runNext(new Error('try again'));
    await clock.advance(5);
    await runNext(new TerminalError('hopeless'));
    expect(history.keys.get('a')?.runs.map(({ result }) => result)).toEqual(['failed', 'gave up']);
    expect(queue.dueAtMs('a')).toBeUndefined();
    queue.addAfter('a', 10);
    await clock.advance(10);
    expect(history.pendingOf('a')?.items.map(({ type }) => type)).toEqual(['requeue']);
  });

  it('tells a return at once too', async () => {
    queue.add('a');
    await runNext(undefined, 0);
    await runNext();
    expect(causesOf('a')).toEqual([[], ['requeue']]);
  });

  it('counts failures in a row, and forgets them with a success', async () => {
    queue.add('a');
    await runNext(new Error('one'));
    await clock.advance(5);
    await runNext(new TerminalError('two'));
    expect([...history.failing.keys()]).toEqual(['a']);
    expect(history.keys.get('a')).toMatchObject({
      failures: 2,
      runs: [{ error: 'Error' }, { result: 'gave up', error: 'TerminalError' }],
    });
    queue.add('a');
    await runNext();
    expect([history.failing.size, history.keys.get('a')?.failures]).toEqual([0, 0]);
    expect(history.counts).toEqual({ runs: 3, failures: 2 });
  });

  it('keeps what woke a run and what it wrote of the last run and of failed ones, of others the number', async () => {
    // One run with more writes than are kept for a failed run that is not the last.
    const write = { verb: 'patch', kind: 'ConfigMap', name: 'a' } as never;
    for (const error of [undefined, new Error('no'), undefined]) {
      causes.wake('a', { type: 'trigger' });
      queue.add('a');
      const key = (await queue.get()) as string;
      history.begin(key, 0).writes.items.push(...Array(6).fill(write));
      queue.done(key);
      history.outcome(
        error === undefined
          ? { type: 'succeeded', request: request(key) }
          : { type: 'failed', request: request(key), error, willRetry: false },
      );
    }
    const runs = history.keys
      .get('a')
      ?.runs.map(({ causes, writes }) => [causes, writes].map((one) => [one.items.length, one.more]));
    expect(runs).toEqual([
      [
        [0, 1],
        [0, 6],
      ],
      [
        [1, 0],
        [4, 2],
      ],
      [
        [1, 0],
        [6, 0],
      ],
    ]);
  });

  it('keeps five runs of a key, and ten thousand keys', () => {
    for (let run = 0; run < 9; run++) history.begin('a', run);
    expect(history.keys.get('a')?.runs.map(({ attempt }) => attempt)).toEqual([4, 5, 6, 7, 8]);
    for (let key = 0; key < 10_000; key++) history.begin(`key-${key}`, 0);
    expect([history.keys.size, history.keys.has('a')]).toEqual([10_000, false]);
  });

  it('keeps causes of ten thousand waiting keys, and of no more', () => {
    for (let key = 0; key < 10_500; key++) causes.wake(`key-${key}`, { type: 'added', object });
    expect([history.pendingOf('key-9999') === undefined, history.pendingOf('key-10000') === undefined]).toEqual([
      false,
      true,
    ]);
  });

  it('names no Secret, only its kind and versions', () => {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'tls', namespace: 'web', resourceVersion: '4' },
    };
    const change = { type: 'deleted', key: 'web/tls', object: secret, isFinalStateUnknown: false } as never;
    expect(changedObject(change, Secret, 'mapping')).toEqual({
      kind: 'Secret',
      namespace: '',
      name: '',
      oldVersion: '4',
      newVersion: '',
      through: 'mapping',
    });
    expect(causeType(change)).toBe('deleted');
  });
});

describe('the writes of a run', () => {
  const answers: Partial<ResourceClient> = {
    create: async (_kind: unknown, sent: unknown) =>
      ({ ...(sent as object), metadata: { name: 'made', resourceVersion: '9' } }) as never,
    update: async () => {
      throw invalid({ group: '', kind: 'ConfigMap' }, 'a', [
        { type: 'FieldValueInvalid', field: 'data.password', badValue: 'hunter2', detail: 'too short' },
      ]);
    },
    patch: async () => ({ metadata: { name: 'tls', resourceVersion: '11' } }) as never,
    delete: async () => undefined,
  };

  it('are verb, kind, name, subresource and result, never a body', async () => {
    const run = history.begin('a', 0);
    const client = recordedClient(history, 'a', answers as ResourceClient);
    await client.create(
      testConfigMaps,
      configMap({ generateName: 'x-', name: '', data: { password: 'hunter2' } } as never),
    );
    await client.update(testConfigMaps, configMap({ name: 'a' }), { subresource: 'status' }).catch(() => undefined);
    await client.patch(Secret, { namespace: 'web', name: 'tls' }, {
      type: 'merge',
      body: { data: 'hunter2' },
    } as never);
    await client.delete(testConfigMaps, { namespace: 'web', name: 'old' }, { dryRun: true });
    expect(run.writes.items).toMatchObject([
      { verb: 'create', kind: 'ConfigMap', resourceVersion: '9' },
      { verb: 'update', subresource: 'status', error: expect.stringContaining('Invalid (422)') },
      { verb: 'patch', kind: 'Secret', name: '', resourceVersion: '11' },
      { verb: 'delete', name: 'web/old', isDryRun: true },
    ]);
    expect(JSON.stringify(run)).not.toMatch(/hunter2|tls/);
  });

  it('are the first twenty, and a count of the others', async () => {
    const run = history.begin('a', 0);
    const client = recordedClient(history, 'a', answers as ResourceClient);
    for (let times = 0; times < 25; times++) await client.delete(testConfigMaps, { namespace: '', name: 'x' });
    expect([run.writes.items.length, run.writes.more]).toEqual([20, 5]);
  });
});
