// Who owns what after an update or an apply: sets only, no objects' texts. Source: structured-merge-diff merge.Updater.

import { jsonEqual } from '../registry/json-equality.ts';
import type { SchemaNode } from '../schema/schema-node.ts';
import type { Conflict, Conflicts } from './conflicts.ts';
import { FieldSet } from './field-set.ts';
import { fieldSetOf, withAtomicsWhole, withNamedFields } from './field-set-from-object.ts';
import { type ManagerName, type Managers, managerId, withFields } from './managed-fields.ts';
import { removeItems } from './remove-items.ts';
import { type Comparison, compareTyped, excludeFields } from './typed-comparison.ts';
import { mergeTyped } from './typed-merge.ts';

export interface UpdaterCall {
  readonly live: unknown;
  readonly schema: SchemaNode;
  readonly manager: ManagerName;
  /** Fields that the endpoint resets: nobody owns them through it. */
  readonly ignored: FieldSet;
  /** RFC 3339, for the manager whose fields change. */
  readonly time: string;
}

/** Gives the manager what it added and changed, and takes it from the others. Changes `managers`. */
export function ownUpdate(managers: Managers, next: unknown, call: UpdaterCall): void {
  const comparison = excludeFields(compareTyped(call.live, next, call.schema), call.ignored);
  disown(managers, comparison);
  const taken = withoutMetadata(comparison.added.union(comparison.modified));
  if (taken.isEmpty) return;
  const id = managerId(call.manager);
  const before = managers.get(id)?.fields ?? new FieldSet();
  managers.set(id, { ...call.manager, fields: taken.union(before), time: call.time });
}

export interface OwnedApply {
  /** Undefined when the apply changes nothing in the object. */
  readonly object: unknown;
  readonly conflicts: Conflicts;
}

/**
 * Merges `applied` into the live object, takes out what the manager applied before and applies no more, and gives it
 * the fields it applies. Conflicts are returned, with `managers` then unfinished, unless `force` is set.
 */
export function ownApply(
  managers: Managers,
  applied: unknown,
  call: UpdaterCall & { readonly force: boolean },
): OwnedApply {
  const { live, schema, manager } = call;
  followSchema(managers, call);
  const id = managerId(manager);
  const last = managers.get(id);
  const fields = fieldSetOf(applied, schema).recursiveDifference(call.ignored);
  managers.set(id, { ...manager, fields, time: last?.time });
  const merged =
    prune(mergeTyped(live, applied, schema), { managers, last: last?.fields ?? new FieldSet(), fields, schema }) ?? {};
  const comparison = excludeFields(compareTyped(live, merged, schema), call.ignored);
  const conflicts = conflictsOf(managers, comparison, id);
  if (!call.force && conflicts.size > 0) return { object: undefined, conflicts };
  disown(managers, comparison, id);
  stripMetadata(managers, id);
  const isSame = jsonEqual(live, merged);
  const set = managers.get(id);
  if (set !== undefined && !isSame) managers.set(id, { ...set, time: call.time });
  return { object: isSame ? undefined : merged, conflicts: new Map() };
}

function followSchema(managers: Managers, { schema, manager }: UpdaterCall): void {
  for (const [id, set] of managers) {
    if (set.apiVersion === manager.apiVersion) managers.set(id, withFields(set, withAtomicsWhole(set.fields, schema)));
  }
}

function conflictsOf(managers: Managers, { added, modified }: Comparison, self: string): Conflicts {
  const changed = added.union(modified);
  const conflicts = new Map<string, Conflict>();
  for (const [id, owner] of managers) {
    const fields = id === self ? new FieldSet() : owner.fields.intersection(changed);
    if (!fields.isEmpty) conflicts.set(id, { owner, fields });
  }
  return conflicts;
}

/** Takes what changed and what is gone from all managers but one, and drops managers that own nothing any more. */
function disown(managers: Managers, { added, modified, removed }: Comparison, self?: string): void {
  const gone = added.union(modified).union(removed);
  for (const [id, set] of managers) {
    const fields = id === self ? set.fields : set.fields.difference(gone);
    if (fields.isEmpty) managers.delete(id);
    else managers.set(id, withFields(set, fields));
  }
}

interface Pruning {
  readonly managers: Managers;
  /** What the manager applied the last time, and applies now. */
  readonly last: FieldSet;
  readonly fields: FieldSet;
  readonly schema: SchemaNode;
}

/** Without what the manager applied before, unless someone (the manager included) owns it still. */
function prune(merged: unknown, { managers, last, fields, schema }: Pruning): unknown {
  // Whoever still applies all that it applied before takes nothing out.
  if (last.difference(fields).isEmpty) return merged;
  const lastNamed = withNamedFields(last, schema);
  const mergedSet = withNamedFields(fieldSetOf(merged, schema), schema);
  const withoutLast = removeItems(merged, lastNamed, schema);
  let owned = new FieldSet();
  for (const set of managers.values()) owned = owned.union(set.fields);
  const kept = withNamedFields(fieldSetOf(withoutLast, schema), schema).union(withNamedFields(owned, schema));
  const withOwned = removeItems(merged, mergedSet.difference(kept), schema);
  const keptSet = withNamedFields(fieldSetOf(withOwned, schema), schema);
  return removeItems(merged, mergedSet.difference(keptSet).intersection(lastNamed), schema);
}

// What identifies an object or belongs to the server is nobody's. Source: managedfields stripMetaManager.
const metadataNames = [
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'clusterName',
  'generation',
  'managedFields',
  'resourceVersion',
];
const unowned: FieldSet = FieldSet.of(
  ['f:apiVersion'],
  ['f:kind'],
  ['f:metadata'],
  ...metadataNames.map((name) => ['f:metadata', `f:${name}`]),
);

function withoutMetadata(fields: FieldSet): FieldSet {
  return fields.difference(unowned);
}

function stripMetadata(managers: Managers, id: string): void {
  const set = managers.get(id);
  if (set === undefined) return;
  const fields = withoutMetadata(set.fields);
  if (fields.isEmpty) managers.delete(id);
  else managers.set(id, withFields(set, fields));
}
