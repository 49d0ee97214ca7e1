import { type DeepReadonly, type Patch, type Resource, type ResourceClient, silentLogger } from '@kapstan/api';
import { configMap, type TestConfigMap, testConfigMaps } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import type { EventRecorder } from './events/event-recorder.ts';
import { type ContextParts, reconcilerContext } from './reconciler-context.ts';

type WithStatus = TestConfigMap & { status?: Readonly<Record<string, unknown>> };

function fake(object: WithStatus) {
  const patches: unknown[] = [];
  const events: (string | undefined)[] = [];
  let server = object;
  const client = {
    patch: async (_token: Resource, _target: unknown, { body, subresource }: Patch & { subresource?: string }) => {
      patches.push([subresource, body]);
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
