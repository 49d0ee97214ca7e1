import { everyField, everyLabel, type UnstructuredObject } from '@kapstan/api';
import { defaultAttributes, type Storage, Stored } from '@kapstan/storage';
import { describe, expect, it } from 'vitest';
import { ConvertedStorage } from './converted-storage.ts';

const object = (version: string): UnstructuredObject => ({ apiVersion: `x.io/${version}`, kind: 'W', metadata: {} });
const storedAs = (version: string) => new Stored<UnstructuredObject>('/a', 7 as never, object(version));
const predicate = {
  labels: everyLabel,
  fields: everyField,
  getAttributes: defaultAttributes(true),
  limit: 0,
  continue: '',
  allowWatchBookmarks: false,
};

/** A storage of objects in v1 that answers each call with something of its own, and notes its members' names. */
function storageBelow(seen: string[]): Storage<UnstructuredObject> {
  const answers: Readonly<Record<string, () => unknown>> = {
    create: async () => storedAs('v1'),
    get: async () => storedAs('v1'),
    getList: async () => ({ resourceVersion: '7', items: [storedAs('v1')], continue: '' }),
    delete: async () => storedAs('v1'),
    deleteUnreadable: async () => 8,
    guaranteedUpdate: async () => storedAs('v1'),
    watch: () => ({ close: () => undefined }),
    stats: async () => ({ objectCount: 1, averageObjectBytes: 2 }),
    currentResourceVersion: async () => 9,
    readiness: () => new Error('not ready'),
    requestWatchProgress: async () => undefined,
    compactRevision: () => 4,
    isNewest: () => true,
  };
  const members = Object.entries(answers).map(([name, answer]) => {
    const call = (): unknown => {
      seen.push(name);
      return answer();
    };
    return [name, call] as const;
  });
  return { ...Object.fromEntries(members), supportsProgressRequests: true } as unknown as Storage<UnstructuredObject>;
}

function open(seen: string[]): ConvertedStorage {
  const conversion = {
    convert: async (objects: readonly object[]) => objects.map((one) => ({ ...one, apiVersion: 'x.io/v2' })),
  };
  const base = storageBelow(seen);
  return new ConvertedStorage({ base, conversion: conversion as never, served: 'x.io/v2', stored: 'x.io/v1' });
}

type Call = (storage: ConvertedStorage) => unknown;
type Passed = Exclude<keyof ConvertedStorage, 'close' | 'supportsProgressRequests'>;
const calls: Readonly<Record<Passed, readonly [call: Call, answer: unknown]>> = {
  create: [(storage) => storage.create('/a', object('v2')), expect.objectContaining({ revision: 7 })],
  get: [(storage) => storage.get('/a'), expect.objectContaining({ revision: 7 })],
  getList: [
    (storage) => storage.getList('/', { predicate, recursive: true }),
    expect.objectContaining({ resourceVersion: '7' }),
  ],
  delete: [(storage) => storage.delete('/a'), expect.objectContaining({ revision: 7 })],
  deleteUnreadable: [(storage) => storage.deleteUnreadable('/a'), 8],
  guaranteedUpdate: [
    (storage) => storage.guaranteedUpdate('/a', () => ({ object: object('v2') })),
    expect.objectContaining({ revision: 7 }),
  ],
  watch: [
    (storage) =>
      storage.watch('/', { predicate, recursive: true }, { onEvent: () => undefined, onEnd: () => undefined }),
    expect.anything(),
  ],
  stats: [(storage) => storage.stats(), { objectCount: 1, averageObjectBytes: 2 }],
  currentResourceVersion: [(storage) => storage.currentResourceVersion(), 9],
  readiness: [(storage) => storage.readiness(), new Error('not ready')],
  requestWatchProgress: [(storage) => storage.requestWatchProgress(), undefined],
  compactRevision: [(storage) => storage.compactRevision(), 4],
};

describe('ConvertedStorage', () => {
  it.each(Object.entries(calls))('asks the storage below once for %s', async (name, [call, answer]) => {
    const seen: string[] = [];
    expect(await call(open(seen))).toEqual(answer);
    expect(seen).toEqual([name]);
  });

  it('tells of progress as the storage below does', () => {
    expect(open([]).supportsProgressRequests).toBe(true);
  });

  it('cannot tell what a read would find, because that is converted anew', () => {
    expect((open([]) as Storage<UnstructuredObject>).isNewest).toBeUndefined();
  });

  it('leaves the storage below open', async () => {
    const seen: string[] = [];
    await open(seen).close();
    expect(seen).toEqual([]);
  });
});
