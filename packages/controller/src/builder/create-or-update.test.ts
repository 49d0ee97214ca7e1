import type { KubernetesObject, ObjectTarget, Resource, ResourceClient } from '@kapstan/api';
import { conflict, notFound } from '@kapstan/api/errors';
import { configMap, type TestConfigMap, testConfigMaps } from '@kapstan/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { ObservedClient } from '../cache/observed-client.ts';
import { createOrUpdate } from './create-or-update.ts';

const group = { group: '', resource: 'configmaps' };
let server: TestConfigMap | undefined;
let calls: unknown[];
beforeEach(() => {
  server = undefined;
  calls = [];
});

/** Holds one object and records the calls for it. */
const client = {
  get: async (_kind: Resource, target: ObjectTarget, options: object) => {
    calls.push(['get', target, options]);
    if (server === undefined) throw notFound(group, target.name);
    return server;
  },
  create: async (_kind: Resource, object: KubernetesObject, options: object) => {
    calls.push(['create', object, options]);
    return object;
  },
  update: async (_kind: Resource, object: KubernetesObject, options: object) => {
    calls.push(['update', object, options]);
    return object;
  },
} as unknown as ResourceClient;

const object: TestConfigMap = { metadata: { namespace: 'default', name: 'a' }, data: { from: 'object' } };
const at = { namespace: 'default', name: 'a' };
const stored = () => configMap({ ...at, resourceVersion: '7' }, { from: 'server' });

describe('createOrUpdate', () => {
  it('creates what is not there: the given object, changed', async () => {
    const made = await createOrUpdate(client, testConfigMaps, {
      object,
      mutate: (map) => void Object.assign(map.data ?? {}, { more: 'x' }),
    });
    const expected = { apiVersion: 'v1', kind: 'ConfigMap', metadata: at, data: { from: 'object', more: 'x' } };
    expect(made).toEqual({ result: 'created', object: expected });
    expect(calls).toEqual([
      ['get', at, {}],
      ['create', expected, {}],
    ]);
    expect(object.data).toEqual({ from: 'object' });
  });

  it('updates what is there, at the version that it read, also by an async function', async () => {
    server = Object.freeze(stored());
    const made = await createOrUpdate(client, testConfigMaps, {
      object,
      fieldManager: 'me',
      dryRun: true,
      timeoutMs: 5,
      mutate: async (map) => {
        await Promise.resolve();
        map.data = { to: 'x' };
      },
    });
    const expected = { ...server, data: { to: 'x' } };
    expect(made).toEqual({ result: 'updated', object: expected });
    expect(calls).toEqual([
      ['get', at, { timeoutMs: 5 }],
      ['update', expected, { fieldManager: 'me', dryRun: true, timeoutMs: 5 }],
    ]);
  });

  it('writes nothing when nothing changes; a field that becomes undefined where there was none is no change', async () => {
    server = stored();
    const made = await createOrUpdate(client, testConfigMaps, {
      object,
      mutate: (map) => {
        map.data = Object.assign(Object.create(null), { from: 'server', none: undefined });
      },
    });
    expect(made).toEqual({ result: 'unchanged', object: server });
    expect(calls.map((call) => (call as unknown[])[0])).toEqual(['get']);
  });

  it('counts an object without a change as wanted', async () => {
    server = stored();
    const wanted: unknown[] = [];
    const observed = new ObservedClient({ client, wanted: (_kind, target) => void wanted.push(target) });
    await createOrUpdate(observed, testConfigMaps, { object, mutate: () => undefined });
    expect(wanted).toEqual([at]);
  });

  it('gives on what the server refuses, and what the function throws', async () => {
    const conflictError = conflict(group, 'a', 'changed');
    const refusing = { ...client, create: () => Promise.reject(conflictError), get: client.get } as ResourceClient;
    const mutate = () => undefined;
    await expect(createOrUpdate(refusing, testConfigMaps, { object, mutate })).rejects.toBe(conflictError);
    const forbidden = { ...client, get: () => Promise.reject(conflictError) } as ResourceClient;
    await expect(createOrUpdate(forbidden, testConfigMaps, { object, mutate })).rejects.toBe(conflictError);
    const failure = new Error('mine');
    const failing = { object, mutate: () => Promise.reject(failure) };
    await expect(createOrUpdate(client, testConfigMaps, failing)).rejects.toBe(failure);
  });

  it.each<[string, object, string]>([
    [
      'another name',
      { object, mutate: (map: TestConfigMap) => void Object.assign(map, { metadata: { name: 'b' } }) },
      'may not change',
    ],
    ['no name', { object: {}, mutate: () => undefined }, 'a target, such as { namespace, name }, must be an object'],
    ['no object', { mutate: () => undefined }, 'object must be an object, not undefined'],
    ['no function', { object }, 'mutate must be a function, not undefined'],
  ])('refuses with TypeError %s', async (_what, wanted, message) => {
    const failure: unknown = await createOrUpdate(client, testConfigMaps, wanted as never).catch((error) => error);
    expect(failure).toBeInstanceOf(TypeError);
    expect(String(failure)).toContain(message);
    expect(calls.filter((call) => (call as unknown[])[0] !== 'get')).toEqual([]);
  });
});
