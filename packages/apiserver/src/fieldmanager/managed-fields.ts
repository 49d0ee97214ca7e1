// metadata.managedFields, taken apart into managers and their sets, and put together again. Source: apimachinery
// util/managedfields/internal/managedfields.go.
import { type DeepReadonly, type ManagedFieldsEntry, parseTime, stringifyJson } from '@kapstan/api';
import { FieldSet } from './field-set.ts';

/** One manager's fields. Two entries are of one manager when their {@link managerId} is equal. */
export interface ManagedSet {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  readonly fields: FieldSet;
  /** RFC 3339, as written. */
  readonly time: string | undefined;
  /** The FieldsV1 that `fields` was read from; absent once it is another set. */
  readonly encoded?: Record<string, unknown> | undefined;
}

/** The manager with another set. */
export function withFields(set: ManagedSet, fields: FieldSet): ManagedSet {
  return fields === set.fields ? set : { ...set, fields, encoded: undefined };
}

/** By manager id, in no order. */
export type Managers = Map<string, ManagedSet>;

export type ManagerName = Pick<ManagedSet, 'manager' | 'operation' | 'apiVersion' | 'subresource'>;

/** An applier is the same in all versions; an updater has one set for each. Ids sort as Go's do. */
export function managerId({ manager, operation, apiVersion, subresource }: ManagerName): string {
  return stringifyJson({
    ...(manager === '' ? {} : { manager }),
    operation,
    ...(operation === 'Apply' ? {} : { apiVersion }),
    ...(subresource === '' ? {} : { subresource }),
  });
}

/** Throws TypeError when an entry is malformed. */
export function decodeManagedFields(entries: DeepReadonly<readonly ManagedFieldsEntry[]> | undefined): Managers {
  const managers: Managers = new Map();
  for (const [index, entry] of (entries ?? []).entries()) {
    const { operation, apiVersion = '' } = entry;
    if (operation !== 'Apply' && operation !== 'Update') throw new TypeError('operation must be `Apply` or `Update`');
    if (apiVersion === '') throw new TypeError('apiVersion must not be empty');
    if (entry.fieldsType === undefined) throw new TypeError(`missing fieldsType in managed fields entry ${index}`);
    if (entry.fieldsType !== 'FieldsV1') {
      throw new TypeError(`invalid fieldsType ${JSON.stringify(entry.fieldsType)} in managed fields entry ${index}`);
    }
    const { manager = '', subresource = '', time } = entry;
    const encoded = (entry.fieldsV1 ?? {}) as Record<string, unknown>;
    const fields = FieldSet.fromFieldsV1(encoded);
    const set = { manager, operation, apiVersion, subresource, fields, time, encoded };
    managers.set(managerId(set), set);
  }
  return managers;
}

/** Appliers first, then by time in seconds, then by name. */
export function encodeManagedFields(managers: Managers): ManagedFieldsEntry[] {
  const sets = [...managers.values()].sort(compareSets);
  return sets.map((set) => managedFieldsEntry(set, set.time, set.encoded ?? set.fields.toFieldsV1()));
}

/** The entry of one manager. `time`: RFC 3339. */
export function managedFieldsEntry(
  { manager, operation, apiVersion, subresource }: ManagerName,
  time: string | undefined,
  fieldsV1: Record<string, unknown>,
): ManagedFieldsEntry {
  return {
    ...(manager === '' ? {} : { manager }),
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: 'FieldsV1',
    fieldsV1,
    ...(subresource === '' ? {} : { subresource }),
  };
}

function compareSets(a: ManagedSet, b: ManagedSet): number {
  return (
    compareText(a.operation, b.operation) ||
    secondsOf(a) - secondsOf(b) ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function secondsOf({ time }: ManagedSet): number {
  const epochMs = time === undefined ? Number.NaN : parseTime(time);
  return Number.isNaN(epochMs) ? 0 : Math.floor(epochMs / 1000);
}

/** Most updaters that one object keeps apart. Source: managedfields.DefaultMaxUpdateManagers. */
const maxUpdateManagers = 10;

/** Merges the oldest updaters of a version into one named "ancient-changes" until there are few enough. In place. */
export function capUpdateManagers(managers: Managers): void {
  const updaters = [...managers].filter(([, set]) => set.operation === 'Update');
  updaters.sort(([idA, a], [idB, b]) => secondsOf(a) - secondsOf(b) || compareText(idA, idB));
  let count = updaters.length;
  const firstOfVersion = new Map<string, string>();
  for (const [id, set] of updaters) {
    if (count <= maxUpdateManagers) return;
    const first = firstOfVersion.get(set.apiVersion);
    if (first === undefined) firstOfVersion.set(set.apiVersion, id);
    else {
      mergeIntoBucket(managers, first, id);
      count--;
    }
  }
}

function mergeIntoBucket(managers: Managers, first: string, id: string): void {
  const set = managers.get(id);
  if (set === undefined) return;
  const bucket = {
    manager: 'ancient-changes',
    operation: 'Update',
    apiVersion: set.apiVersion,
    subresource: '',
  } as const;
  const bucketId = managerId(bucket);
  const present = managers.get(bucketId) ?? managers.get(first);
  if (!managers.has(bucketId)) managers.delete(first);
  managers.delete(id);
  const fields = set.fields.union(present?.fields ?? new FieldSet());
  // The time of the younger one of the two.
  managers.set(bucketId, { ...bucket, fields, time: set.time });
}
