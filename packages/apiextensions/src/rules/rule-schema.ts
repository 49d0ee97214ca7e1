// RuleSchema: a schema of a definition as rules see it. The root of each object, also of an embedded one, has
// apiVersion, kind and the name in its metadata, whether or not the schema has them. Source: apiextensions
// pkg/apiserver/schema/cel/model.
import type { DeepReadonly } from '@kapstan/api';
import { getOwn, isJsonObject } from '@kapstan/api/internal';
import type { JSONSchemaProps, ValidationRule } from '@kapstan/kinds/apiextensions.k8s.io/v1';

export type RuleSchema = DeepReadonly<JSONSchemaProps>;
export type Rule = DeepReadonly<ValidationRule>;

/** Returns the rules of the place itself. */
export function rulesOf(schema: RuleSchema): readonly Rule[] {
  return schema['x-kubernetes-validations'] ?? [];
}

/** True when there are rules at the place or below it. */
export function hasRules(schema: RuleSchema): boolean {
  if (rulesOf(schema).length > 0) return true;
  const { properties = {} } = schema;
  const inside = [itemsOf(schema), valuesOf(schema)];
  return (
    inside.some((child) => child !== undefined && hasRules(child)) ||
    Object.keys(properties).some((name) => hasRules(properties[name] as RuleSchema))
  );
}

/** Returns the schema of a list's items. */
export function itemsOf({ items }: RuleSchema): RuleSchema | undefined {
  return isJsonObject(items) ? (items as RuleSchema) : undefined;
}

/** Returns the schema of a map's values. */
export function valuesOf({ additionalProperties }: RuleSchema): RuleSchema | undefined {
  return isJsonObject(additionalProperties) ? (additionalProperties as RuleSchema) : undefined;
}

export function propertyOf({ properties }: RuleSchema, name: string): RuleSchema | undefined {
  return properties === undefined || properties === null
    ? undefined
    : (getOwn(properties, name) as RuleSchema | undefined);
}

/** True when the schema names properties; without any, all fields are unknown. */
export function hasProperties({ properties }: RuleSchema): boolean {
  if (properties === undefined || properties === null) return false;
  const known = withProperties.get(properties) ?? Object.keys(properties).length > 0;
  withProperties.set(properties, known);
  return known;
}

/** Listing the names of thousands of properties for each path into a schema would be quadratic. */
const withProperties = new WeakMap<object, boolean>();

/** True for an object that has its own apiVersion and kind. */
export function isEmbedded(schema: RuleSchema): boolean {
  return schema['x-kubernetes-embedded-resource'] === true;
}

export function isIntOrString(schema: RuleSchema): boolean {
  return schema['x-kubernetes-int-or-string'] === true;
}

const roots = new WeakMap<RuleSchema, RuleSchema>();
const text: RuleSchema = { type: 'string' };

/** Returns the schema with the type and the names that every object has; always the same one for a schema. */
export function resourceRoot(schema: RuleSchema): RuleSchema {
  const known = roots.get(schema);
  if (known !== undefined) return known;
  const root = namesObject(schema) ? schema : withNames(schema);
  roots.set(schema, root);
  return root;
}

function namesObject(schema: RuleSchema): boolean {
  const metadata = propertyOf(schema, 'metadata');
  if (metadata?.type !== 'object') return false;
  const texts = [
    propertyOf(schema, 'kind'),
    propertyOf(schema, 'apiVersion'),
    propertyOf(metadata, 'name'),
    propertyOf(metadata, 'generateName'),
  ];
  return texts.every((property) => property?.type === 'string');
}

function withNames(schema: RuleSchema): RuleSchema {
  const metadata: RuleSchema = { type: 'object', properties: { name: text, generateName: text } };
  return { ...schema, properties: { ...schema.properties, kind: text, apiVersion: text, metadata } } as RuleSchema;
}
