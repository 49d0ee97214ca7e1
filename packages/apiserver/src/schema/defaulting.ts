// Defaults of a schema, written into an object in place. Shared by built-in kinds (where the OpenAPI document has few)
// and custom resources. Go's SetDefaults_* functions are in registry/<group>/<resource>/defaults.ts.
import { deepCopy, getOwn, isJsonObject, setOwn } from '@kapstan/api';
import type { SchemaNode } from './schema-node.ts';

/**
 * Fills absent members with their schema's defaults, deep-copied, and looks into what is there. A `null` where the
 * schema has a default and is not nullable counts as absent. Own keys only. True when something was filled in.
 * Source: structural defaulting.Default.
 */
export function applySchemaDefaults(node: SchemaNode, value: unknown): boolean {
  if (Array.isArray(value)) return applyToItems(node, value);
  if (!isJsonObject(value)) return false;
  let isChanged = false;
  for (const [key, child] of membersWithDefaults(node)) if (applyMember(value, key, child)) isChanged = true;
  if (typeof node.additionalProperties !== 'object' || !holdsDefault(node.additionalProperties)) return isChanged;
  for (const key of Object.keys(value)) {
    if (!node.properties?.has(key) && applyMember(value, key, node.additionalProperties)) isChanged = true;
  }
  return isChanged;
}

function applyToItems({ items }: SchemaNode, list: unknown[]): boolean {
  if (items === undefined || !holdsDefault(items)) return false;
  let isChanged = false;
  for (let index = 0; index < list.length; index++) {
    if (list[index] === null && items.nullable !== true && items.default !== undefined) {
      list[index] = deepCopy(items.default);
      isChanged = true;
    }
    if (applySchemaDefaults(items, list[index])) isChanged = true;
  }
  return isChanged;
}

function applyMember(object: Record<string, unknown>, key: string, node: SchemaNode): boolean {
  const isPresent = Object.hasOwn(object, key);
  const present = getOwn(object, key);
  const isAbsent = !isPresent || (present === null && node.nullable !== true);
  const isFilled = isAbsent && node.default !== undefined;
  if (isFilled) setOwn(object, key, deepCopy(node.default));
  const isFilledBelow = applySchemaDefaults(node, getOwn(object, key));
  return isFilled || isFilledBelow;
}

const defaulted = new WeakMap<SchemaNode, readonly (readonly [name: string, node: SchemaNode])[]>();

/** Most members of most schemas hold no default: looked for once, not in every object. */
function membersWithDefaults(node: SchemaNode): readonly (readonly [name: string, node: SchemaNode])[] {
  let members = defaulted.get(node);
  if (members === undefined) {
    members = [...(node.properties ?? [])].filter(([, child]) => holdsDefault(child));
    defaulted.set(node, members);
  }
  return members;
}

const known = new WeakMap<SchemaNode, boolean>();

/** Whether there is a default at a place of the schema or below it. */
function holdsDefault(node: SchemaNode): boolean {
  const before = known.get(node);
  if (before !== undefined) return before;
  // While it is looked into: a schema within itself is taken to hold one.
  known.set(node, true);
  const below = [...(node.properties?.values() ?? []), node.items, node.additionalProperties];
  const holds = node.default !== undefined || below.some((child) => typeof child === 'object' && holdsDefault(child));
  known.set(node, holds);
  return holds;
}
