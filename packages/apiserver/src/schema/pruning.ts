// Unknown fields of custom resources: found by the schema, taken out, named. Used by decode-object.ts; built-in kinds
// lose theirs in typed-decoder.ts.
import { isJsonObject } from '@kapstan/api';
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
  const found: Found = { unknown: [], embedded: [] };
  pruneObject(object, { node: schema, path: '', isResourceRoot: true, found });
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
    const node = place.node.items ?? nothing;
    const keeps = place.node.items === undefined && place.node.preserveUnknownFields === true;
    if (keeps) return;
    value.forEach((item, index) => {
      prune(item, { ...place, node, path: `${place.path}[${index}]`, isResourceRoot: node.embeddedResource === true });
    });
  } else if (isJsonObject(value)) pruneObject(value, place);
}

const nothing: SchemaNode = {};

function pruneObject(object: Record<string, unknown>, place: Place): void {
  const { node, found } = place;
  if (place.isResourceRoot && place.path !== '') found.embedded.push({ path: place.path, object });
  for (const name of Object.keys(object)) {
    if (place.isResourceRoot && objectMembers.has(name)) continue;
    const path = place.path === '' ? name : `${place.path}.${name}`;
    const member = node.properties?.get(name) ?? valuesOf(node);
    if (member !== undefined) {
      prune(object[name], { node: member, path, isResourceRoot: member.embeddedResource === true, found });
    } else if (node.preserveUnknownFields !== true) {
      delete object[name];
      found.unknown.push(path);
    }
  }
}

const anything: SchemaNode = { preserveUnknownFields: true };

function valuesOf(node: SchemaNode): SchemaNode | undefined {
  return node.additionalProperties === true ? anything : node.additionalProperties;
}
