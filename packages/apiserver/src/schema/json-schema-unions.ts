// Handles Go types of a JSON schema that have two forms: a schema or a list, a schema or a boolean, a schema or names.
// Used by typed-decoder.ts. Source: apiextensions v1 marshal.go.
import { isJsonObject } from '@kapstan/api/internal';
import { GoValueError } from './go/go-value-error.ts';
import type { SchemaNode } from './node/schema-node.ts';

export const jsonSchemaType = 'crd/apiextensions.v1.JSONSchemaProps';

const unions: ReadonlyMap<string, 'schemas' | 'boolean' | 'names'> = new Map([
  ['v1.JSONSchemaPropsOrArray', 'schemas'],
  ['v1.JSONSchemaPropsOrBool', 'boolean'],
  ['v1.JSONSchemaPropsOrStringArray', 'names'],
]);

/** Represents values that are not kept. */
export const nothing: SchemaNode = {};

export function isJsonSchemaUnion(node: SchemaNode): boolean {
  return node.goType !== undefined && unions.has(node.goType);
}

/**
 * Returns the schema by which a value of a union is read; undefined when the value is taken unchanged. Throws {@link
 * GoValueError} when it has neither form.
 */
export function unionMember(node: SchemaNode, value: unknown): SchemaNode | undefined {
  const schema = node.types?.schema(jsonSchemaType);
  if (isJsonObject(value)) return schema;
  const form = unions.get(node.goType ?? '');
  if (form === 'boolean') {
    if (typeof value === 'boolean') return undefined;
    throw new GoValueError('boolean or JSON schema expected');
  }
  // Go drops an empty list and any other value without an error. For `items` they are kept, so that validation refuses them.
  if (!Array.isArray(value) || value.length === 0) return form === 'schemas' ? undefined : nothing;
  return { items: form === 'schemas' ? schema : { type: 'string' } };
}
