// A strategy without special rules, and the steps that other strategies share. Kinds without facts, such as custom
// resources and the kinds of tests, spread it into theirs. Built-in kinds use typed-strategy.ts.

import type { DeepReadonly, KubernetesObject, ObjectMeta } from '@kapstan/api';
import { copyInSlices, getOwn, runWhole, type SlicedWork, setOwn } from '@kapstan/api/internal';
import { jsonEqualInSlices } from '../meta/json-equality.ts';
import { metaOf } from '../meta/object-meta.ts';
import type { ResourceStrategy } from './strategy.ts';

/** Accepts any object: no defaults, and no rules except for metadata. Updates must name a version and cannot create. */
export const defaultStrategy: ResourceStrategy<KubernetesObject> = {
  allowCreateOnUpdate: false,
  allowUnconditionalUpdate: false,
  prepareForCreate: () => undefined,
  validateCreate: () => [],
  prepareForUpdate: () => undefined,
  validateUpdate: () => [],
};

/** Wraps the strategy of an object whose status has its own endpoint: it neither sets nor changes `status`. */
export function withoutStatus<T extends KubernetesObject>(strategy: ResourceStrategy<T>): ResourceStrategy<T> {
  const { prepareForUpdateInSlices } = strategy;
  return {
    ...strategy,
    prepareForCreate: (object, context) => {
      delete (object as Record<string, unknown>).status;
      strategy.prepareForCreate(object, context);
    },
    prepareForUpdate: (next, old, context) => {
      runWhole(keepField(next, old, 'status'));
      strategy.prepareForUpdate(next, old, context);
    },
    prepareForCreateInSlices: undefined,
    prepareForUpdateInSlices: function* (next, old, context) {
      yield* keepField(next, old, 'status');
      if (prepareForUpdateInSlices === undefined) strategy.prepareForUpdate(next, old, context);
      else yield* prepareForUpdateInSlices(next, old, context);
    },
    resetFields: [...(strategy.resetFields ?? []), ['status']],
  };
}

/** Metadata that stays the same when a status is written: 'all' except managedFields, or 'none' of it. */
export type KeptMetadata = 'all' | 'none';

/** Returns the strategy of /status: everything except `status` keeps its old value, and nothing is created. */
export function statusStrategy<T extends KubernetesObject>(
  strategy: ResourceStrategy<T>,
  options: { readonly keeps: KeptMetadata },
): ResourceStrategy<T> {
  const prepare = function* (next: T, old: DeepReadonly<T>): SlicedWork<void> {
    for (const field of new Set([...Object.keys(next), ...Object.keys(old)])) {
      if (field !== 'status' && field !== 'metadata') yield* keepField(next, old, field);
    }
    if (options.keeps === 'all') next.metadata = yield* keptMetadata(metaOf(next), old.metadata ?? {});
  };
  return {
    ...strategy,
    allowCreateOnUpdate: false,
    prepareForUpdate: (next, old) => runWhole(prepare(next, old)),
    prepareForUpdateInSlices: prepare,
    resetFields: [['spec']],
  };
}

/** Returns the old metadata with the managed fields and version of the write. */
function* keptMetadata(next: ObjectMeta, old: DeepReadonly<ObjectMeta>): SlicedWork<ObjectMeta> {
  const { managedFields: _, ...rest } = old;
  const kept = (yield* copyInSlices(rest)) as ObjectMeta;
  if (next.managedFields !== undefined) kept.managedFields = next.managedFields;
  if (next.resourceVersion === undefined) delete kept.resourceVersion;
  else kept.resourceVersion = next.resourceVersion;
  return kept;
}

function* keepField<T extends KubernetesObject>(next: T, old: DeepReadonly<T>, field: string): SlicedWork<void> {
  const value = getOwn(old, field);
  if (value === undefined) delete (next as Record<string, unknown>)[field];
  else setOwn(next as Record<string, unknown>, field, yield* copyInSlices(value));
}

/** Sets metadata.generation of a new object whose kind counts the changes of its spec. */
export function startGeneration(object: KubernetesObject): void {
  metaOf(object).generation = 1;
}

/** Raises metadata.generation by one when anything but metadata and status differs. */
export function* bumpGenerationOnSpecChange<T extends KubernetesObject>(
  next: T,
  old: DeepReadonly<T>,
): SlicedWork<void> {
  const { metadata: _nextMeta, status: _nextStatus, ...nextSpec } = next as Record<string, unknown>;
  const { metadata: _oldMeta, status: _oldStatus, ...oldSpec } = old as Record<string, unknown>;
  if (!(yield* jsonEqualInSlices(nextSpec, oldSpec))) metaOf(next).generation = (old.metadata?.generation ?? 0) + 1;
}
