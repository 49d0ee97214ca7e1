// Decodes metadata.managedFields into managers with their sets, and encodes them again. Source: apimachinery
// util/managedfields/internal/managedfields.go.

import { type DeepReadonly, parseTime, stringifyJson } from '@kapstan/api';
import { type ManagedFieldsEntry, type SlicedWork, SlicePace, sortInSlices } from '@kapstan/api/internal';
import { type FieldSet, unionOf } from './field-set.ts';
import { readFieldsV1, writeFieldsV1 } from './fields-v1.ts';

/** One manager's fields. Entries with equal {@link managerId} belong to one manager. */
export interface ManagedSet {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  readonly fields: FieldSet;
  /** The time in RFC 3339, as written. */
  readonly time: string | undefined;
  /** The FieldsV1 from which `fields` was read; absent once `fields` is another set. */
  readonly encoded?: Record<string, unknown> | undefined;
}

/** Returns the manager with another set. */
export function withFields(set: ManagedSet, fields: FieldSet): ManagedSet {
  return fields === set.fields ? set : { ...set, fields, encoded: undefined };
}

/** Managers by id, in no order. */
export type Managers = Map<string, ManagedSet>;

export type ManagerName = Pick<ManagedSet, 'manager' | 'operation' | 'apiVersion' | 'subresource'>;

/**
 * Returns the id of a manager. An applier is the same in all versions; an updater has one set per version. Ids sort as
 * Go's do.
 */
export function managerId({ manager, operation, apiVersion, subresource }: ManagerName): string {
  return stringifyJson({
    ...(manager === '' ? {} : { manager }),
    operation,
    ...(operation === 'Apply' ? {} : { apiVersion }),
    ...(subresource === '' ? {} : { subresource }),
  });
}

/** Decodes all entries. Throws TypeError when one is malformed. */
export function* decodeManagedFields(
  entries: DeepReadonly<readonly ManagedFieldsEntry[]> | undefined,
): SlicedWork<Managers> {
  const managers: Managers = new Map();
  const pace = new SlicePace();
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
    const fields = yield* readFieldsV1(encoded, pace);
    const set = { manager, operation, apiVersion, subresource, fields, time, encoded };
    managers.set(managerId(set), set);
    if (pace.isDue()) yield;
  }
  return managers;
}

/** Encodes all managers: appliers first, then by time in seconds, then by name. */
export function* encodeManagedFields(managers: Managers): SlicedWork<ManagedFieldsEntry[]> {
  const entries: ManagedFieldsEntry[] = [];
  for (const { set } of yield* sortInSlices(dated(managers), compareSets)) {
    entries.push(managedFieldsEntry(set, set.time, set.encoded ?? (yield* writeFieldsV1(set.fields))));
  }
  return entries;
}

interface DatedSet {
  readonly id: string;
  readonly set: ManagedSet;
  readonly seconds: number;
}

/** Returns the managers with parsed times, which sorting needs many times. */
function dated(managers: Managers): DatedSet[] {
  return [...managers].map(([id, set]) => ({ id, set, seconds: secondsOf(set) }));
}

/** Returns the entry of one manager. `time`: RFC 3339. */
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

function compareSets({ set: a, seconds }: DatedSet, { set: b, seconds: other }: DatedSet): number {
  return (
    compareText(a.operation, b.operation) ||
    seconds - other ||
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

/** Maximum number of updaters recorded separately for one object. Source: managedfields.DefaultMaxUpdateManagers. */
const maxUpdateManagers = 10;

/** Merges the oldest updaters of a version into one named "ancient-changes" until few enough are left. In place. */
export function* capUpdateManagers(managers: Managers): SlicedWork<void> {
  let count = 0;
  for (const { operation } of managers.values()) if (operation === 'Update') count++;
  if (count <= maxUpdateManagers) return;
  const updaters = dated(managers).filter(({ set }) => set.operation === 'Update');
  yield* sortInSlices(updaters, (a, b) => a.seconds - b.seconds || compareText(a.id, b.id));
  const buckets = new Map<string, Bucket>();
  for (const { id, set } of updaters) {
    if (count <= maxUpdateManagers) break;
    const bucket = buckets.get(set.apiVersion);
    if (bucket === undefined) buckets.set(set.apiVersion, new Bucket(id, set));
    else {
      bucket.add(managers, id, set);
      count--;
    }
  }
  for (const bucket of buckets.values()) yield* bucket.fill(managers);
}

/** Entries of updaters in one version, which are merged into one entry. Their fields are united once at the end. */
class Bucket {
  readonly #id: string;
  readonly #name: ManagerName;
  /**
   * The oldest updater of the version. It joins the bucket as soon as there is another, unless a bucket existed before.
   */
  readonly #first: readonly [id: string, set: ManagedSet];
  #parts: FieldSet[] = [];
  /** The time of the youngest updater in the bucket. */
  #time: string | undefined;

  constructor(id: string, set: ManagedSet) {
    this.#first = [id, set];
    this.#name = { manager: 'ancient-changes', operation: 'Update', apiVersion: set.apiVersion, subresource: '' };
    this.#id = managerId(this.#name);
  }

  add(managers: Managers, id: string, set: ManagedSet): void {
    if (this.#parts.length === 0) this.#open(managers);
    managers.delete(id);
    this.#parts.push(set.fields);
    this.#time = set.time;
    // Kubernetes drops a bucket that is not the oldest of its version, because it would merge the bucket into itself.
    if (id === this.#id) this.#parts = [];
  }

  #open(managers: Managers): void {
    const present = managers.get(this.#id);
    const [id, first] = this.#first;
    if (present === undefined) managers.delete(id);
    this.#parts.push((present ?? first).fields);
  }

  *fill(managers: Managers): SlicedWork<void> {
    if (this.#parts.length === 0) return;
    managers.set(this.#id, { ...this.#name, fields: yield* unionOf(this.#parts), time: this.#time });
  }
}
