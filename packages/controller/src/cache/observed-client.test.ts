import { getEventListeners } from 'node:events';
import { type CallOptions, type KubernetesObject, ObjectList, type ResourceClient } from '@kapstan/api';
import { configMap, FakeListerWatcher, type TestConfigMap, testConfigMaps } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { ObservedClient } from './observed-client.ts';

const target = { namespace: 'default', name: 'a' };
const answer: KubernetesObject = { metadata: { ...target, resourceVersion: '7' } };

/** Every verb answers with the same object, if allowed, and records its name and last argument. */
function fake(underWay: Promise<void> = Promise.resolve()) {
  const calls: { readonly verb: string; readonly options: CallOptions | undefined }[] = [];
  const client = new Proxy({} as ResourceClient, {
    get:
      (_target, verb: string) =>
      async (...parameters: unknown[]) => {
        calls.push({ verb, options: parameters.at(-1) as CallOptions });
        await underWay;
        return verb === 'delete' && (parameters.at(-1) as { gone?: boolean }).gone ? undefined : answer;
      },
  });
  return { client, calls };
}

const pages = new ObjectList<TestConfigMap>((options) => new FakeListerWatcher<TestConfigMap>().list(options), {});
const patch = { type: 'merge', body: {} } as const;
const writes: readonly [string, (client: ResourceClient, options: object) => Promise<unknown>][] = [
  ['create', (client, options) => client.create(testConfigMaps, configMap({ name: 'a' }), options)],
  ['update', (client, options) => client.update(testConfigMaps, configMap({ name: 'a' }), options)],
  ['patch', (client, options) => client.patch(testConfigMaps, target, patch, options)],
  [
    'apply',
    (client, options) => client.apply(testConfigMaps, configMap({ name: 'a' }), { fieldManager: 'm', ...options }),
  ],
  ['delete', (client, options) => client.delete(testConfigMaps, target, options)],
];

describe('ObservedClient', () => {
  it.each(writes)('reports %s with the version that was written, but no dry run', async (_verb, write) => {
    const reported: unknown[] = [];
    const observer = { observeWrite: (...report: unknown[]) => void reported.push(report) };
    const client = new ObservedClient({ client: fake().client, observer });
    await write(client, { dryRun: true });
    expect(reported).toEqual([]);
    await write(client, {});
    expect(reported).toEqual([[testConfigMaps, target, '7']]);
  });

  it('reports no deletion that was answered without an object', async () => {
    const reported: unknown[] = [];
    const client = new ObservedClient({
      client: fake().client,
      observer: { observeWrite: () => void reported.push(1) },
    });
    expect(await client.delete(testConfigMaps, target, { gone: true } as never)).toBeUndefined();
    expect(reported).toEqual([]);
  });

  it('deletes no collection for options that are no object', async () => {
    const { client, calls } = fake();
    const own = new ObservedClient({ client, signal: new AbortController().signal });
    await expect(own.deleteCollection(testConfigMaps, 'a' as never)).rejects.toThrow('must be an object, not "a"');
    expect(calls).toEqual([]);
  });

  it('sends no write that is not admitted, but reads', async () => {
    const { client, calls } = fake();
    const admit = (): void => {
      throw new Error('not the leader');
    };
    const guarded = new ObservedClient({ client, admit });
    for (const [, write] of writes) await expect(write(guarded, {})).rejects.toThrow('not the leader');
    await expect(guarded.deleteCollection(testConfigMaps)).rejects.toThrow('not the leader');
    const call = { body: {} };
    const eviction = guarded.createSubresource(testConfigMaps, { ...target, subresource: 'eviction' }, call);
    await expect(eviction).rejects.toThrow('not the leader');
    expect(calls).toEqual([]);
    await guarded.get(testConfigMaps, target);
    await guarded.listPage(testConfigMaps);
    expect(calls.map(({ verb }) => verb)).toEqual(['get', 'listPage']);
  });

  it('has each attempt of a write admitted, also one that the client repeats later, and none of a read', async () => {
    const { client, calls } = fake();
    let isLeader = true;
    const asked: string[] = [];
    const admit = (): void => {
      asked.push('manager');
      if (!isLeader) throw new Error('not the leader');
    };
    const guarded = new ObservedClient({ client, admit });
    const options = { beforeAttempt: () => void asked.push('caller') };
    for (const [, write] of writes) await write(guarded, options);
    await guarded.deleteCollection(testConfigMaps, options);
    await guarded.createSubresource(testConfigMaps, { ...target, subresource: 'eviction' }, { body: {}, ...options });
    const attempts = calls.map((call) => call.options?.beforeAttempt);
    expect(attempts).toHaveLength(writes.length + 2);
    for (const attempt of attempts) {
      asked.length = 0;
      isLeader = true;
      attempt?.();
      expect(asked).toEqual(['manager', 'caller']);
      isLeader = false;
      expect(attempt).toThrow('not the leader');
    }
    calls.length = 0;
    await guarded.get(testConfigMaps, target);
    expect(calls[0]?.options?.beforeAttempt).toBeUndefined();
  });

  it('ends calls with its signal and with their own', async () => {
    let end: () => void = () => undefined;
    const { client, calls } = fake(new Promise((resolve) => (end = resolve)));
    const [run, own] = [new AbortController(), new AbortController()];
    const guarded = new ObservedClient({ client, signal: run.signal });
    const underWay = [
      guarded.get(testConfigMaps, target),
      guarded.create(testConfigMaps, configMap({ name: 'a' }), { signal: own.signal }),
      guarded.update(testConfigMaps, configMap({ name: 'a' }), { signal: new AbortController().signal }),
      guarded.list(testConfigMaps).then(() => undefined),
      guarded.list(testConfigMaps, { signal: own.signal }).then(() => undefined),
      guarded.patch(testConfigMaps, target, patch, { signal: AbortSignal.abort('before') }),
    ];
    const aborted = () => calls.map(({ options }) => options?.signal?.aborted);
    expect(aborted()).toEqual([false, false, false, false, false, true]);
    expect(calls.at(-1)?.options?.signal?.reason).toBe('before');
    own.abort();
    expect(aborted()).toEqual([false, true, false, false, true, true]);
    run.abort('lost');
    expect(aborted()).toEqual([true, true, true, true, true, true]);
    expect(calls[2]?.options?.signal?.reason).toBe('lost');
    end();
    await Promise.all(underWay);
  });

  it('waits at a signal with one listener, however many calls share it', async () => {
    let end: () => void = () => undefined;
    const { client } = fake(new Promise((resolve) => (end = resolve)));
    const [run, own] = [new AbortController(), new AbortController()];
    const guarded = new ObservedClient({ client, signal: run.signal });
    const calls = Array.from({ length: 12 }, () => guarded.get(testConfigMaps, target, { signal: own.signal }));
    for (const { signal } of [run, own]) expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    end();
    await Promise.all(calls);
    for (const { signal } of [run, own]) expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it("hands the caller's signal of a list on where it has none of its own", async () => {
    const { client, calls } = fake();
    const { signal } = new AbortController();
    await new ObservedClient({ client }).list(testConfigMaps, { signal });
    expect(calls.map(({ options }) => options?.signal)).toEqual([signal]);
  });

  it('leaves nothing on the signals that outlive a call, and makes no new one of its own', async () => {
    const { client, calls } = fake();
    const [run, longLived] = [new AbortController(), new AbortController()];
    const guarded = new ObservedClient({ client, signal: run.signal });
    for (const [, write] of writes) await write(guarded, { signal: run.signal });
    expect(calls.every(({ options }) => options?.signal === run.signal)).toBe(true);
    calls.length = 0;
    for (const [, write] of writes) await write(guarded, { signal: longLived.signal });
    await guarded.list(testConfigMaps, { signal: longLived.signal });
    const paged = new ObservedClient({ client: { list: () => pages } as never, signal: run.signal });
    for await (const page of paged.list(testConfigMaps, { signal: longLived.signal }).pages())
      expect(page.items).toEqual([]);
    for (const { signal } of [run, longLived]) expect(getEventListeners(signal, 'abort')).toEqual([]);
    run.abort();
    // Nothing remains of Node's bookkeeping for AbortSignal.any either.
    expect(calls.filter(({ options }) => options?.signal?.aborted)).toEqual([]);
    expect(calls).toHaveLength(6);
  });
});
