import { describe, expect, it } from 'vitest';
import { type ContentReport, conditionsWith } from './namespace-conditions.ts';

const nothing: ContentReport = { errors: [], remaining: new Map(), finalizers: new Map() };
const first = '2026-01-01T00:00:00Z';
const later = '2026-01-01T00:01:00Z';
const at = (time: string): number => Date.parse(time);
const of = (type: string, report: ContentReport) =>
  conditionsWith([], report, at(first))?.find((condition) => condition.type === type);

describe('conditionsWith', () => {
  it('tells of all that did not fail', () => {
    const conditions = conditionsWith([], nothing, at(first)) ?? [];
    expect(conditions.map(({ type, status, reason, message }) => [type, status, reason, message])).toEqual([
      ['NamespaceDeletionDiscoveryFailure', 'False', 'ResourcesDiscovered', 'All resources successfully discovered'],
      [
        'NamespaceDeletionGroupVersionParsingFailure',
        'False',
        'ParsedGroupVersions',
        'All legacy kube types successfully parsed',
      ],
      [
        'NamespaceDeletionContentFailure',
        'False',
        'ContentDeleted',
        'All content successfully deleted, may be waiting on finalization',
      ],
      ['NamespaceContentRemaining', 'False', 'ContentRemoved', 'All content successfully removed'],
      ['NamespaceFinalizersRemaining', 'False', 'ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
    ]);
    expect(conditions.every(({ lastTransitionTime }) => lastTransitionTime === first)).toBe(true);
  });

  it('lists what failed, what is left and what holds it, in order', () => {
    const report: ContentReport = {
      errors: ['b is broken', 'a is broken'],
      remaining: new Map([
        ['pods.', 2],
        ['deployments.apps', 1],
      ]),
      finalizers: new Map([
        ['z.io/f', 1],
        ['a.io/f', 3],
      ]),
    };
    expect(of('NamespaceDeletionContentFailure', report)).toMatchObject({
      status: 'True',
      reason: 'ContentDeletionFailed',
      message: 'Failed to delete all resource types, 2 remaining: a is broken, b is broken',
    });
    expect(of('NamespaceContentRemaining', report)).toMatchObject({
      status: 'True',
      reason: 'SomeResourcesRemain',
      message:
        'Some resources are remaining: deployments.apps has 1 resource instances, pods. has 2 resource instances',
    });
    expect(of('NamespaceFinalizersRemaining', report)).toMatchObject({
      status: 'True',
      reason: 'SomeFinalizersRemain',
      message:
        'Some content in the namespace has finalizers remaining: a.io/f in 3 resource instances, z.io/f in 1 resource instances',
    });
  });

  it('is undefined when nothing has changed', () => {
    const conditions = conditionsWith([], nothing, at(first)) ?? [];
    expect(conditionsWith(conditions, nothing, at(later))).toBeUndefined();
  });

  it('moves the transition time with the status only, and leaves other conditions alone', () => {
    const left = (count: number): ContentReport => ({ ...nothing, remaining: new Map([['pods.', count]]) });
    const other = { type: 'example.com/Other', status: 'True' };
    const two = conditionsWith([other], left(2), at(first)) ?? [];
    const one = conditionsWith(two, left(1), at(later)) ?? [];
    const none = conditionsWith(one, nothing, at(later)) ?? [];
    const remaining = (list: typeof two) => list.find(({ type }) => type === 'NamespaceContentRemaining');
    expect(remaining(one)).toMatchObject({ lastTransitionTime: first, message: expect.stringContaining('has 1 ') });
    expect(remaining(none)).toMatchObject({ lastTransitionTime: later, status: 'False' });
    expect(none[0]).toEqual(other);
    expect(remaining(two)?.message).toContain('has 2 ');
  });
});
