// Converts managedFields between a scaled object and its Scale. A Scale has no owners of its own; its owners are the
// owners of the object's replicas. Used by kubernetes/src/autoscaling/scale.ts and
// apiextensions/src/resource/custom-resource-scale.ts. Source: apimachinery util/managedfields/scalehandler.go.
import { type DeepReadonly, deepCopy, type KubernetesObject, type UnstructuredObject } from '@kapstan/api';
import { isJsonObject, type ManagedFieldsEntry, parseApiVersion } from '@kapstan/api/internal';
import { scaleApiVersion } from '../../schema/meta-types.ts';
import type { SubresourceChange } from './resource-definition.ts';
import type { TrackFields } from './resource-store.ts';

type Entry = DeepReadonly<ManagedFieldsEntry>;
type Fields = Record<string, unknown>;

/** The place of the replicas in the scaled object, and the version in which the object is requested. */
export interface ScaledField {
  readonly apiVersion: string;
  /** Member names from the root, for example ["spec", "replicas"]. */
  readonly path: readonly string[];
}

const scalePath = ['spec', 'replicas'];

/** Returns the owners of the object's replicas as the owners of its Scale. */
function scaleEntries(ofObject: readonly Entry[] | undefined, { path }: ScaledField): ManagedFieldsEntry[] {
  return [...byOwner(ofObject).values()]
    .filter((entry) => hasPath(entry, path))
    .map((entry) => ({ ...entry, apiVersion: scaleApiVersion, fieldsV1: fieldsOf(scalePath) }));
}

/**
 * Returns the object's entries after its Scale was written: former owners lose the replicas, and managers that wrote
 * through the Scale get an entry without a time. Entries of versions that the object does not have are dropped.
 */
function objectEntries(
  ofObject: readonly Entry[] | undefined,
  ofScale: readonly Entry[] | undefined,
  { apiVersion, path }: ScaledField,
): ManagedFieldsEntry[] {
  const owners = byOwner(ofScale);
  const kept: ManagedFieldsEntry[] = [];
  for (const entry of byOwner(ofObject).values()) {
    if (!isOfGroup(entry, apiVersion)) continue;
    const isOwner = owners.delete(ownerOf(entry));
    const next = isOwner || !hasPath(entry, path) ? (deepCopy(entry) as ManagedFieldsEntry) : withoutPath(entry, path);
    if (Object.keys(next.fieldsV1 ?? {}).length > 0) kept.push(next);
  }
  const added = [...owners.values()]
    .filter((entry) => hasPath(entry, scalePath))
    .map(({ time: _, ...entry }) => ({ ...entry, apiVersion, fieldsV1: fieldsOf(path) }));
  return [...added, ...kept];
}

/** Writes a changed Scale into its object with the resulting managedFields. Without tracking they stay as they are. */
export async function changeScaled<T extends KubernetesObject>(
  present: T,
  changed: {
    readonly scale: UnstructuredObject;
    readonly change: SubresourceChange;
    readonly field: ScaledField;
    readonly track: TrackFields | undefined;
  },
  write: (scale: UnstructuredObject) => T,
): Promise<T> {
  const { scale, change, field, track } = changed;
  const before = present.metadata?.managedFields;
  const managedFields = scaleEntries(before, field);
  const next = await change({ ...scale, metadata: { ...scale.metadata, managedFields } }, track);
  const object = write(next);
  if (track === undefined) return object;
  object.metadata = { ...object.metadata, managedFields: objectEntries(before, next.metadata?.managedFields, field) };
  return object;
}

/** If an owner has several entries, the last one counts. */
function byOwner(entries: readonly Entry[] = []): Map<string, Entry> {
  return new Map(entries.map((entry) => [ownerOf(entry), entry]));
}

/** An applier is the same owner in all versions. */
function ownerOf({ manager = '', operation, apiVersion = '', subresource = '' }: Entry): string {
  return JSON.stringify([manager, operation, operation === 'Apply' ? '' : apiVersion, subresource]);
}

function isOfGroup(entry: Entry, apiVersion: string): boolean {
  return parseApiVersion(entry.apiVersion ?? '').group === parseApiVersion(apiVersion).group;
}

function hasPath({ fieldsV1 }: Entry, path: readonly string[]): boolean {
  let at: unknown = fieldsV1;
  for (const name of path) {
    if (!isJsonObject(at) || !Object.hasOwn(at, `f:${name}`)) return false;
    at = at[`f:${name}`];
  }
  return true;
}

function fieldsOf(path: readonly string[]): Fields {
  return path.reduceRight<Fields>((within, name) => ({ [`f:${name}`]: within }), {});
}

function withoutPath(entry: Entry, path: readonly string[]): ManagedFieldsEntry {
  const next = deepCopy(entry) as ManagedFieldsEntry;
  remove(next.fieldsV1 as Fields, path);
  return next;
}

/** Removes the field and every parent that is empty then. */
function remove(fields: Fields, [name, ...rest]: readonly string[]): void {
  const key = `f:${name}`;
  const within = fields[key];
  if (rest.length > 0 && isJsonObject(within)) remove(within, rest);
  if (rest.length === 0 || (isJsonObject(within) && Object.keys(within).length === 0)) delete fields[key];
}
