import { describe, expect, it } from 'vitest';
import { resource } from './resource.ts';
import { Scheme } from './scheme.ts';

const pods = resource({ group: '', version: 'v1', kind: 'Pod' });
const deployments = resource({ group: 'apps', version: 'v1', kind: 'Deployment' });
const foosBeta = resource({ group: 'example.com', version: 'v1beta1', kind: 'Foo' });
const foos = resource({ group: 'example.com', version: 'v1', kind: 'Foo' });

describe('Scheme', () => {
  const scheme = new Scheme([pods, deployments, foosBeta, foos]);

  it('finds the resource of a kind, of a resource and of an object', () => {
    expect(scheme.forKind({ group: '', version: 'v1', kind: 'Pod' })).toBe(pods);
    expect(scheme.forResource({ group: 'apps', version: 'v1', resource: 'deployments' })).toBe(deployments);
    expect(scheme.forObject({ apiVersion: 'example.com/v1', kind: 'Foo' })).toBe(foos);
    expect(scheme.forKind({ group: 'apps', version: 'v2', kind: 'Deployment' })).toBeUndefined();
    expect(scheme.forResource({ group: '', version: 'v1', resource: 'deployments' })).toBeUndefined();
    expect([...scheme.resources()]).toEqual([pods, deployments, foosBeta, foos]);
  });

  it('keeps the versions of a kind in the order of registration', () => {
    expect(scheme.versionsOf({ group: 'example.com', kind: 'Foo' })).toEqual(['v1beta1', 'v1']);
    expect(scheme.versionsOf({ group: 'example.com', kind: 'Bar' })).toEqual([]);
  });

  it('refuses objects that it cannot place', () => {
    expect(() => scheme.forObject({ apiVersion: 'v2', kind: 'Pod' })).toThrow(
      'no kind "Pod" is registered for version "v2" in scheme',
    );
    expect(() => scheme.forObject({ kind: 'Pod' })).toThrow(TypeError);
    expect(() => scheme.forObject({ apiVersion: 'a/b/c', kind: 'Pod' })).toThrow(
      'unexpected GroupVersion string: a/b/c',
    );
  });

  it('takes the same resource twice and refuses another one for the same kind', () => {
    expect(() => scheme.register({ ...pods })).not.toThrow();
    expect(() => scheme.register({ ...pods, plural: 'podz' })).toThrow(
      /^Double registration of different types for v1, Kind=Pod/,
    );
  });
});
