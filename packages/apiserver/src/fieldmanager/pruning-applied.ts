// Removes fields that a manager applied last time and no longer applies, unless another manager owns them. Used by
// updater.ts. Source: structured-merge-diff merge.Updater prune.
import { type SlicedWork, SlicePace } from '@kapstan/api/internal';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import { type FieldSet, unionOf } from './field-set.ts';
import { fieldSetOf, withNamedFields } from './field-set-from-object.ts';
import type { ManagedSet, Managers } from './managed-fields.ts';
import { removeItems } from './remove-items.ts';
import type { VersionViews } from './version-views.ts';

export interface Pruning {
  /** The managers, including the new set of the applying manager. */
  readonly managers: Managers;
  /** The manager's last apply, in whatever version. */
  readonly last: ManagedSet | undefined;
  readonly fields: FieldSet;
  readonly own: { readonly apiVersion: string; readonly schema: SchemaNode };
  readonly versions: VersionViews;
}

/**
 * Returns the pruned object. Throws ConversionError when the object cannot be shown in a version in which someone owns
 * fields.
 */
export function* prune(merged: unknown, { managers, last, fields, own, versions }: Pruning): SlicedWork<unknown> {
  if (last === undefined) return merged;
  // A manager that still applies everything it applied before removes nothing.
  if (last.apiVersion === own.apiVersion && (yield* last.fields.difference(fields)).isEmpty) return merged;
  const at = (apiVersion: string): Shape => shapeIn(apiVersion, { own, versions });
  const lastShape = at(last.apiVersion);
  const lastNamed = yield* withNamedFields(last.fields, lastShape.schema);
  const all = yield* lastShape.show(merged);
  let pruned = yield* lastShape.back(yield* without(all, lastNamed, lastShape.schema));
  for (const [apiVersion, owned] of yield* ownedByVersion(managers, last.apiVersion)) {
    pruned = yield* withOwned({ merged, pruned }, owned, at(apiVersion));
  }
  const allSet = yield* setOf(all, lastShape.schema);
  const keptSet = yield* setOf(yield* lastShape.show(pruned), lastShape.schema);
  const gone = yield* (yield* allSet.difference(keptSet)).intersection(lastNamed);
  return yield* lastShape.back(yield* without(all, gone, lastShape.schema));
}

/** Converts an object between the version of the request and another one. */
interface Shape {
  readonly schema: SchemaNode;
  show(object: unknown): SlicedWork<unknown>;
  back(object: unknown): SlicedWork<unknown>;
}

function shapeIn(apiVersion: string, { own, versions }: Pick<Pruning, 'own' | 'versions'>): Shape {
  const view = apiVersion === own.apiVersion ? undefined : versions.view(apiVersion);
  if (view === undefined) return { schema: own.schema, show: asItIs, back: asItIs };
  return { schema: view.schema, show: (object) => view.show(object, 'merged'), back: (object) => view.back(object) };
}

// biome-ignore lint/correctness/useYield: it has the form of a conversion, which can be long.
function* asItIs(object: unknown): SlicedWork<unknown> {
  return object;
}

/** The version of the last apply comes first, so that fields needed for the conversion are added back early. */
function* ownedByVersion(managers: Managers, first: string): SlicedWork<ReadonlyMap<string, FieldSet>> {
  const sets = new Map<string, FieldSet[]>();
  for (const { apiVersion, fields } of managers.values()) {
    const known = sets.get(apiVersion);
    if (known === undefined) sets.set(apiVersion, [fields]);
    else known.push(fields);
  }
  const owned = new Map<string, FieldSet>();
  const firstSets = sets.get(first);
  if (firstSets !== undefined) owned.set(first, yield* unionOf(firstSets));
  for (const [apiVersion, all] of sets) if (apiVersion !== first) owned.set(apiVersion, yield* unionOf(all));
  return owned;
}

function* withOwned(
  { merged, pruned }: { readonly merged: unknown; readonly pruned: unknown },
  owned: FieldSet,
  { schema, show, back }: Shape,
): SlicedWork<unknown> {
  const all = yield* show(merged);
  const kept = yield* (yield* setOf(yield* show(pruned), schema)).union(yield* withNamedFields(owned, schema));
  return yield* back(yield* without(all, yield* (yield* setOf(all, schema)).difference(kept), schema));
}

function* setOf(object: unknown, schema: SchemaNode): SlicedWork<FieldSet> {
  return yield* withNamedFields(yield* fieldSetOf(object, schema), schema);
}

function without(object: unknown, removed: FieldSet, node: SchemaNode): SlicedWork<unknown> {
  return removeItems(object, removed, { node, pace: new SlicePace() });
}
