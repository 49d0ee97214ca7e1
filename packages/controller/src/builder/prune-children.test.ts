import type { ObjectTarget, Resource, ResourceClient } from '@kapstan/api';
import { conflict, notFound } from '@kapstan/api/errors';
import { configMap, testConfigMaps, testPods } from '@kapstan/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { ObservedClient } from '../cache/observed-client.ts';
import { pruneChildren, WantedObjects } from './prune-children.ts';

let deleted: unknown[];
let answers: Readonly<Record<string, Error>>;
beforeEach(() => {
  deleted = [];
  answers = {};
});

const base = {
  create: async (_kind: Resource, object: object) => ({
    ...object,
    metadata: { namespace: 'default', name: 'made-1' },
  }),
  update: async (_kind: Resource, object: object) => object,
  patch: async () => ({ metadata: {} }),
  apply: async (_kind: Resource, object: object) => object,
  delete: async (_kind: Resource, { name }: ObjectTarget, options: object) => {
    if (answers[name] !== undefined) throw answers[name];
    deleted.push([name, options]);
    return undefined;
  },
} as unknown as ResourceClient;

const child = (name: string, more: object = {}) => {
  const object = configMap({ namespace: 'default', name, resourceVersion: '3', uid: `uid-${name}` });
  return { ...object, metadata: { ...object.metadata, ...more } };
};
const children = ['a', 'b', 'made-1'].map((name) => child(name));
const names = (objects: readonly { readonly metadata?: { readonly name?: string } }[]) =>
  objects.map(({ metadata }) => metadata?.name);

function run() {
  const wanted = new WantedObjects();
  const client = new ObservedClient({ client: base, wanted: wanted.add });
  const prune = (options = {}) => pruneChildren({ client, kind: testConfigMaps, children, wanted }, options);
  return { client, wanted, prune };
}

describe('ctx.prune', () => {
  it('deletes the children that the run did not write, each as it was seen', async () => {
    const { client, prune } = run();
    await client.apply(testConfigMaps, child('a'), { fieldManager: 'x' });
    expect(names(await prune())).toEqual(['b', 'made-1']);
    const seen = (name: string) => ({
      preconditions: { uid: `uid-${name}`, resourceVersion: '3' },
      propagationPolicy: 'Background',
    });
    expect(deleted).toMatchObject([
      ['b', seen('b')],
      ['made-1', seen('made-1')],
    ]);
  });

  it('keeps what the run created, updated or patched, also where the server made the name', async () => {
    const { client, prune } = run();
    await client.create(testConfigMaps, { metadata: { namespace: 'default', generateName: 'made-' } });
    await client.update(testConfigMaps, child('a'));
    await client.patch(testConfigMaps, { namespace: 'default', name: 'b' }, { type: 'merge', body: {} });
    expect(await prune()).toEqual([]);
  });

  it('keeps what the run failed to write: it wants it', async () => {
    const { client } = run();
    const refusing = { ...base, apply: () => Promise.reject(new Error('refused')) } as ResourceClient;
    const wanted = new WantedObjects();
    const failing = new ObservedClient({ client: refusing, wanted: wanted.add });
    await expect(failing.apply(testConfigMaps, child('a'), { fieldManager: 'x' })).rejects.toThrow('refused');
    expect(names(await pruneChildren({ client, kind: testConfigMaps, children, wanted }, {}))).not.toContain('a');
  });

  it('does not take objects of another kind or namespace for its own', async () => {
    const { client, prune } = run();
    await client.apply(testPods, child('a'), { fieldManager: 'x' });
    await client.apply(testConfigMaps, child('a', { namespace: 'other' }), { fieldManager: 'x' });
    expect(names(await prune({ dryRun: true }))).toEqual(['a', 'b', 'made-1']);
  });

  it('lists with dryRun, and deletes nothing', async () => {
    expect(names(await run().prune({ dryRun: true }))).toEqual(['a', 'b', 'made-1']);
    expect(deleted).toEqual([]);
  });

  it('leaves out what is being deleted already, and what is gone by now', async () => {
    const { client, wanted } = run();
    answers = { b: notFound({ group: '', resource: 'configmaps' }, 'b') };
    const going = child('c', { deletionTimestamp: '2026-01-01T00:00:00Z' });
    const pruned = await pruneChildren({ client, kind: testConfigMaps, children: [...children, going], wanted }, {});
    expect(names(pruned)).toEqual(['a', 'made-1']);
  });

  it('rejects for a child that was changed since it was seen', async () => {
    answers = { b: conflict({ group: '', resource: 'configmaps' }, 'b', 'changed') };
    await expect(run().prune()).rejects.toBe(answers.b);
  });

  it.each([
    ['an unknown option', { dryrun: true }, 'prune(): unknown option "dryrun"'],
    ['a word', { dryRun: 'yes' }, 'dryRun must be true or false, not "yes"'],
    ['true', true, 'options of prune(), such as { dryRun: true }, must be an object, not true'],
  ])('rejects with TypeError for %s', async (_what, options, message) => {
    const failure: unknown = await run()
      .prune(options as never)
      .catch((error) => error);
    expect(failure).toBeInstanceOf(TypeError);
    expect(String(failure)).toContain(message);
    expect(deleted).toEqual([]);
  });
});
