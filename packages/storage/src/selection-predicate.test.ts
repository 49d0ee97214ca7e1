import { pod } from '@kapstan/api/testing';
import { describe, expect, it, vi } from 'vitest';
import { defaultAttributes, isEverything, matches, matchesSingleName } from './selection-predicate.ts';
import { podAttributes, podOf, predicate } from './testing/storage-fixture.ts';

const web = podOf('ns/web', { labels: { app: 'web', tier: 'front' }, node: 'n1' });

describe('a selection predicate', () => {
  it.each([
    ['app=web', 'metadata.name=web', true],
    ['app=web', 'metadata.name=other', false],
    ['app=db', 'metadata.name=web', false],
    ['app=db', 'metadata.name=other', false],
    ['app=web', '', true],
    ['app=db', '', false],
    ['', 'spec.nodeName=n1', true],
    ['', 'spec.nodeName!=n1', false],
    ['app in (web, db),tier', 'metadata.namespace=ns,spec.nodeName=n1', true],
    ['!tier', '', false],
    ['', 'spec.unknown=', true],
  ])('of labels %j and fields %j: %s', (labels, fields, expected) => {
    expect(matches(predicate({ labels, fields }), web)).toBe(expected);
  });

  it('of nothing matches without looking at the object', () => {
    const getAttributes = vi.fn(podAttributes);
    const everything = { ...predicate(), getAttributes };
    expect([isEverything(everything), matches(everything, web)]).toEqual([true, true]);
    expect(getAttributes).not.toHaveBeenCalled();
    expect(isEverything(predicate({ labels: 'a' }))).toBe(false);
    expect(isEverything(predicate({ fields: 'metadata.name=a' }))).toBe(false);
  });

  it.each([
    ['metadata.name=a', 'a'],
    ['metadata.name=a,spec.nodeName=n1', 'a'],
    ['metadata.name!=a', undefined],
    ['spec.nodeName=a', undefined],
    ['', undefined],
  ])('of fields %j asks for the one name %j', (fields, name) => {
    expect(matchesSingleName(predicate({ fields }))).toBe(name);
    expect(matchesSingleName(predicate({ fields, continue: 'x' })), 'on a later page').toBeUndefined();
  });

  it('throws what the attributes throw', () => {
    const throwing = {
      ...predicate({ labels: 'a' }),
      getAttributes: () => {
        throw new TypeError('none');
      },
    };
    expect(() => matches(throwing, web)).toThrow('none');
  });

  it('knows of every kind its labels, its name and, when it has one, its namespace', () => {
    const object = pod({ name: 'a', namespace: 'ns', labels: { x: '1' } });
    expect(defaultAttributes(true)(object)).toEqual({
      labels: { x: '1' },
      fields: { 'metadata.name': 'a', 'metadata.namespace': 'ns' },
    });
    expect(defaultAttributes(false)({})).toEqual({ labels: {}, fields: { 'metadata.name': '' } });
  });
});
