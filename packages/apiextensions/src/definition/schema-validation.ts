// Rules for the contents of a custom resource's JSON schema. structural-validation.ts checks that it is structural,
// default-validation.ts its defaults. Source: ValidateCustomResourceDefinitionOpenAPISchema.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import { compilePattern } from '@kapstan/apiserver/internal';
import type { JSONSchemaProps } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { validateDefaultRules } from '../rules/default-rules.ts';
import type { KnownExpressions } from '../rules/rule-compilation.ts';
import { hasRules } from '../rules/rule-schema.ts';
import { validateRules } from '../rules/rule-validation.ts';
import { validateRuleWords } from '../rules/rule-word-validation.ts';
import { validateRootDefaults } from './default-validation.ts';
import { goSchema } from './go-versions.ts';
import { validateListType } from './list-type-validation.ts';
import { childSchemas, type SchemaStep } from './schema-steps.ts';
import { validateStructure } from './structural-validation.ts';

type Schema = DeepReadonly<JSONSchemaProps>;

/** Facts outside the schema on which its rules depend. */
export interface SchemaContext {
  /** True when the status is a subresource, which limits the keywords at the root. */
  readonly hasStatus: boolean;
  /** Expressions that the definition had before. */
  readonly known: KnownExpressions;
  /** True when the schema was accepted before. */
  readonly isUnchanged: boolean;
}

/** Checks the schema of a whole resource. */
export function validateRootSchema(at: Field, schema: Schema, { hasStatus, known, isUnchanged }: SchemaContext): void {
  if (hasStatus) validateRootWithStatus(at, schema);
  if (schema.nullable === true) at.child('nullable').forbidden('nullable cannot be true at the root');
  const faulty = new Set<Schema>();
  const first = at.errorCount;
  validateSchema(at, schema, { isRoot: true, isInsideMetadata: false, faulty });
  // Kubernetes reports no further errors for a schema that it cannot read as structural.
  if (hasUnsupportedWord(schema)) {
    if (at.errorCount === first) at.invalid('', "OpenAPIV3Schema 'schema' is not supported");
    return;
  }
  const before = at.errorCount;
  validateStructure(at, schema);
  if (at.errorCount === before) validateRootDefaults(at, schema);
  if (at.errorCount > before || !hasRules(schema)) return;
  // Rules are checked only in a schema that is structural and whose defaults are valid.
  at.later(function* () {
    const soFar = at.errorCount;
    yield* validateDefaultRules(at, schema);
    if (at.errorCount === soFar) yield* validateRules(at, schema, { faulty, known, isUnchanged });
  });
}

/** Source: structural schema validateUnsupportedFields. */
function hasUnsupportedWord(schema: Schema): boolean {
  const isHere =
    Boolean(schema.id || schema.$schema || schema.$ref) ||
    schema.additionalItems !== undefined ||
    hasMembers(schema.dependencies) ||
    hasMembers(schema.patternProperties) ||
    hasMembers(schema.definitions) ||
    (Array.isArray(schema.items) && schema.items.length > 0) ||
    schema['x-kubernetes-preserve-unknown-fields'] === false;
  return isHere || childSchemas(schema).some((step) => hasUnsupportedWord(step.schema));
}

function hasMembers(members: object | null | undefined): boolean {
  return members !== undefined && members !== null && Object.keys(members).length > 0;
}

/** Go's names of the keywords that are allowed together with a status subresource. */
const rootWords = new Map([
  ['description', 'Description'],
  ['type', 'Type'],
  ['format', 'Format'],
  ['title', 'Title'],
  ['maximum', 'Maximum'],
  ['exclusiveMaximum', 'ExclusiveMaximum'],
  ['minimum', 'Minimum'],
  ['exclusiveMinimum', 'ExclusiveMinimum'],
  ['maxLength', 'MaxLength'],
  ['minLength', 'MinLength'],
  ['pattern', 'Pattern'],
  ['maxItems', 'MaxItems'],
  ['minItems', 'MinItems'],
  ['uniqueItems', 'UniqueItems'],
  ['multipleOf', 'MultipleOf'],
  ['required', 'Required'],
  ['items', 'Items'],
  ['properties', 'Properties'],
  ['externalDocs', 'ExternalDocs'],
  ['example', 'Example'],
  ['x-kubernetes-preserve-unknown-fields', 'XPreserveUnknownFields'],
  ['x-kubernetes-validations', 'XValidations'],
]);

function validateRootWithStatus(at: Field, schema: Schema): void {
  if (schema.type !== undefined && schema.type !== 'object') {
    const text = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    at.child('type').invalid(schema.type, text);
    return;
  }
  if (Object.keys(schema).every((word) => rootWords.has(word))) return;
  const words = [...rootWords.values()].join(' ');
  const text = `only [${words}] fields are allowed at the root of the schema if the status subresource is enabled`;
  at.invalid(goSchema(schema), text);
}

interface Place {
  readonly isRoot: boolean;
  /** True in the schema of an object's metadata, apiVersion or kind. */
  readonly isInsideMetadata: boolean;
  /** The reason why no default is allowed here. */
  readonly noDefaults?: string;
  /** Collects the schemas that have errors, themselves or at a deeper level. */
  readonly faulty: Set<Schema>;
}

function validateSchema(at: Field, schema: Schema, place: Place): void {
  const before = at.errorCount;
  validateWords(at, schema, place);
  if (schema.uniqueItems === true) {
    const text = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic';
    at.child('uniqueItems').forbidden(text);
  }
  const { additionalProperties, properties } = schema;
  if (additionalProperties !== undefined && additionalProperties !== true && hasMembers(properties)) {
    at.child('additionalProperties').forbidden('additionalProperties and properties are mutual exclusive');
  }
  for (const step of childSchemas(schema)) validateSchema(step.at(at), step.schema, placeOf(step, schema, place));
  validateExtensions(at, schema);
  validateListType(at, schema);
  validateRuleWords(at, schema);
  if (at.errorCount > before) place.faulty.add(schema);
}

const metadataMembers: readonly string[] = ['metadata', 'apiVersion', 'kind'];

function placeOf(step: SchemaStep, parent: Schema, place: Place): Place {
  if (step.word === 'additionalProperties' && place.isInsideMetadata) {
    return { ...place, isRoot: false, noDefaults: 'inside additionalProperties applying to object metadata' };
  }
  const isObject = place.isRoot || parent['x-kubernetes-embedded-resource'] === true;
  if (step.word === 'properties' && isObject && metadataMembers.includes(step.key)) {
    const noDefaults = place.isRoot ? { noDefaults: `in top-level ${step.key}` } : {};
    return { ...place, isRoot: false, isInsideMetadata: true, ...noDefaults };
  }
  return place.isRoot ? { ...place, isRoot: false } : place;
}

const types: readonly string[] = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

/** Refuses keywords of JSON schema that Kubernetes does not support. Source: specStandardValidatorV3. */
function validateWords(at: Field, schema: Schema, { isInsideMetadata, noDefaults }: Place): void {
  if (schema.default !== undefined && noDefaults !== undefined) {
    at.child('default').forbidden(`must not be set ${noDefaults}`);
  }
  if (schema.id) at.child('id').forbidden('id is not supported');
  if (schema.additionalItems !== undefined) at.child('additionalItems').forbidden('additionalItems is not supported');
  for (const word of ['patternProperties', 'definitions'] as const) {
    if (hasMembers(schema[word])) at.child(word).forbidden(`${word} is not supported`);
  }
  if (schema.dependencies !== undefined) at.child('dependencies').forbidden('dependencies is not supported');
  if (schema.$ref !== undefined) at.child('$ref').forbidden('$ref is not supported');
  validateType(at, schema);
  if (Array.isArray(schema.items) && schema.items.length > 0)
    at.child('items').forbidden('items must be a schema object and not an array');
  if (isInsideMetadata && schema['x-kubernetes-embedded-resource'] === true) {
    at.child('x-kubernetes-embedded-resource').forbidden('must not be used inside of resource meta');
  }
  validatePattern(at, schema.pattern);
}

function validateType(at: Field, { type }: Schema): void {
  if (!type) return;
  if (!types.includes(type)) at.child('type').notSupported(type, types);
  if (type === 'null') at.child('type').forbidden('type cannot be set to null, use nullable as an alternative');
}

function validatePattern(at: Field, pattern: string | undefined): void {
  if (!pattern) return;
  try {
    compilePattern(pattern);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    at.child('pattern').invalid(pattern, `must be a valid regular expression, but isn't: ${error.message}`);
  }
}

function validateExtensions(at: Field, schema: Schema): void {
  const preserves = schema['x-kubernetes-preserve-unknown-fields'];
  if (preserves === false) {
    at.child('x-kubernetes-preserve-unknown-fields').invalid(preserves, 'must be true or undefined');
  }
  const mapType = schema['x-kubernetes-map-type'];
  if (mapType !== undefined) {
    const text = 'must be object if x-kubernetes-map-type is specified';
    if (!schema.type) at.child('type').required(text);
    else if (schema.type !== 'object') at.child('type').invalid(schema.type, text);
    if (!['atomic', 'granular'].includes(mapType)) {
      at.child('x-kubernetes-map-type').notSupported(mapType, ['atomic', 'granular']);
    }
  }
}
