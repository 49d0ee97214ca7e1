// Finds the unknown fields of custom resources by their schema, removes and names them. Used by decode-object.ts;
// typed-decoder.ts does this for built-in kinds.
import {
  fitsOneSlice,
  isJsonObject,
  membersPerSlice,
  namesInSlices,
  runWhole,
  type SlicedWork,
  sortInSlices,
} from '@kapstan/api/internal';
import type { SchemaNode } from './node/schema-node.ts';

const objectMembers: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** The result of {@link pruneUnknownFields}. */
export interface Pruned {
  /** Paths of the removed fields, sorted. */
  readonly unknown: readonly string[];
  /** Embedded objects (x-kubernetes-embedded-resource), whose metadata the caller handles. */
  readonly embedded: readonly { readonly path: string; readonly object: Record<string, unknown> }[];
}

/**
 * Removes, in place, the fields that a custom resource's schema does not have. apiVersion, kind and metadata of the
 * object and of embedded objects stay as they are. Source: structural pruning.PruneWithOptions.
 */
export function pruneUnknownFields(object: Record<string, unknown>, schema: SchemaNode): Pruned {
  return runWhole(pruneInSlices(object, schema));
}

/** Does what {@link pruneUnknownFields} does, for an object of any size. */
export function* pruneInSlices(object: Record<string, unknown>, schema: SchemaNode): SlicedWork<Pruned> {
  const found: Found = { unknown: [], embedded: [] };
  const place = { node: schema, path: '', isResourceRoot: true, found };
  if (fitsOneSlice(object)) pruneObject(object, place);
  else yield* pruneObjectInSlices(object, place);
  yield* sortInSlices(found.unknown);
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
  for (const name of yield* namesInSlices(object)) {
    const below = placeOfMember(object, name, place);
    const member = object[name];
    if (below !== undefined && typeof member === 'object') yield* pruneValueInSlices(member, below);
    if (++count % membersPerSlice === 0) yield;
  }
}

function enter(object: Record<string, unknown>, { path, isResourceRoot, found }: Place): void {
  if (isResourceRoot && path !== '') found.embedded.push({ path, object });
}

/**
 * Returns the place of a member to look into; undefined when nothing in it can be pruned or the member itself was
 * unknown and removed.
 */
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

/** `additionalProperties: true` keeps values of any type, but knows no members of them. */
function valuesOf(node: SchemaNode): SchemaNode | undefined {
  return node.additionalProperties === true ? nothing : node.additionalProperties;
}
