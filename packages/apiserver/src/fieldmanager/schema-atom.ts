// Decides how a value is owned: as a map, a list or a leaf; as a whole or by its parts. Comparison, merge, removal and
// validation share this view. Source: structured-merge-diff schema.Atom, for SchemaNodes.
import { goQuote, isJsonObject, membersPerSlice, type SlicedWork } from '@kapstan/api/internal';
import { metaTypes } from '../schema/meta-types.ts';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import { keyElement, type PathElement, valueElement } from './path-element.ts';

/** 'leaf' = scalars and values that are owned as a whole. */
export type AtomKind = 'map' | 'list' | 'leaf';

/** The schema of values for which there is none: maps are owned by member, lists as a whole. */
export const deduced: SchemaNode = { preserveUnknownFields: true };

/** A type for any JSON, which Kubernetes' schema treats as one value. */
const rawExtension = 'runtime.RawExtension';

/** Returns how the parts of a value are owned. Null and absent take the form of the schema (or of the other side). */
export function ownershipOf(node: SchemaNode, value: unknown): AtomKind {
  const form = formOf(node, value);
  if (form === 'map') return node.mapType === 'atomic' || node.goType === rawExtension ? 'leaf' : 'map';
  if (form === 'list') return isAssociative(node) ? 'list' : 'leaf';
  return 'leaf';
}

/** Returns the form that the schema or, without one, the value has. */
function formOf(node: SchemaNode, value: unknown): 'map' | 'list' | 'scalar' {
  const declared = declaredForm(node);
  if (declared !== undefined) return declared;
  if (isJsonObject(value)) return 'map';
  return Array.isArray(value) ? 'list' : 'scalar';
}

/** Returns the schema's form; undefined where any value is allowed. */
export function declaredForm(node: SchemaNode): 'map' | 'list' | 'scalar' | undefined {
  if (node.properties !== undefined || node.additionalProperties !== undefined) return 'map';
  // An embedded object always has apiVersion, kind and metadata. Source: apiextensions openapi builder addEmbeddedProperties.
  if (node.embeddedResource === true) return 'map';
  if (node.items !== undefined) return 'list';
  if (node.intOrString === true || node.type === undefined) return undefined;
  if (node.type === 'array') return 'list';
  if (node.type !== 'object') return 'scalar';
  return node.preserveUnknownFields === true || node.goType !== undefined ? undefined : 'map';
}

function isAssociative(node: SchemaNode): boolean {
  return node.listType === 'map' || node.listType === 'set';
}

const text: SchemaNode = { type: 'string' };

/** True for a name that the schema lists. Its presence alone does not determine ownership. */
export function isNamedField(node: SchemaNode, name: string): boolean {
  return namedField(node, name) !== undefined;
}

/** Returns the schema of a member; undefined if the schema has no such name. */
export function memberSchema(node: SchemaNode, name: string): SchemaNode | undefined {
  const named = namedField(node, name);
  if (named !== undefined) return node.preserveUnknownFields === true ? keepingUnknown(named) : named;
  if (node.additionalProperties !== undefined)
    return node.additionalProperties === true ? deduced : node.additionalProperties;
  return node.preserveUnknownFields === true || declaredForm(node) === undefined ? deduced : undefined;
}

/**
 * Where a schema keeps unknown fields, so do the schemas in it: ownership includes fields there that pruning removes. Built-in types, such
 * as metadata, have their own rules. Source: schemaconv convert.visitSpec.
 */
function keepingUnknown(node: SchemaNode): SchemaNode {
  if (node.goType !== undefined) return node;
  const known = keeping.get(node);
  if (known !== undefined) return known;
  const { items, additionalProperties } = node;
  const made: SchemaNode = {
    ...node,
    preserveUnknownFields: true,
    ...(items === undefined ? {} : { items: keepingUnknown(items) }),
    ...(typeof additionalProperties === 'object' ? { additionalProperties: keepingUnknown(additionalProperties) } : {}),
  };
  keeping.set(node, made);
  return made;
}

const keeping = new WeakMap<SchemaNode, SchemaNode>();

function namedField(node: SchemaNode, name: string): SchemaNode | undefined {
  return node.properties?.get(name) ?? (node.embeddedResource === true ? resourceMember(name) : undefined);
}

function resourceMember(name: string): SchemaNode | undefined {
  if (name === 'apiVersion' || name === 'kind') return text;
  return name === 'metadata' ? metaTypes.schema('meta/v1.ObjectMeta') : undefined;
}

/**
 * Returns the schema of a whole object, because structural schemas of custom resources lack the fields that all objects
 * have.
 */
export function rootSchema(schema: SchemaNode): SchemaNode {
  if (schema.goType !== undefined) return schema;
  const known = customRoots.get(schema);
  if (known !== undefined) return known;
  const properties = new Map(schema.properties ?? []);
  for (const name of ['apiVersion', 'kind', 'metadata']) {
    const member = resourceMember(name);
    if (member !== undefined) properties.set(name, member);
  }
  const { additionalProperties, preserveUnknownFields } = schema;
  const root: SchemaNode = { type: 'object', properties, additionalProperties, preserveUnknownFields };
  customRoots.set(schema, root);
  return root;
}

const customRoots = new WeakMap<SchemaNode, SchemaNode>();

export function itemSchema(node: SchemaNode): SchemaNode {
  return node.items ?? deduced;
}

/** Returns the path element of an item in an associative list. Throws TypeError with the reason if it has none. */
export function itemElement(node: SchemaNode, item: unknown): PathElement {
  const element = itemElementOrNone(node, item);
  if (element === undefined) throw new TypeError(itemFault(node, item));
  return element;
}

/** Returns the path element of an item in an associative list; undefined if it has none. */
export function itemElementOrNone(node: SchemaNode, item: unknown): PathElement | undefined {
  if (node.listType === 'set') return isMapOrList(item) || item === null ? undefined : valueElement(item);
  return isJsonObject(item) ? keyedElement(node, item) : undefined;
}

function isMapOrList(value: unknown): boolean {
  return Array.isArray(value) || isJsonObject(value);
}

/** Returns the reason why an item has no path element. */
export function itemFault(node: SchemaNode, item: unknown): string {
  if (node.listType === 'set') {
    if (Array.isArray(item)) return 'not supported: associative list with lists as elements';
    const what = item === null ? 'an explicit null' : 'a map type';
    return `associative list without keys has an element that's ${what}`;
  }
  if (item === null) return 'associative list with keys may not have a null element';
  if (!isJsonObject(item)) return 'associative list with keys may not have non-map elements';
  const names = (node.listMapKeys ?? []).map(goQuote).join(' ');
  return `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`;
}

function keyedElement(node: SchemaNode, item: Readonly<Record<string, unknown>>): PathElement | undefined {
  const keys = new Map<string, unknown>();
  const names = node.listMapKeys ?? [];
  for (const name of names) {
    // An item without the key differs from every item that has it, even with null.
    const value = Object.hasOwn(item, name) ? item[name] : keyDefault(itemSchema(node), name);
    if (value !== undefined) keys.set(name, value);
  }
  return keys.size > 0 || names.length === 0 ? keyElement(keys) : undefined;
}

/**
 * Go's published defaults omit zero values only here: a required scalar of a built-in kind defaults to its zero value.
 */
function keyDefault(items: SchemaNode, name: string): unknown {
  const key = items.properties?.get(name);
  if (key?.default !== undefined) return key.default;
  const marked = items.markedDefault?.(name);
  if (marked !== undefined) return marked;
  if (items.goType !== undefined && items.required?.includes(name)) {
    if (key?.type === 'integer' || key?.type === 'number') return 0;
    return key?.type === 'boolean' ? false : '';
  }
  return undefined;
}

/** Items of an associative list by their path elements; several if keys repeat. */
export type ItemGroups = ReadonlyMap<PathElement, readonly unknown[]>;

/** Groups the items of a list. Items without a path element are left out. */
export function* itemsByElement(items: readonly unknown[], node: SchemaNode): SlicedWork<ItemGroups> {
  const groups = new Map<PathElement, unknown[]>();
  for (let from = 0; from < items.length; from += membersPerSlice) {
    if (from > 0) yield;
    group(groups, node, items.length > membersPerSlice ? items.slice(from, from + membersPerSlice) : items);
  }
  return groups;
}

function group(groups: Map<PathElement, unknown[]>, node: SchemaNode, items: readonly unknown[]): void {
  for (const item of items) {
    const element = itemElementOrNone(node, item);
    if (element === undefined) continue;
    const same = groups.get(element);
    if (same === undefined) groups.set(element, [item]);
    else same.push(item);
  }
}
