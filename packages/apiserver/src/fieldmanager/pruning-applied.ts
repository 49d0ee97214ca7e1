// What an apply takes out: what its manager applied the last time and applies no more, unless someone owns it still.
// Used by updater.ts. Source: structured-merge-diff merge.Updater prune.
import type { SchemaNode } from '../schema/schema-node.ts';
import type { FieldSet } from './field-set.ts';
import { fieldSetOf, withNamedFields } from './field-set-from-object.ts';
import type { ManagedSet, Managers } from './managed-fields.ts';
import { removeItems } from './remove-items.ts';
import type { VersionViews } from './version-views.ts';

export interface Pruning {
  /** With what the manager applies now. */
  readonly managers: Managers;
  /** What it applied before, in whatever version. */
  readonly last: ManagedSet | undefined;
  readonly fields: FieldSet;
  readonly own: { readonly apiVersion: string; readonly schema: SchemaNode };
  readonly versions: VersionViews;
}

/** Throws ConversionError when a version in which someone owns fields cannot show the object. */
export function prune(merged: unknown, { managers, last, fields, own, versions }: Pruning): unknown {
  if (last === undefined) return merged;
  // Whoever still applies all that it applied before takes nothing out.
  if (last.apiVersion === own.apiVersion && last.fields.difference(fields).isEmpty) return merged;
  const at = (apiVersion: string): Shape => shapeIn(apiVersion, { own, versions });
  const lastShape = at(last.apiVersion);
  const lastNamed = withNamedFields(last.fields, lastShape.schema);
  const all = lastShape.show(merged);
  let pruned = lastShape.back(removeItems(all, lastNamed, lastShape.schema));
  for (const [apiVersion, owned] of ownedByVersion(managers, last.apiVersion)) {
    pruned = withOwned({ merged, pruned }, owned, at(apiVersion));
  }
  const allSet = setOf(all, lastShape.schema);
  const keptSet = setOf(lastShape.show(pruned), lastShape.schema);
  return lastShape.back(removeItems(all, allSet.difference(keptSet).intersection(lastNamed), lastShape.schema));
}

/** How an object of the own version looks in another one, and back. */
interface Shape {
  readonly schema: SchemaNode;
  show(object: unknown): unknown;
  back(object: unknown): unknown;
}

function shapeIn(apiVersion: string, { own, versions }: Pick<Pruning, 'own' | 'versions'>): Shape {
  const view = apiVersion === own.apiVersion ? undefined : versions.view(apiVersion);
  if (view === undefined) return { schema: own.schema, show: (object) => object, back: (object) => object };
  return { schema: view.schema, show: (object) => view.show(object, 'merged'), back: (object) => view.back(object) };
}

/** The version of what was applied before comes first: what is needed to convert at all is back then. */
function ownedByVersion(managers: Managers, first: string): ReadonlyMap<string, FieldSet> {
  const owned = new Map<string, FieldSet>();
  const sets = [...managers.values()];
  for (const { apiVersion, fields } of [
    ...sets.filter((set) => set.apiVersion === first),
    ...sets.filter((set) => set.apiVersion !== first),
  ]) {
    owned.set(apiVersion, owned.get(apiVersion)?.union(fields) ?? fields);
  }
  return owned;
}

function withOwned(
  { merged, pruned }: { readonly merged: unknown; readonly pruned: unknown },
  owned: FieldSet,
  { schema, show, back }: Shape,
): unknown {
  const whole = show(merged);
  const kept = setOf(show(pruned), schema).union(withNamedFields(owned, schema));
  return back(removeItems(whole, setOf(whole, schema).difference(kept), schema));
}

function setOf(object: unknown, schema: SchemaNode): FieldSet {
  return withNamedFields(fieldSetOf(object, schema), schema);
}
