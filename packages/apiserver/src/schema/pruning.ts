// Unknown fields of custom resources: found by the schema, taken out, named. Used by decode-object.ts; built-in kinds
// lose theirs in typed-decoder.ts.
import { fitsOneSlice, isJsonObject, membersPerSlice, runWhole, type SlicedWork } from '@kapstan/api/internal';
import type { SchemaNode } from './schema-node.ts';

const objectMembers: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** What {@link pruneUnknownFields} found. */
export interface Pruned {
  /** Paths of the fields taken out, sorted. */
  readonly unknown: readonly string[];
  /** Objects inside the object (x-kubernetes-embedded-resource), whose metadata is left to the caller. */
  readonly embedded: readonly { readonly path: string; readonly object: Record<string, unknown> }[];
}

/**
 * Removes, in place, what the schema of a custom resource does not know. apiVersion, kind and metadata of the object
 * itself and of embedded objects stay as they are. Source: structural pruning.PruneWithOptions.
 */
export function pruneUnknownFields(object: Record<string, unknown>, schema: SchemaNode): Pruned {
  return runWhole(pruneInSlices(object, schema));
}

/** The same for an object of any size. */
export function* pruneInSlices(object: Record<string, unknown>, schema: SchemaNode): SlicedWork<Pruned> {
  const found: Found = { unknown: [], embedded: [] };
  const place = { node: schema, path: '', isResourceRoot: true, found };
  if (fitsOneSlice(object)) pruneObject(object, place);
  else yield* pruneObjectInSlices(object, place);
  found.unknown.sort();
  return found;
}

interface Found {
  readonly unknown: string[];
  readonly embedded: { readonly path: string; readonly object: Record<string, unknown> }[];
}

interface Place {
  readonly node: SchemaNode;
  readonly path: string;
  readonly isResourceRoot: boolean;
  readonly found: Found;
}

function prune(value: unknown, place: Place): void {
  if (Array.isArray(value)) {
    if (keepsItems(place)) return;
    for (const [index, item] of value.entries()) prune(item, placeOfItem(place, index));
  } else if (isJsonObject(value)) pruneObject(value, place);
}

function* pruneValueInSlices(value: unknown, place: Place): SlicedWork<void> {
  if (fitsOneSlice(value)) return prune(value, place);
  if (isJsonObject(value)) return yield* pruneObjectInSlices(value, place);
  if (!Array.isArray(value) || keepsItems(place)) return;
  for (const [index, item] of value.entries()) {
    if (typeof item === 'object') yield* pruneValueInSlices(item, placeOfItem(place, index));
    if (index % itemsPerSlice === itemsPerSlice - 1) yield;
  }
}

const itemsPerSlice = 32;

function keepsItems({ node }: Place): boolean {
  return node.items === undefined && node.preserveUnknownFields === true;
}

function placeOfItem(place: Place, index: number): Place {
  const node = place.node.items ?? nothing;
  return { ...place, node, path: `${place.path}[${index}]`, isResourceRoot: node.embeddedResource === true };
}

const nothing: SchemaNode = {};

function pruneObject(object: Record<string, unknown>, place: Place): void {
  enter(object, place);
  for (const name of Object.keys(object)) {
    const below = placeOfMember(object, name, place);
    if (below !== undefined) prune(object[name], below);
  }
}

function* pruneObjectInSlices(object: Record<string, unknown>, place: Place): SlicedWork<void> {
  enter(object, place);
  let count = 0;
  for (const name of Object.keys(object)) {
    const below = placeOfMember(object, name, place);
    const member = object[name];
    if (below !== undefined && typeof member === 'object') yield* pruneValueInSlices(member, below);
    if (++count % membersPerSlice === 0) yield;
  }
}

function enter(object: Record<string, unknown>, { path, isResourceRoot, found }: Place): void {
  if (isResourceRoot && path !== '') found.embedded.push({ path, object });
}

/** Where a member stands; undefined when there is nothing to look for in it, or it is not known and has been taken out. */
function placeOfMember(object: Record<string, unknown>, name: string, place: Place): Place | undefined {
  const { node, found } = place;
  if (place.isResourceRoot && objectMembers.has(name)) return undefined;
  const path = place.path === '' ? name : `${place.path}.${name}`;
  const member = node.properties?.get(name) ?? valuesOf(node);
  if (member !== undefined) return { node: member, path, isResourceRoot: member.embeddedResource === true, found };
  if (node.preserveUnknownFields === true) return undefined;
  delete object[name];
  found.unknown.push(path);
  return undefined;
}

const anything: SchemaNode = { preserveUnknownFields: true };

function valuesOf(node: SchemaNode): SchemaNode | undefined {
  return node.additionalProperties === true ? anything : node.additionalProperties;
}
