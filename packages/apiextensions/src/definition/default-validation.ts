// Rules for the defaults in a schema: they must be valid for it and have no unknown fields. Source: apiextensions
// schema/defaulting ValidateDefaults.

import { type DeepReadonly, deepCopy } from '@kapstan/api';
import { isJsonObject } from '@kapstan/api/internal';
import type { Field } from '@kapstan/apiserver/internal';
import { compileValidator, type JsonSchema, pruneUnknownFields, structuralSchema } from '@kapstan/apiserver/internal';
import type { JSONSchemaProps } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { eachProperty } from './schema-steps.ts';

type Schema = DeepReadonly<JSONSchemaProps>;

/** Checks a structural schema. Like Kubernetes it does not look below additionalProperties. */
export function validateDefaults(at: Field, schema: Schema): void {
  if (schema.default !== undefined) validateDefault(at.child('default'), schema);
  if (isJsonObject(schema.items)) validateDefaults(at.child('items'), schema.items as Schema);
  eachProperty(at, schema, (child, place) => validateDefaults(place, child));
}

function validateDefault(at: Field, schema: Schema): void {
  if (hasUnknownFields(schema)) at.invalid(schema.default, 'must not have unknown fields');
  for (const error of compileValidator(schema as JsonSchema)(schema.default, '')) at.below(error);
}

function hasUnknownFields(schema: Schema): boolean {
  const holder = { value: deepCopy(schema.default) };
  const node = { properties: new Map([['value', structuralSchema(schema as JsonSchema)]]) };
  return pruneUnknownFields(holder, node).unknown.length > 0;
}
