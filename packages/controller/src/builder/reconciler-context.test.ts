import { type DeepReadonly, type ResourceClient, silentLogger } from '@kapstan/api';
import { configMap, type TestConfigMap, testConfigMaps } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import type { EventRecorder } from '../events/event-recorder.ts';
import { type ContextParts, reconcilerContext } from './reconciler-context.ts';

type WithStatus = TestConfigMap & { status?: Readonly<Record<string, unknown>> };

function fake(object: WithStatus) {
  const patches: unknown[] = [];
  const events: (string | undefined)[] = [];
  let server = object;
  const client = {
    patch: async (...[, , { body }, options]: Parameters<ResourceClient['patch']>) => {
      patches.push([options?.subresource, body]);
      const { status } = body as WithStatus;
      const resourceVersion = String(Number(server.metadata?.resourceVersion) + 1);
      server = {
        ...server,
        metadata: { ...server.metadata, resourceVersion },
        status: { ...server.status, ...status },
      };
      return server;
    },
  } as unknown as ResourceClient;
  const record = ({ metadata }: DeepReadonly<TestConfigMap>): void => void events.push(metadata?.resourceVersion);
  const parts = {
    controller: 'c',
    kind: testConfigMaps,
    object,
    client,
    recorder: { record } as unknown as EventRecorder,
    signal: new AbortController().signal,
    attempt: 0,
    log: silentLogger,
    shown: async () => undefined,
  } as unknown as ContextParts;
  const context = reconcilerContext(parts);
  return { ...context, status: context.status as unknown as (status: object) => Promise<void>, patches, events };
}

describe('ctx.status', () => {
  const given: WithStatus = { ...configMap({ name: 'a', resourceVersion: '1' }), status: { ready: 1, old: 'x' } };

  it('sends what changes something, and nothing that is so already', async () => {
    const { status, patches } = fake(given);
    await status({ ready: 1 });
    await status({ none: null });
    await status({ ready: 2 });
    await status({ old: null });
    expect(patches).toEqual([
      ['status', { status: { ready: 2 } }],
      ['status', { status: { old: null } }],
    ]);
  });

  it('compares with what it wrote last, not with what the run began with', async () => {
    const { status, patches } = fake(given);
    await status({ ready: 2 });
    await status({ ready: 2 });
    await status({ ready: 1 });
    expect(patches).toEqual([
      ['status', { status: { ready: 2 } }],
      ['status', { status: { ready: 1 } }],
    ]);
  });

  it('lets events be about the object as it was written last', async () => {
    const { status, event, events } = fake(given);
    event('Normal', 'Before', 'x');
    await status({ ready: 2 });
    event('Normal', 'After', 'x');
    expect(events).toEqual(['1', '2']);
  });
});

describe('a call of the context that is wrong', () => {
  const maps = testConfigMaps;
  const named = { metadata: { name: 'b' } };
  type Loose = Readonly<Record<'apply' | 'status', (...call: readonly unknown[]) => Promise<unknown>>>;
  const token = 'apply() takes a resource, such as Pod of';
  const object = 'what is applied, such as { metadata: { name } }, must be an object, not ';
  it.each<[string, (of: Loose) => Promise<unknown>, string]>([
    ['apply of nothing', ({ apply }) => apply(), token],
    ['an object without its kind', ({ apply }) => apply(named), token],
    ['a kind alone', ({ apply }) => apply(maps), `${object}undefined`],
    ['a list', ({ apply }) => apply(maps, [named]), `${object}a list`],
    [
      'no metadata',
      ({ apply }) => apply(maps, { data: {} }),
      'metadata of the applied object must be an object, not undef',
    ],
    ['no name', ({ apply }) => apply(maps, { metadata: {} }), 'resource name may not be empty'],
    ['a name', ({ apply }) => apply(maps, { metadata: { name: 5 } }), 'resource name must be a string, not 5'],
    ['another kind', ({ apply }) => apply(maps, { ...named, kind: 'Secret' }), 'the object is a Secret of v1'],
    ['another version', ({ apply }) => apply(maps, { ...named, apiVersion: 'v2' }), 'the object is a ConfigMap of v2'],
    [
      'settings',
      ({ apply }) => apply(maps, named, 'none'),
      "settings of apply(), such as { owner: 'none' }, must be an",
    ],
    ['an option of clients', ({ apply }) => apply(maps, named, { force: true }), 'apply(): unknown option "force"'],
    [
      'an owner',
      ({ apply }) => apply(maps, named, { owner: false }),
      "owner must be 'controller' or 'none', not false",
    ],
    ['no status', ({ status }) => status(), 'a status must be an object, not undefined'],
    ['null for a status', ({ status }) => status(null), 'a status must be an object, not null'],
    ['a status in words', ({ status }) => status('ready'), 'a status must be an object, not "ready"'],
  ])('rejects with what is wrong, and sends nothing: %s', async (_what, call, message) => {
    const context = fake(configMap({ name: 'a', resourceVersion: '1' }));
    const failure: unknown = await call(context as unknown as Loose).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TypeError);
    expect(String(failure)).toContain(message);
    expect(context.patches).toEqual([]);
  });
});
