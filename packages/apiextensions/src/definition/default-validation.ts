// Rules for the defaults in a schema: they must be valid for it and have no unknown fields. Source: apiextensions
// schema/defaulting ValidateDefaults.

import { type DeepReadonly, deepCopy } from '@kapstan/api';
import { isJsonObject, setOwn } from '@kapstan/api/internal';
import type { Field } from '@kapstan/apiserver/internal';
import { compileValidator, type JsonSchema, pruneUnknownFields, structuralSchema } from '@kapstan/apiserver/internal';
import type { JSONSchemaProps } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { eachProperty } from './schema-steps.ts';

type Schema = DeepReadonly<JSONSchemaProps>;

/** Checks a structural schema. Like Kubernetes it does not look below additionalProperties. */
export function validateRootDefaults(at: Field, schema: Schema): void {
  // The root is an object as embedded ones are.
  validateDefaults(at, { ...schema, [embeddedWord]: true });
}

const embeddedWord = 'x-kubernetes-embedded-resource';

function validateDefaults(at: Field, schema: Schema): void {
  if (schema.default !== undefined) validateDefault(at.child('default'), schema);
  if (isJsonObject(schema.items)) validateDefaults(at.child('items'), schema.items as Schema);
  eachProperty(at, schema, (child, place) => validateDefaults(place, child));
}

function validateDefault(at: Field, schema: Schema): void {
  if (hasUnknownFields(schema)) at.invalid(schema.default, 'must not have unknown fields');
  for (const error of compileValidator(valueSchema(schema))(schema.default, '')) at.below(error);
}

/** Words that Kubernetes does not look at in defaults: their rules are not those of OpenAPI. */
const unlooked: ReadonlySet<string> = new Set(['x-kubernetes-int-or-string', 'x-kubernetes-list-type']);

/** The schema and those in it without {@link unlooked}. Source: Structural.ToKubeOpenAPI. */
function valueSchema(schema: Schema): JsonSchema {
  return withoutWords(schema, 'schema') as JsonSchema;
}

function withoutWords(value: unknown, level: 'schema' | 'names'): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutWords(item, 'schema'));
  if (!isJsonObject(value)) return value;
  const kept: Record<string, unknown> = {};
  for (const [word, child] of Object.entries(value)) {
    if (level === 'schema' && unlooked.has(word)) continue;
    if (level === 'schema' && valueWords.has(word)) setOwn(kept, word, child);
    else setOwn(kept, word, withoutWords(child, level === 'schema' && word === 'properties' ? 'names' : 'schema'));
  }
  return kept;
}

/** Words whose values are no schemas. */
const valueWords: ReadonlySet<string> = new Set(['default', 'enum', 'example']);

function hasUnknownFields(schema: Schema): boolean {
  const holder = { value: deepCopy(schema.default) };
  const node = { properties: new Map([['value', structuralSchema(schema as JsonSchema)]]) };
  return pruneUnknownFields(holder, node).unknown.length > 0;
}
