// Updates the managers' sets of owned fields after an update or an apply. Fields that a manager owns in another version
// are compared and pruned in that version (version-views.ts). Source: structured-merge-diff merge.Updater.
import { type SlicedWork, SlicePace } from '@kapstan/api/internal';
import { findDifferences } from '../registry/meta/json-equality.ts';
import type { SchemaNode } from '../schema/node/schema-node.ts';
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
  /** Fields that the endpoint resets, which nobody owns through it. */
  readonly ignored: FieldSet;
  /** Time in RFC 3339 for the manager whose fields change. */
  readonly time: string;
  /** Shows the object in other versions. */
  readonly versions: VersionViews;
}

/**
 * Gives the manager the fields that it added and changed, and takes them from the others. Changes `managers`. Throws
 * ConversionError when the object cannot be converted to a version in which a manager owns fields.
 */
export function* ownUpdate(managers: Managers, object: unknown, call: UpdaterCall): SlicedWork<void> {
  const { manager } = call;
  dropMissingVersions(managers, call);
  const changes = new Changes(call, object);
  const { changed, removed } = yield* changes.in(manager.apiVersion);
  const self = managerId(manager);
  yield* disown(managers, changes, self);
  const taken = yield* changed.difference(unownedFields);
  const own = managers.get(self);
  // The manager keeps the fields that it changes. A set that already has all of them stays the same object, with its
  // encoding.
  const gone = taken === changed ? removed : yield* changes.allIn(manager.apiVersion);
  const fields = yield* (yield* (own?.fields ?? new FieldSet()).difference(gone)).union(taken);
  if (fields.isEmpty) managers.delete(self);
  else {
    const next = own === undefined ? { ...manager, fields, time: undefined } : withFields(own, fields);
    managers.set(self, taken.isEmpty ? next : { ...next, time: call.time });
  }
}

/** The differences between the live object and the next one, in each version in which someone owns fields. */
class Changes {
  readonly #call: UpdaterCall;
  readonly #next: unknown;
  readonly #comparisons = new Map<string, Comparison>();
  readonly #all = new Map<string, FieldSet>();

  constructor(call: UpdaterCall, next: unknown) {
    this.#call = call;
    this.#next = next;
  }

  *in(apiVersion: string): SlicedWork<Comparison> {
    let comparison = this.#comparisons.get(apiVersion);
    if (comparison === undefined) {
      comparison = yield* this.#compare(apiVersion);
      this.#comparisons.set(apiVersion, comparison);
    }
    return comparison;
  }

  /** Returns all changed fields, including removed ones. */
  *allIn(apiVersion: string): SlicedWork<FieldSet> {
    let all = this.#all.get(apiVersion);
    if (all === undefined) {
      const { changed, removed } = yield* this.in(apiVersion);
      all = yield* changed.union(removed);
      this.#all.set(apiVersion, all);
    }
    return all;
  }

  *#compare(apiVersion: string): SlicedWork<Comparison> {
    const { live, schema, ignored, manager, versions } = this.#call;
    if (apiVersion === manager.apiVersion)
      return yield* excludeFields(yield* compareTyped(live, this.#next, schema), ignored);
    const view = versions.view(apiVersion) as VersionView;
    const old = yield* view.show(live, 'old');
    const next = yield* view.show(this.#next, 'new');
    return yield* excludeFields(yield* compareTyped(old, next, view.schema), view.ignored);
  }
}

/** Nobody owns fields in a version that is no longer served. */
function dropMissingVersions(managers: Managers, { manager, versions }: UpdaterCall): void {
  const isServed = new Map([[manager.apiVersion, true]]);
  for (const [id, { apiVersion }] of managers) {
    const served = isServed.get(apiVersion) ?? versions.view(apiVersion) !== undefined;
    isServed.set(apiVersion, served);
    if (!served) managers.delete(id);
  }
}

export interface OwnedApply {
  /** Undefined when the apply does not change the object. */
  readonly object: unknown;
  readonly conflicts: Conflicts;
}

/**
 * Merges `applied` into the live object, removes fields that the manager applied before and no longer applies, and
 * gives it the fields that it applies now. Returns conflicts unless `force` is set; `managers` is then unfinished.
 */
export function* ownApply(
  managers: Managers,
  applied: unknown,
  call: UpdaterCall & { readonly force: boolean },
): SlicedWork<OwnedApply> {
  const { live, schema, manager, versions } = call;
  dropMissingVersions(managers, call);
  yield* followSchema(managers, call);
  const id = managerId(manager);
  const last = managers.get(id);
  const fields = yield* (yield* fieldSetOf(applied, schema)).recursiveDifference(call.ignored);
  managers.set(id, { ...manager, fields, time: last?.time });
  const pruning = { managers, last, fields, own: { apiVersion: manager.apiVersion, schema }, versions };
  const merged = (yield* prune(yield* mergeTyped(live, applied, { node: schema }), pruning)) ?? {};
  const changes = new Changes(call, merged);
  const conflicts = yield* conflictsOf(managers, changes, id);
  if (!call.force && conflicts.size > 0) return { object: undefined, conflicts };
  yield* disown(managers, changes, id);
  yield* stripMetadata(managers, id);
  const isSame = yield* findDifferences(live, merged, { found: new Map(), pace: new SlicePace() });
  const set = managers.get(id);
  if (set !== undefined && !isSame) managers.set(id, { ...set, time: call.time });
  return { object: isSame ? undefined : merged, conflicts: new Map() };
}

function* followSchema(managers: Managers, { schema, manager }: UpdaterCall): SlicedWork<void> {
  const pace = new SlicePace();
  for (const [id, set] of managers) {
    if (set.apiVersion === manager.apiVersion)
      managers.set(id, withFields(set, yield* withAtomicsWhole(set.fields, schema, pace)));
    if (pace.isDue()) yield;
  }
}

function* conflictsOf(managers: Managers, changes: Changes, self: string): SlicedWork<Conflicts> {
  const conflicts = new Map<string, Conflict>();
  const pace = new SlicePace();
  for (const [id, owner] of managers) {
    if (pace.isDue()) yield;
    if (id === self) continue;
    const { changed } = yield* changes.in(owner.apiVersion);
    const fields = yield* owner.fields.intersection(changed, pace);
    if (!fields.isEmpty) conflicts.set(id, { owner, fields });
  }
  return conflicts;
}

/** Takes changed and removed fields from all managers except one, and drops managers that own nothing any more. */
function* disown(managers: Managers, changes: Changes, self: string): SlicedWork<void> {
  const pace = new SlicePace();
  for (const [id, set] of managers) {
    if (pace.isDue()) yield;
    const fields = id === self ? set.fields : yield* set.fields.difference(yield* changes.allIn(set.apiVersion), pace);
    if (fields.isEmpty) managers.delete(id);
    else if (fields !== set.fields) managers.set(id, withFields(set, fields));
  }
}

// Managers never own these fields, which identify the object or belong to the server. Source: managedfields
// stripMetaManager.
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

function* stripMetadata(managers: Managers, id: string): SlicedWork<void> {
  const set = managers.get(id);
  if (set === undefined) return;
  const fields = yield* set.fields.difference(unownedFields);
  if (fields.isEmpty) managers.delete(id);
  else managers.set(id, withFields(set, fields));
}
