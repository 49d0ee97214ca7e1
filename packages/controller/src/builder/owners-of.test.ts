import { configMap, testConfigMaps, testPods } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { isControlledBy, ownersOf } from './owners-of.ts';

const reference = (name: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name,
  uid: name,
  ...more,
});
const owned = (...ownerReferences: readonly ReturnType<typeof reference>[]) => ({
  ...configMap({ name: 'child', namespace: 'here' }),
  metadata: { name: 'child', namespace: 'here', ownerReferences: [...ownerReferences] },
});

describe('ownersOf', () => {
  const two = owned(reference('a'), reference('b', { controller: true }));

  it('names every owner of the kind, in the namespace of the object', () => {
    expect(ownersOf(testConfigMaps)(two)).toEqual([
      { namespace: 'here', name: 'a' },
      { namespace: 'here', name: 'b' },
    ]);
  });

  it('names the controlling owner alone when told so', () => {
    expect(ownersOf(testConfigMaps, { isController: true })(two)).toEqual([{ namespace: 'here', name: 'b' }]);
  });

  it('gives cluster-scoped owners no namespace', () => {
    const kind = { ...testConfigMaps, scope: 'Cluster' } as const;
    expect(ownersOf(kind)(owned(reference('a')))).toEqual([{ name: 'a' }]);
  });

  it('goes by group and kind, whatever the version', () => {
    const kind = { ...testConfigMaps, group: 'demo.dev' };
    const map = ownersOf(kind);
    expect(map(owned(reference('a', { apiVersion: 'demo.dev/v9' })))).toEqual([{ namespace: 'here', name: 'a' }]);
    expect(map(owned(reference('a', { apiVersion: 'other.dev/v1' }), reference('b')))).toEqual([]);
    expect(ownersOf(testPods)(two)).toEqual([]);
  });

  it('names nothing for an object without owners', () => {
    expect(ownersOf(testConfigMaps)(configMap({ name: 'a' }))).toEqual([]);
    expect(ownersOf(testConfigMaps)({})).toEqual([]);
  });

  it.each<[string, () => unknown, string]>([
    ['no kind', () => ownersOf(undefined as never), 'ownersOf() takes a resource'],
    ['an unknown option', () => ownersOf(testPods, { controller: true } as never), 'ownersOf(): unknown option'],
    ['a word', () => ownersOf(testPods, { isController: 'yes' } as never), 'isController must be true or false'],
    ['no options', () => ownersOf(testPods, true as never), 'options of ownersOf(), such as { isController: true }'],
  ])('refuses with TypeError %s', (_what, call, message) => {
    expect(call).toThrow(TypeError);
    expect(call).toThrow(message);
  });
});

describe('isControlledBy', () => {
  const owner = { metadata: { name: 'b', uid: 'b' } };

  it('is true for the controlling owner alone, which is found by its uid', () => {
    expect(isControlledBy(owned(reference('a'), reference('b', { controller: true })), owner)).toBe(true);
    expect(isControlledBy(owned(reference('b')), owner)).toBe(false);
    expect(isControlledBy(owned(reference('b', { controller: true, uid: 'of a former b' })), owner)).toBe(false);
    expect(isControlledBy({}, owner)).toBe(false);
  });

  it('is false for an owner that is not stored yet', () => {
    const anonymous = owned({ ...reference('b', { controller: true }), uid: undefined as never });
    expect(isControlledBy(anonymous, { metadata: { name: 'b' } })).toBe(false);
  });
});
