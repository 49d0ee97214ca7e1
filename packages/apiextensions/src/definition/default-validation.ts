// Rules for the defaults in a schema: they must be valid for it and have no unknown fields, and a default for an object
// or a part of its metadata must be valid as such. Source: apiextensions schema/defaulting ValidateDefaults.

import { type DeepReadonly, deepCopy } from '@kapstan/api';
import { type FieldError, formatFieldError, formatFieldErrors } from '@kapstan/api/errors';
import { getOwn, isJsonObject, setOwn } from '@kapstan/api/internal';
import type { Field } from '@kapstan/apiserver/internal';
import {
  compilePattern,
  compileValidator,
  embeddedFault,
  type JsonSchema,
  pruneUnknownFields,
  type SchemaNode,
  StrictErrors,
  structuralSchema,
} from '@kapstan/apiserver/internal';
import type { JSONSchemaProps } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { embeddedResourceErrors } from '../resource/embedded-resources.ts';
import { eachProperty } from './schema-steps.ts';

type Schema = DeepReadonly<JSONSchemaProps>;

/**
 * A schema inside the checked one, in the forms that its default needs. They are made of the whole schema once: made of each part alone,
 * they would cost its depth times its size.
 */
class SchemaPart {
  readonly schema: Schema;
  readonly #step: { readonly parent: SchemaPart; readonly property: string | undefined } | undefined;
  #node: SchemaNode | undefined;
  #checked: JsonSchema | undefined;

  /** Without a step the schema is the whole one. A step without a property leads to the items of a list. */
  constructor(schema: Schema, step?: { readonly parent: SchemaPart; readonly property: string | undefined }) {
    this.schema = schema;
    this.#step = step;
  }

  get isEmbedded(): boolean {
    return this.schema[embeddedWord] === true;
  }

  get node(): SchemaNode {
    this.#node ??= this.#ownNode() ?? structuralSchema(this.schema as JsonSchema);
    return this.#node;
  }

  #ownNode(): SchemaNode | undefined {
    if (this.#step === undefined) return undefined;
    const { parent, property } = this.#step;
    return property === undefined ? parent.node.items : parent.node.properties?.get(property);
  }

  /** The schema that its default is checked against. */
  get checked(): JsonSchema {
    this.#checked ??= this.#step === undefined ? valueSchema(this.schema) : this.#ownChecked(this.#step);
    return this.#checked;
  }

  #ownChecked(step: { readonly parent: SchemaPart; readonly property: string | undefined }): JsonSchema {
    const { items, properties } = step.parent.checked;
    return step.property === undefined
      ? (items as JsonSchema)
      : (getOwn(properties as JsonSchema, step.property) as JsonSchema);
  }
}

/** The place of a schema within the nearest object with metadata. */
interface Place {
  /** The schema of that object. */
  readonly object: SchemaPart;
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
  const root = new SchemaPart({ ...schema, [embeddedWord]: true });
  validateDefaults(at, root, rootOf(root));
}

function rootOf(object: SchemaPart): Place {
  return { object, isInsideMetadata: false, surround: (value) => ({ ...typeMeta, ...(value as object) }) };
}

function validateDefaults(at: Field, part: SchemaPart, above: Place): void {
  const { schema } = part;
  const place = part.isEmbedded ? rootOf(part) : above;
  if (schema.default !== undefined && schema.default !== null) validateDefault(at.child('default'), part, place);
  if (isJsonObject(schema.items)) {
    const item = { ...place, surround: (value: unknown) => place.surround([value]) };
    const items = new SchemaPart(schema.items as Schema, { parent: part, property: undefined });
    validateDefaults(at.child('items'), items, item);
  }
  eachProperty(at, schema, (child, field, name) => {
    const isMeta = part.isEmbedded && ['metadata', 'apiVersion', 'kind'].includes(name);
    const member = (value: unknown): Record<string, unknown> => place.surround(withMember(name, value));
    const isInsideMetadata = place.isInsideMetadata || isMeta;
    const property = new SchemaPart(child, { parent: part, property: name });
    validateDefaults(field, property, { ...place, isInsideMetadata, surround: member });
  });
}

function withMember(name: string, value: unknown): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  setOwn(object, name, value);
  return object;
}

function validateDefault(at: Field, part: SchemaPart, place: Place): void {
  const { default: value } = part.schema;
  if (place.isInsideMetadata) {
    const fault = metadataFault(value, place);
    if (fault !== undefined) return at.invalid(value, `must result in valid metadata: ${fault}`);
  } else {
    if (hasUnknownFields(value, part)) at.invalid(value, 'must not have unknown fields');
    const errors = resourceErrors(value, part);
    for (const error of errors) at.below(error);
    if (errors.length > 0) return;
  }
  for (const error of compileValidator(part.checked)(value, '')) at.below(error);
}

function metadataFault(value: unknown, { object, surround }: Place): string | undefined {
  const errors = resourceErrors(surround(deepCopy(value)), object);
  const [first] = errors;
  if (first === undefined) return undefined;
  return errors.length === 1 ? formatFieldError(first) : formatFieldErrors(errors);
}

/** Reports errors in the types and the metadata of a value that is an object or contains some. */
function resourceErrors(value: unknown, part: SchemaPart): readonly FieldError[] {
  const holder = { value: deepCopy(value) };
  const node = { properties: new Map([['value', part.node]]) };
  for (const { path, object } of pruneUnknownFields(holder, node).embedded) {
    const fault = embeddedFault(object, `${path}.`, new StrictErrors());
    if (fault !== undefined) return [below(fault)];
  }
  return [...requiredErrors(holder.value, part), ...embeddedResourceErrors(holder, node).map(below)];
}

/** An object must have its type members. */
function requiredErrors(value: unknown, { isEmbedded }: SchemaPart): readonly FieldError[] {
  if (!isEmbedded || !isJsonObject(value)) return [];
  const needed = ['apiVersion', 'kind'].filter((member) => !Object.hasOwn(value, member));
  return needed.map((field) => ({ type: 'FieldValueRequired', field, detail: '' }));
}

/** The path below the value, which the holder calls "value". */
function below(error: FieldError): FieldError {
  return { ...error, field: error.field.replace(/^value\.?/, '') };
}

function hasUnknownFields(value: unknown, { node }: SchemaPart): boolean {
  const holder = { value: deepCopy(value) };
  return pruneUnknownFields(holder, { properties: new Map([['value', node]]) }).unknown.length > 0;
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
