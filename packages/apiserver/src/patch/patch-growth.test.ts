// The cost of a patch as its lists grow, as a ratio of CPU times with room for a busy machine: quadratic code took
// sixteen times as long for four times the items.

import { isStatusError, type UnstructuredObject } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import { cpuGrowth } from '../testing/cpu-growth.ts';
import { factTypes } from '../testing/fact-types.ts';
import { applyPatch } from '../testing/whole-work.ts';
import type { PatchType } from './apply-patch.ts';

const schema = factTypes.schemaOfKind('v1', 'Pod') as SchemaNode;
const gvk = { group: '', version: 'v1', kind: 'Pod' };
const options = { schema, gvk, fieldValidation: 'Warn', warn: () => undefined } as const;

const times = <T>(count: number, of: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => of(i));
const pod = (spec: object, metadata: object = {}): UnstructuredObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', ...metadata },
  spec,
});
const named = (count: number, more: object = {}) => times(count, (i) => ({ name: `c${i}`, ...more }));
const finalizers = (count: number) => times(count, (i) => `a.io/f${i}`);

interface Trial {
  readonly type: PatchType;
  readonly present: (n: number) => UnstructuredObject;
  readonly patch: (n: number) => unknown;
}

function prepare({ type, present, patch }: Trial, n: number): () => unknown {
  const [object, body] = [present(n), new TextEncoder().encode(JSON.stringify(patch(n)))];
  return () => {
    try {
      return applyPatch(object, { type, body }, options);
    } catch (error) {
      if (!isStatusError(error)) throw error;
      return error;
    }
  };
}

describe('the cost of a patch is linear', () => {
  it.each<readonly [what: string, trial: Trial]>([
    [
      'that deletes many items of a list by $patch',
      {
        type: 'strategic',
        present: (n) => pod({ containers: named(n) }),
        patch: (n) => ({ spec: { containers: named(n, { $patch: 'delete' }) } }),
      },
    ],
    [
      'that takes many values from a list of scalars',
      {
        type: 'strategic',
        present: (n) => pod({}, { finalizers: finalizers(n) }),
        patch: (n) => ({ metadata: { '$deleteFromPrimitiveList/finalizers': finalizers(n).reverse() } }),
      },
    ],
    [
      'that orders a list in an order of its own',
      {
        type: 'strategic',
        present: (n) => pod({ containers: named(n) }),
        patch: (n) => {
          const order = times(n, (i) => ({ name: `c${(i * 7919) % n}` }));
          return { spec: { '$setElementOrder/containers': order, containers: [] } };
        },
      },
    ],
  ])('%s', (_what, trial) => {
    expect(cpuGrowth((n) => prepare(trial, n), 4_000)).toBeLessThan(9);
  });
});

describe('an error of a patch', () => {
  it.each<readonly [type: PatchType, patch: unknown]>([
    ['merge', { metadata: { labels: Object.fromEntries(times(20_000, (i) => [`l${i}`, i])) } }],
    ['strategic', { metadata: { labels: Object.fromEntries(times(20_000, (i) => [`l${i}`, i])) } }],
    ['strategic', { spec: { containers: [...named(20_000), 'x'] } }],
    ['strategic', { spec: { '$setElementOrder/containers': named(20_000), containers: named(20_000).reverse() } }],
  ])('of type %s shows the beginning of a large value', (type, patch) => {
    const error = prepare({ type, present: () => pod({ containers: named(1) }), patch: () => patch }, 0)();
    if (!isStatusError(error)) throw new Error('expected a refusal');
    expect(error.message.length).toBeGreaterThan(60_000);
    expect(JSON.stringify(error.status).length).toBeLessThan(500_000);
  });
});
