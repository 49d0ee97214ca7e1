// Schemas of custom resources: from the JSONSchemaProps of a definition to SchemaNode. Used by crd/.
import { isJsonObject } from '@kapstan/api';
import type { SchemaNode } from './schema-node.ts';

/** JSONSchemaProps of apiextensions.k8s.io/v1, as sent; checked by crd/definition-validation.ts. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const types: ReadonlySet<unknown> = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean']);

/** The schema of a place in a custom resource. Reads own keys only; what is of the wrong type counts as absent. */
export function structuralSchema(schema: JsonSchema): SchemaNode {
  return {
    ...scalarWords(schema),
    ...structureWords(schema),
    ...extensionWords(schema),
    raw: schema,
  };
}

function scalarWords(schema: JsonSchema): Partial<SchemaNode> {
  const { type, format, nullable, required } = schema;
  return {
    ...(types.has(type) && { type: type as NonNullable<SchemaNode['type']> }),
    ...(typeof format === 'string' && { format }),
    ...(nullable === true && { nullable }),
    ...(Array.isArray(required) && { required: required as string[] }),
    ...(Array.isArray(schema.enum) && { enum: schema.enum as unknown[] }),
    ...(schema.default !== undefined && { default: schema.default }),
  };
}

function structureWords(schema: JsonSchema): Partial<SchemaNode> {
  const { properties, additionalProperties, items } = schema;
  return {
    ...(isJsonObject(properties) && { properties: propertyNodes(properties) }),
    ...(additionalProperties === true && { additionalProperties }),
    ...(isJsonObject(additionalProperties) && { additionalProperties: structuralSchema(additionalProperties) }),
    ...(isJsonObject(items) && { items: structuralSchema(items) }),
  };
}

function propertyNodes(properties: JsonSchema): ReadonlyMap<string, SchemaNode> {
  const entries = Object.entries(properties).filter((entry): entry is [string, JsonSchema] => isJsonObject(entry[1]));
  return new Map(entries.map(([name, child]) => [name, structuralSchema(child)]));
}

function extensionWords(schema: JsonSchema): Partial<SchemaNode> {
  const listType = schema['x-kubernetes-list-type'];
  const listMapKeys = schema['x-kubernetes-list-map-keys'];
  const mapType = schema['x-kubernetes-map-type'];
  return {
    ...(isListType(listType) && { listType }),
    ...(Array.isArray(listMapKeys) && { listMapKeys: listMapKeys as string[] }),
    ...((mapType === 'atomic' || mapType === 'granular') && { mapType }),
    ...(schema['x-kubernetes-int-or-string'] === true && { intOrString: true }),
    ...(schema['x-kubernetes-preserve-unknown-fields'] === true && { preserveUnknownFields: true }),
    ...(schema['x-kubernetes-embedded-resource'] === true && { embeddedResource: true }),
  };
}

function isListType(value: unknown): value is NonNullable<SchemaNode['listType']> {
  return value === 'atomic' || value === 'set' || value === 'map';
}
