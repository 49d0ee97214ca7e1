// Converts schemas of custom resources from the JSONSchemaProps of a definition to SchemaNode. Used by apiextensions.
import { isJsonObject } from '@kapstan/api/internal';
import type { SchemaNode } from './node/schema-node.ts';

/** JSONSchemaProps of apiextensions.k8s.io/v1 as sent; apiextensions/src/definition/definition-validation.ts checks it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const types: ReadonlySet<unknown> = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean']);

type Node = { -readonly [K in keyof SchemaNode]: SchemaNode[K] };

/** Returns the schema of a place in a custom resource. Reads own keys only; values of a wrong type count as absent. */
export function structuralSchema(schema: JsonSchema): SchemaNode {
  // Members are assigned one by one, because a definition has thousands of places.
  const node: Node = {};
  setScalarWords(node, schema);
  setStructureWords(node, schema);
  setExtensionWords(node, schema);
  node.raw = schema;
  return node;
}

function setScalarWords(node: Node, schema: JsonSchema): void {
  const { type, format, nullable, required } = schema;
  if (types.has(type)) node.type = type as NonNullable<SchemaNode['type']>;
  if (typeof format === 'string') node.format = format;
  if (nullable === true) node.nullable = nullable;
  if (Array.isArray(required)) node.required = required as string[];
  if (Array.isArray(schema.enum)) node.enum = schema.enum as unknown[];
  if (schema.default !== undefined) node.default = schema.default;
}

function setStructureWords(node: Node, { properties, additionalProperties, items }: JsonSchema): void {
  if (isJsonObject(properties)) node.properties = propertyNodes(properties);
  if (additionalProperties === true) node.additionalProperties = additionalProperties;
  if (isJsonObject(additionalProperties)) node.additionalProperties = structuralSchema(additionalProperties);
  if (isJsonObject(items)) node.items = structuralSchema(items);
}

function propertyNodes(properties: JsonSchema): ReadonlyMap<string, SchemaNode> {
  const nodes = new Map<string, SchemaNode>();
  for (const name of Object.keys(properties)) {
    const child = properties[name];
    if (isJsonObject(child)) nodes.set(name, structuralSchema(child));
  }
  return nodes;
}

function setExtensionWords(node: Node, schema: JsonSchema): void {
  const listType = schema['x-kubernetes-list-type'];
  const listMapKeys = schema['x-kubernetes-list-map-keys'];
  const mapType = schema['x-kubernetes-map-type'];
  if (isListType(listType)) node.listType = listType;
  if (Array.isArray(listMapKeys)) node.listMapKeys = listMapKeys as string[];
  if (mapType === 'atomic' || mapType === 'granular') node.mapType = mapType;
  if (schema['x-kubernetes-int-or-string'] === true) node.intOrString = true;
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) node.preserveUnknownFields = true;
  if (schema['x-kubernetes-embedded-resource'] === true) node.embeddedResource = true;
}

function isListType(value: unknown): value is NonNullable<SchemaNode['listType']> {
  return value === 'atomic' || value === 'set' || value === 'map';
}
