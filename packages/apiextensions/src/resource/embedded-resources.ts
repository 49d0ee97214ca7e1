// Checks type and metadata of embedded objects in custom resources (x-kubernetes-embedded-resource) by the rules for
// any object. Source: apiextensions apiserver/schema/objectmeta Validate.

import type { DeepReadonly, ObjectMeta } from '@kapstan/api';
import { type FieldError, fieldChild, fieldIndex, invalidField } from '@kapstan/api/errors';
import { isJsonObject, parseApiVersion } from '@kapstan/api/internal';
import type { SchemaNode } from '@kapstan/apiserver/internal';
import { dns1035LabelErrors, nameIsPathSegment, validateObjectMeta } from '@kapstan/apiserver/internal';

/**
 * Returns all errors below an object; the registry checks the object itself. Value validation reports missing members.
 */
export function embeddedResourceErrors(value: unknown, schema: SchemaNode): readonly FieldError[] {
  const errors: FieldError[] = [];
  visitMembers(value, { schema, path: '', errors });
  return errors;
}

interface Place {
  readonly schema: SchemaNode;
  readonly path: string;
  readonly errors: FieldError[];
}

function visit(value: unknown, place: Place): void {
  if (place.schema.embeddedResource === true && isJsonObject(value)) {
    for (const error of resourceErrors(value, place.path)) place.errors.push(error);
  }
  visitMembers(value, place);
}

function visitMembers(value: unknown, { schema, path, errors }: Place): void {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return;
    value.forEach((item, index) => {
      visit(item, { schema: items, path: fieldIndex(path, index), errors });
    });
    return;
  }
  if (!isJsonObject(value)) return;
  for (const [key, member] of Object.entries(value)) {
    const child = schema.properties?.get(key) ?? schema.additionalProperties;
    if (child !== undefined && child !== true) visit(member, { schema: child, path: fieldChild(path, key), errors });
  }
}

function resourceErrors(object: Record<string, unknown>, path: string): readonly FieldError[] {
  return [
    ...textErrors(object, { path, key: 'apiVersion', rule: apiVersionErrors }),
    ...textErrors(object, { path, key: 'kind', rule: kindErrors }),
    ...metadataErrors(object.metadata, path),
  ];
}

interface TextMember {
  readonly path: string;
  readonly key: string;
  rule(text: string): readonly string[];
}

function textErrors(object: Record<string, unknown>, { path, key, rule }: TextMember): readonly FieldError[] {
  if (!Object.hasOwn(object, key)) return [];
  const value = object[key];
  const at = fieldChild(path, key);
  if (typeof value !== 'string') return [invalidField(at, value, 'must be a string')];
  if (value === '') return [invalidField(at, value, 'must not be empty')];
  return rule(value).map((text) => invalidField(at, value, text));
}

function apiVersionErrors(text: string): readonly string[] {
  try {
    parseApiVersion(text);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

function kindErrors(text: string): readonly string[] {
  const errors = dns1035LabelErrors(text.toLowerCase());
  return errors.length === 0 ? [] : [`may have mixed case, but should otherwise match: ${errors.join(',')}`];
}

function metadataErrors(value: unknown, path: string): readonly FieldError[] {
  if (!isJsonObject(value)) return [];
  const metadata = value as DeepReadonly<ObjectMeta>;
  const named = metadata.name ? metadata : { ...metadata, name: 'fakename' };
  const rules = {
    namespaced: Boolean(metadata.namespace),
    nameRule: nameIsPathSegment,
    finalizerNames: 'Qualified',
  } as const;
  return validateObjectMeta(named, rules).map((error) => ({ ...error, field: fieldChild(path, error.field) }));
}
