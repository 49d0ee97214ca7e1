// Rules for the defaults in a schema: they must be valid for it and have no unknown fields, and a default for an object
// or a part of its metadata must be valid as such. Source: apiextensions schema/defaulting ValidateDefaults.

import { type DeepReadonly, deepCopy } from '@kapstan/api';
import { type FieldError, formatFieldError, formatFieldErrors } from '@kapstan/api/errors';
import { isJsonObject, setOwn } from '@kapstan/api/internal';
import type { Field } from '@kapstan/apiserver/internal';
import {
  compilePattern,
  compileValidator,
  embeddedFault,
  type JsonSchema,
  pruneUnknownFields,
  StrictErrors,
  structuralSchema,
} from '@kapstan/apiserver/internal';
import type { JSONSchemaProps } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { embeddedResourceErrors } from '../resource/embedded-resources.ts';
import { eachProperty } from './schema-steps.ts';

type Schema = DeepReadonly<JSONSchemaProps>;

/** The place of a schema within the nearest object with metadata. */
interface Place {
  /** The schema of that object. */
  readonly object: Schema;
  /** True inside the type or the metadata of that object. */
  readonly isInsideMetadata: boolean;
  /** Returns such an object with this value at the place. */
  surround(value: unknown): Record<string, unknown>;
}

const embeddedWord = 'x-kubernetes-embedded-resource';
const typeMeta = { apiVersion: 'validation/v1', kind: 'Validation' };

/** Checks the defaults of a structural schema. Like Kubernetes, it does not look below additionalProperties. */
export function validateRootDefaults(at: Field, schema: Schema): void {
  // The root is treated like an embedded object.
  const root = { ...schema, [embeddedWord]: true };
  validateDefaults(at, root, rootOf(root));
}

function rootOf(object: Schema): Place {
  return { object, isInsideMetadata: false, surround: (value) => ({ ...typeMeta, ...(value as object) }) };
}

function validateDefaults(at: Field, schema: Schema, above: Place): void {
  const place = schema[embeddedWord] === true ? rootOf(schema) : above;
  if (schema.default !== undefined && schema.default !== null) validateDefault(at.child('default'), schema, place);
  if (isJsonObject(schema.items)) {
    const item = { ...place, surround: (value: unknown) => place.surround([value]) };
    validateDefaults(at.child('items'), schema.items as Schema, item);
  }
  eachProperty(at, schema, (child, field, name) => {
    const isMeta = schema[embeddedWord] === true && ['metadata', 'apiVersion', 'kind'].includes(name);
    const member = (value: unknown): Record<string, unknown> => place.surround(withMember(name, value));
    validateDefaults(field, child, { ...place, isInsideMetadata: place.isInsideMetadata || isMeta, surround: member });
  });
}

function withMember(name: string, value: unknown): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  setOwn(object, name, value);
  return object;
}

function validateDefault(at: Field, schema: Schema, place: Place): void {
  if (place.isInsideMetadata) {
    const fault = metadataFault(schema, place);
    if (fault !== undefined) return at.invalid(schema.default, `must result in valid metadata: ${fault}`);
  } else {
    if (hasUnknownFields(schema)) at.invalid(schema.default, 'must not have unknown fields');
    const errors = resourceErrors(schema.default, schema);
    for (const error of errors) at.below(error);
    if (errors.length > 0) return;
  }
  for (const error of compileValidator(valueSchema(schema))(schema.default, '')) at.below(error);
}

function metadataFault({ default: value }: Schema, { object, surround }: Place): string | undefined {
  const errors = resourceErrors(surround(deepCopy(value)), { ...object, [embeddedWord]: true });
  const [first] = errors;
  if (first === undefined) return undefined;
  return errors.length === 1 ? formatFieldError(first) : formatFieldErrors(errors);
}

/** Reports errors in the types and the metadata of a value that is an object or contains some. */
function resourceErrors(value: unknown, schema: Schema): readonly FieldError[] {
  const holder = { value: deepCopy(value) };
  const node = { properties: new Map([['value', structuralSchema(schema as JsonSchema)]]) };
  for (const { path, object } of pruneUnknownFields(holder, node).embedded) {
    const fault = embeddedFault(object, `${path}.`, new StrictErrors());
    if (fault !== undefined) return [below(fault)];
  }
  return [...requiredErrors(holder.value, schema), ...embeddedResourceErrors(holder, node).map(below)];
}

/** An object must have its type members. */
function requiredErrors(value: unknown, schema: Schema): readonly FieldError[] {
  if (schema[embeddedWord] !== true || !isJsonObject(value)) return [];
  const needed = ['apiVersion', 'kind'].filter((member) => !Object.hasOwn(value, member));
  return needed.map((field) => ({ type: 'FieldValueRequired', field, detail: '' }));
}

/** The path below the value, which the holder calls "value". */
function below(error: FieldError): FieldError {
  return { ...error, field: error.field.replace(/^value\.?/, '') };
}

function hasUnknownFields(schema: Schema): boolean {
  const holder = { value: deepCopy(schema.default) };
  const node = { properties: new Map([['value', structuralSchema(schema as JsonSchema)]]) };
  return pruneUnknownFields(holder, node).unknown.length > 0;
}

/** Keywords that Kubernetes does not check in defaults, because their rules are not part of OpenAPI. */
const unlooked: ReadonlySet<string> = new Set(['x-kubernetes-int-or-string', 'x-kubernetes-list-type']);
/** Keywords whose values are not schemas. */
const valueWords: ReadonlySet<string> = new Set(['default', 'enum', 'example']);

/**
 * Returns a copy of the schema that lacks the keywords of {@link unlooked} at every depth. Source:
 * Structural.ToKubeOpenAPI.
 */
function valueSchema(schema: Schema): JsonSchema {
  return withoutWords(schema, 'schema') as JsonSchema;
}

function withoutWords(value: unknown, level: 'schema' | 'names'): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutWords(item, 'schema'));
  if (!isJsonObject(value)) return value;
  const kept: Record<string, unknown> = {};
  for (const [word, child] of Object.entries(value)) {
    if (level === 'schema' && isUnlooked(word, child)) continue;
    if (level === 'schema' && valueWords.has(word)) setOwn(kept, word, child);
    else setOwn(kept, word, withoutWords(child, level === 'schema' && word === 'properties' ? 'names' : 'schema'));
  }
  return kept;
}

/** An invalid pattern has its own error. */
function isUnlooked(word: string, value: unknown): boolean {
  return unlooked.has(word) || (word === 'pattern' && !isValidPattern(value));
}

function isValidPattern(pattern: unknown): boolean {
  try {
    compilePattern(String(pattern));
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}
