import type { KubernetesObject, ObjectMeta } from '@kapstan/api';
import { objectKey } from '@kapstan/api';
import type { ObjectChange } from '@kapstan/informers';
import { describe, expect, it } from 'vitest';
import {
  allOf,
  annotationsChanged,
  anyOf,
  generationChanged,
  labelsChanged,
  notPredicate,
  type Predicate,
  resourceVersionChanged,
} from './predicate.ts';

const key = objectKey('default', 'a');
const updated = (before: ObjectMeta, after: ObjectMeta): ObjectChange<KubernetesObject> => ({
  type: 'updated',
  key,
  oldObject: { metadata: before },
  object: { metadata: after },
});
const added: ObjectChange<KubernetesObject> = { type: 'added', key, object: { metadata: {} }, isInInitialList: false };
const deleted: ObjectChange<KubernetesObject> = { type: 'deleted', key, object: undefined, isFinalStateUnknown: true };

describe('predicates', () => {
  it.each<[string, Predicate<KubernetesObject>, ObjectMeta, ObjectMeta]>([
    ['generationChanged', generationChanged, { generation: 1 }, { generation: 2 }],
    ['resourceVersionChanged', resourceVersionChanged, { resourceVersion: '1' }, { resourceVersion: '2' }],
    ['labelsChanged', labelsChanged, { labels: { a: '1' } }, { labels: { a: '2' } }],
    ['annotationsChanged', annotationsChanged, {}, { annotations: { a: '2' } }],
  ])('%s lets through additions, deletions and updates of just that', (_name, predicate, before, after) => {
    expect([added, deleted].map(predicate)).toEqual([true, true]);
    expect(predicate(updated(before, after))).toBe(true);
    expect(predicate(updated(before, { ...before, uid: 'other' }))).toBe(false);
  });

  it('can be combined', () => {
    const labelled = updated({}, { labels: { a: '1' } });
    expect(anyOf(generationChanged, labelsChanged)(labelled)).toBe(true);
    expect(allOf(generationChanged, labelsChanged)(labelled)).toBe(false);
    expect(notPredicate(labelsChanged)(labelled)).toBe(false);
  });
});
