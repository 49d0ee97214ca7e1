// Who owns what after an update or an apply: sets only, no objects' texts. What managers own in other versions is
// compared and pruned in those (version-views.ts). Source: structured-merge-diff merge.Updater.

import { jsonEqual } from '../registry/json-equality.ts';
import type { SchemaNode } from '../schema/schema-node.ts';
import type { Conflict, Conflicts } from './conflicts.ts';
import { FieldSet } from './field-set.ts';
import { fieldSetOf, withAtomicsWhole } from './field-set-from-object.ts';
import { type ManagerName, type Managers, managerId, withFields } from './managed-fields.ts';
import { prune } from './pruning-applied.ts';
import { type Comparison, compareTyped, excludeFields } from './typed-comparison.ts';
import { mergeTyped } from './typed-merge.ts';
import type { VersionView, VersionViews } from './version-views.ts';

export interface UpdaterCall {
  readonly live: unknown;
  readonly schema: SchemaNode;
  readonly manager: ManagerName;
  /** Fields that the endpoint resets: nobody owns them through it. */
  readonly ignored: FieldSet;
  /** RFC 3339, for the manager whose fields change. */
  readonly time: string;
  /** How the object looks in other versions. */
  readonly versions: VersionViews;
}

/**
 * Gives the manager what it added and changed, and takes it from the others. Changes `managers`. Throws ConversionError
 * when a version in which someone owns fields cannot show the object.
 */
export function ownUpdate(managers: Managers, object: unknown, call: UpdaterCall): void {
  const { manager } = call;
  dropMissingVersions(managers, call);
  const compare = comparisons(call, object);
  const comparison = compare(manager.apiVersion);
  const self = managerId(manager);
  disown(managers, compare, self);
  const changed = comparison.added.union(comparison.modified);
  const taken = withoutMetadata(changed);
  const own = managers.get(self);
  // What the manager changes it keeps: a set that has it all stays the very same, encoded as it was.
  const gone = taken === changed ? comparison.removed : changesOf(comparison);
  const fields = (own?.fields ?? new FieldSet()).difference(gone).union(taken);
  if (fields.isEmpty) managers.delete(self);
  else {
    const next = own === undefined ? { ...manager, fields, time: undefined } : withFields(own, fields);
    managers.set(self, taken.isEmpty ? next : { ...next, time: call.time });
  }
}

/** What differs between the live object and the next, in each version in which someone owns fields. */
type Compare = (apiVersion: string) => Comparison;

function comparisons({ live, schema, ignored, manager, versions }: UpdaterCall, next: unknown): Compare {
  const known = new Map([[manager.apiVersion, excludeFields(compareTyped(live, next, schema), ignored)]]);
  return (apiVersion) => {
    let comparison = known.get(apiVersion);
    if (comparison === undefined) {
      const view = versions.view(apiVersion) as VersionView;
      const [old, changed] = [view.show(live, 'old'), view.show(next, 'new')];
      comparison = excludeFields(compareTyped(old, changed, view.schema), view.ignored);
      known.set(apiVersion, comparison);
    }
    return comparison;
  };
}

/** Nobody owns anything in a version that is served no longer. */
function dropMissingVersions(managers: Managers, { manager, versions }: UpdaterCall): void {
  for (const [id, { apiVersion }] of managers) {
    if (apiVersion !== manager.apiVersion && versions.view(apiVersion) === undefined) managers.delete(id);
  }
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
  const { live, schema, manager, versions } = call;
  dropMissingVersions(managers, call);
  followSchema(managers, call);
  const id = managerId(manager);
  const last = managers.get(id);
  const fields = fieldSetOf(applied, schema).recursiveDifference(call.ignored);
  managers.set(id, { ...manager, fields, time: last?.time });
  const pruning = { managers, last, fields, own: { apiVersion: manager.apiVersion, schema }, versions };
  const merged = prune(mergeTyped(live, applied, schema), pruning) ?? {};
  const compare = comparisons(call, merged);
  const conflicts = conflictsOf(managers, compare, id);
  if (!call.force && conflicts.size > 0) return { object: undefined, conflicts };
  disown(managers, compare, id);
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

function conflictsOf(managers: Managers, compare: Compare, self: string): Conflicts {
  const conflicts = new Map<string, Conflict>();
  for (const [id, owner] of managers) {
    if (id === self) continue;
    const { added, modified } = compare(owner.apiVersion);
    const fields = owner.fields.intersection(added.union(modified));
    if (!fields.isEmpty) conflicts.set(id, { owner, fields });
  }
  return conflicts;
}

/** Takes what changed and what is gone from all managers but one, and drops managers that own nothing any more. */
function disown(managers: Managers, compare: Compare, self?: string): void {
  for (const [id, set] of managers) {
    const fields = id === self ? set.fields : set.fields.difference(changesOf(compare(set.apiVersion)));
    if (fields.isEmpty) managers.delete(id);
    else managers.set(id, withFields(set, fields));
  }
}

function changesOf({ added, modified, removed }: Comparison): FieldSet {
  return added.union(modified).union(removed);
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
export const unownedFields: FieldSet = FieldSet.of(
  ['f:apiVersion'],
  ['f:kind'],
  ['f:metadata'],
  ...metadataNames.map((name) => ['f:metadata', `f:${name}`]),
);

function withoutMetadata(fields: FieldSet): FieldSet {
  return fields.difference(unownedFields);
}

function stripMetadata(managers: Managers, id: string): void {
  const set = managers.get(id);
  if (set === undefined) return;
  const fields = withoutMetadata(set.fields);
  if (fields.isEmpty) managers.delete(id);
  else managers.set(id, withFields(set, fields));
}
