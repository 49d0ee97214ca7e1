import { isBadRequest } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { collectionKey, objectKeyOf } from './key-functions.ts';

const pods = { root: '/registry/pods', namespaced: true };
const nodes = { root: '/registry/minions', namespaced: false };

describe('storage keys', () => {
  it('of a namespaced kind go through the namespace', () => {
    expect(collectionKey(pods, '')).toBe('/registry/pods');
    expect(collectionKey(pods, 'default')).toBe('/registry/pods/default');
    expect(objectKeyOf(pods, 'default', 'web')).toBe('/registry/pods/default/web');
  });

  it('of a kind without namespaces do not, whatever the request says', () => {
    expect(collectionKey(nodes, 'default')).toBe('/registry/minions');
    expect(objectKeyOf(nodes, '', 'n1')).toBe('/registry/minions/n1');
    expect(objectKeyOf(nodes, 'default', 'n1')).toBe('/registry/minions/n1');
  });

  it.each([
    ['', 'web', 'Namespace parameter required.'],
    ['default', '', 'Name parameter required.'],
    ['default', '.', `Name parameter invalid: ".": may not be '.'`],
    ['default', '..', `Name parameter invalid: "..": may not be '..'`],
    ['default', 'a/b', `Name parameter invalid: "a/b": may not contain '/'`],
    ['default', 'a%b', `Name parameter invalid: "a%b": may not contain '%'`],
  ])('of namespace %j and name %j are refused with 400', (namespace, name, message) => {
    expect(() => objectKeyOf(pods, namespace, name)).toThrow(expect.toSatisfy(isBadRequest));
    expect(() => objectKeyOf(pods, namespace, name)).toThrow(message);
  });
});
