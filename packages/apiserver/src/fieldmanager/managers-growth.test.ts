// The cost of tracking and applying as managers, fields and depth grow, and the limits of answers.

import { isStatusError, type StatusError, type UnstructuredObject } from '@kapstan/api';
import { type ManagedFieldsEntry, runWhole } from '@kapstan/api/internal';
import { describe, expect, it } from 'vitest';
import type { RequestContext } from '../registry/definition/request-context.ts';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import { cpuGrowth } from '../testing/cpu-growth.ts';
import { factTypes } from '../testing/fact-types.ts';
import { type ApplyCall, FieldManager } from './field-manager.ts';
import { FieldSet } from './field-set.ts';
import { fieldSetOf } from './field-set-from-object.ts';
import { capUpdateManagers, decodeManagedFields, encodeManagedFields } from './managed-fields.ts';
import { compareTyped } from './typed-comparison.ts';
import { mergeTyped } from './typed-merge.ts';

const times = <T>(count: number, of: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => of(i));
const members = <T>(count: number, of: (index: number) => T, prefix = 'k'): Record<string, T> =>
  Object.fromEntries(times(count, (i) => [`${prefix}${i}`, of(i)]));
const entry = (manager: string, second: number, fields: readonly string[]): ManagedFieldsEntry => ({
  ...{ manager, operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1' },
  time: `2020-01-02T03:${String(Math.floor(second / 60)).padStart(2, '0')}:${String(second % 60).padStart(2, '0')}Z`,
  fieldsV1: { 'f:data': Object.fromEntries(fields.map((name) => [`f:${name}`, {}])) },
});
const capped = (entries: readonly ManagedFieldsEntry[]): ManagedFieldsEntry[] => {
  const managers = runWhole(decodeManagedFields(entries));
  runWhole(capUpdateManagers(managers));
  return runWhole(encodeManagedFields(managers));
};

const text: SchemaNode = { type: 'string' };
const schema: SchemaNode = {
  type: 'object',
  properties: new Map<string, SchemaNode>([
    ['set', { type: 'array', listType: 'set', items: text }],
    ['any', { preserveUnknownFields: true }],
  ]),
};

describe('the cost is linear', { timeout: 60_000 }, () => {
  it('of putting many updaters together', () => {
    const entries = (n: number) =>
      times(n, (i) =>
        entry(
          `m${i}`,
          i,
          times(40, (j) => `k${i}-${j}`),
        ),
      );
    const work = (n: number) => {
      const managers = runWhole(decodeManagedFields(entries(n)));
      return () => runWhole(capUpdateManagers(new Map(managers)));
    };
    // 48,000 paths do not fit the processor's cache and 12,000 do: a ratio of up to 10 was measured for linear cost.
    expect(cpuGrowth(work, 300)).toBeLessThan(12);
  });

  it('of merging a set whose items are live in another order', () => {
    const items = (n: number) => times(n, (i) => `item-${i}`);
    const work = (n: number) => {
      const [live, applied] = [{ set: items(n) }, { set: items(n).reverse() }];
      return () => runWhole(mergeTyped(live, applied, { node: schema }));
    };
    expect(cpuGrowth(work, 10_000)).toBeLessThan(9);
  });

  it('of finding a change, however deep it lies', () => {
    const nested = (depth: number, leaf: string) => {
      let value: unknown = leaf;
      // The change is last at each level, so code that compares each level again passes all other members each time.
      for (let level = 0; level < depth; level++) value = { ...members(200, () => 'x'), z: value };
      return { any: value };
    };
    const work = (depth: number) => {
      const [old, next] = [nested(depth, 'old'), nested(depth, 'new')];
      return () => runWhole(compareTyped(old, next, schema));
    };
    expect(cpuGrowth(work, 60)).toBeLessThan(9);
  });

  it('of comparing sets: that of the smaller one', () => {
    const large = runWhole(fieldSetOf({ any: members(20_000, () => 'x') }, schema));
    const owned = FieldSet.of(['f:any', 'f:other']);
    const work = (n: number) => () => {
      for (let round = 0; round < n; round++) {
        runWhole(owned.difference(large));
        runWhole(owned.intersection(large));
      }
    };
    const alone = (n: number) => () => {
      for (let round = 0; round < n; round++) {
        runWhole(owned.difference(owned));
        runWhole(owned.intersection(owned));
      }
    };
    // The same number of rounds, with a set of 20,000 paths and with one path.
    expect(cpuGrowth((n) => (n === 1_000 ? alone(1_000) : work(1_000)), 1_000)).toBeLessThan(4);
  });
});

describe('updaters beyond the tenth', () => {
  const shown = (entries: readonly ManagedFieldsEntry[]) =>
    entries.map(({ manager, fieldsV1 }) => `${manager}: ${Object.keys((fieldsV1 as never)['f:data']).join(' ')}`);
  const younger = times(10, (i) => entry(`n${i}`, i + 4, [`k${i + 3}`]));

  it('become one that is named ancient-changes, and is of the time of the youngest in it', () => {
    const result = capped(times(14, (i) => entry(`m${i}`, i, [`k${i}`])));
    expect(result).toHaveLength(10);
    expect(shown(result)[0]).toBe('ancient-changes: f:k0 f:k1 f:k2 f:k3 f:k4');
    expect(result[0]?.time).toBe('2020-01-02T03:00:04Z');
  });

  // As in kube-apiserver 1.36, the contents of that bucket are lost.
  it('leave out an older ancient-changes that is not the oldest of its version', () => {
    const oldest = [entry('m0', 0, ['k0']), entry('m1', 1, ['k1']), entry('m2', 2, ['k2'])];
    const result = capped([...oldest, entry('ancient-changes', 3, ['k20']), ...younger]);
    expect(shown(result).slice(0, 2)).toEqual(['ancient-changes: f:k0 f:k3', 'n1: f:k4']);
    expect(result).toHaveLength(10);
  });

  it('go into an ancient-changes that is the oldest', () => {
    const oldest = [entry('ancient-changes', 0, ['k20']), entry('m1', 1, ['k1']), entry('m2', 2, ['k2'])];
    expect(shown(capped([...oldest, ...younger])).slice(0, 2)).toEqual([
      'ancient-changes: f:k1 f:k2 f:k20 f:k3',
      'n1: f:k4',
    ]);
  });
});

describe('an answer to an apply', () => {
  const definition = {
    ...{ group: '', version: 'v1', kind: 'ConfigMap', strategy: {}, subresources: [] },
    schema: factTypes.schemaOfKind('v1', 'ConfigMap') as SchemaNode,
  } as unknown as ResourceDefinition;
  const call = (fieldManager: string): ApplyCall => {
    const context = { fieldManager, fieldValidation: 'Warn', warn: () => undefined } as unknown as RequestContext;
    return { context, definition, subresource: '', force: false };
  };
  const configMap = (data: object): UnstructuredObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'c' },
    data,
  });
  const manager = new FieldManager();
  const refusal = (live: UnstructuredObject | undefined, applied: UnstructuredObject): StatusError => {
    try {
      runWhole(manager.apply(live, applied, call('b')));
    } catch (error) {
      if (isStatusError(error)) return error;
      throw error;
    }
    throw new Error('expected a refusal');
  };

  it('names a thousand conflicts, and says how many there are', () => {
    const live = runWhole(manager.apply(undefined, configMap(members(3_000, () => 'x')), call('a')));
    const { status } = refusal(live, configMap(members(3_000, () => 'y')));
    expect(status.details?.causes).toHaveLength(1_000);
    expect(status.message).toMatch(/^Apply failed with 3000 conflicts: conflicts with "a":\n- \.data\.k0\n/);
    expect(status.message).toMatch(/\nand 2000 more$/);
  });

  it('names fewer conflicts where their paths are long', () => {
    const long = 'x'.repeat(5_000);
    const live = runWhole(manager.apply(undefined, configMap(members(500, () => 'x', long)), call('a')));
    const { status } = refusal(live, configMap(members(500, () => 'y', long)));
    expect(JSON.stringify(status).length).toBeLessThan(1_000_000);
    expect(status.message).toMatch(/^Apply failed with 500 conflicts: /);
  });

  it('names the first faults of a configuration, with the beginning of each value', () => {
    const { status } = refusal(undefined, configMap(members(20_000, () => members(10, () => 1))));
    expect(status.message).toMatch(/errors:\n {2}\.data\.k0: expected string, got &value.valueUnstructured\{Value:map/);
    expect(status.message).toMatch(/\n {2}and \d+ more$/);
    expect(status.message?.length).toBeLessThan(100_000);
  });
});
