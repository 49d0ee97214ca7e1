// Rules of structural schemas: every place must have a type outside of the keywords that only restrict values (allOf,
// anyOf, oneOf, not), so that pruning, defaults and apply know it. Source: apiextensions schema.ValidateStructural.

import type { DeepReadonly } from '@kapstan/api';
import { isJsonObject } from '@kapstan/api/internal';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { JSONSchemaProps } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { validateCompleteness } from './completeness-validation.ts';
import { eachProperty } from './schema-steps.ts';

type Schema = DeepReadonly<JSONSchemaProps>;
type Level = 'root' | 'item' | 'field';

const preservesWord = 'x-kubernetes-preserve-unknown-fields';
const embeddedWord = 'x-kubernetes-embedded-resource';
const intOrStringWord = 'x-kubernetes-int-or-string';

export function validateStructure(at: Field, schema: Schema): void {
  validateLevel(at, schema, 'root');
  validateCompleteness(at, schema);
}

/** Returns false when `items` is neither a schema nor a list with schemas. */
function hasSchemas(items: unknown): boolean {
  return isJsonObject(items) || (Array.isArray(items) && items.length > 0);
}

function validateLevel(at: Field, schema: Schema, level: Level): void {
  const { items, additionalProperties } = schema;
  if (schema.type === 'array' && !hasSchemas(items)) at.child('items').required('must be specified');
  if (isJsonObject(items)) validateLevel(at.child('items'), items as Schema, 'item');
  eachProperty(at, schema, (child, place) => validateLevel(place, child, 'field'));
  if (additionalProperties !== undefined && level === 'root') {
    at.child('additionalProperties').forbidden('must not be used at the root');
  }
  if (isJsonObject(additionalProperties)) {
    validateLevel(at.child('additionalProperties'), additionalProperties as Schema, 'field');
  }
  validateExtensions(at, schema);
  validateRestrictions(at, schema, {
    skipsAnyOf: isIntOrString(schema.anyOf),
    skipsFirstAllOf: isIntOrString(schema.allOf?.[0]?.anyOf),
  });
  validateType(at, schema, level);
  if (level === 'root' || schema[embeddedWord] === true) validateTypeMeta(at, schema);
  if (level === 'root') validateMetadata(at, schema);
}

function validateExtensions(at: Field, schema: Schema): void {
  if (schema[intOrStringWord] === true) {
    for (const word of [preservesWord, embeddedWord] as const) {
      if (schema[word] === true) at.child(word).invalid(true, 'must be false if x-kubernetes-int-or-string is true');
    }
  }
  if (schema[embeddedWord] !== true) return;
  if (schema.additionalProperties !== undefined) {
    at.child('additionalProperties').forbidden('must not be used if x-kubernetes-embedded-resource is set');
  }
  if (schema[preservesWord] !== true && Object.keys(schema.properties ?? {}).length === 0) {
    const text =
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields';
    at.child('properties').required(text);
  }
}

const whereTypeIsNeeded = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
} as const;

function validateType(at: Field, schema: Schema, level: Level): void {
  const { type } = schema;
  if (schema[embeddedWord] === true && type !== 'object') {
    const text = 'must be object if x-kubernetes-embedded-resource is true';
    if (!type) at.child('type').required(text);
    else at.child('type').invalid(type, text);
  } else if (!type && schema[intOrStringWord] !== true && schema[preservesWord] !== true) {
    at.child('type').required(whereTypeIsNeeded[level]);
  }
  if (level === 'root' && type && type !== 'object') at.child('type').invalid(type, 'must be object at the root');
}

function validateTypeMeta(at: Field, { properties = {} }: Schema): void {
  const needed = { kind: 'string', apiVersion: 'string', metadata: 'object' } as const;
  for (const [name, type] of Object.entries(needed)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property === undefined || property.type === type) continue;
    at.child('properties')
      .key(name)
      .child('type')
      .invalid(property.type ?? '', `must be ${type}`);
  }
}

/** Only these parts of metadata may be restricted; the server owns the rest. */
function validateMetadata(at: Field, { properties = {} }: Schema): void {
  const metadata = Object.hasOwn(properties, 'metadata') ? properties.metadata : undefined;
  if (metadata === undefined) return;
  const { type: _type, default: _default, $ref: _ref, properties: members = {}, ...rest } = metadata;
  const allowed = Object.keys(members).every((name) => name === 'name' || name === 'generateName');
  if (allowed && Object.keys(rest).length === 0) return;
  const text = 'must not specify anything other than name and generateName, but metadata is implicitly specified';
  at.child('properties').key('metadata').forbidden(text);
}

/** True for `anyOf: [{type: integer}, {type: string}]`, the only restriction that may contain types. */
function isIntOrString(anyOf: unknown): boolean {
  return anyOf !== undefined && jsonEqual(anyOf, [{ type: 'integer' }, { type: 'string' }]);
}

interface Skips {
  readonly skipsAnyOf: boolean;
  readonly skipsFirstAllOf: boolean;
}

const skipsNothing: Skips = { skipsAnyOf: false, skipsFirstAllOf: false };

function validateRestrictions(at: Field, schema: Schema, { skipsAnyOf, skipsFirstAllOf }: Skips): void {
  const { allOf, anyOf, oneOf } = schema;
  if (anyOf !== undefined && !skipsAnyOf) {
    at.child('anyOf').each(anyOf, (nested, place) => validateNested(place, nested, skipsNothing));
  }
  if (allOf !== undefined) {
    at.child('allOf').each(allOf, (nested, place, index) =>
      validateNested(place, nested, { skipsAnyOf: skipsFirstAllOf && index === 0, skipsFirstAllOf: false }),
    );
  }
  if (oneOf !== undefined) {
    at.child('oneOf').each(oneOf, (nested, place) => validateNested(place, nested, skipsNothing));
  }
  if (schema.not !== undefined) validateNested(at.child('not'), schema.not, skipsNothing);
}

/** Keywords that are forbidden where values are only restricted, with the text of the error. */
const forbiddenWords: readonly (readonly [keyof JSONSchemaProps, string])[] = [
  ['type', 'must be empty to be structural'],
  ['default', 'must be undefined to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['nullable', 'must be false to be structural'],
  [preservesWord, 'must be false to be structural'],
  [embeddedWord, 'must be false to be structural'],
  [intOrStringWord, 'must be false to be structural'],
  ['x-kubernetes-list-map-keys', 'must be empty to be structural'],
  ['x-kubernetes-list-type', 'must be undefined to be structural'],
  ['x-kubernetes-map-type', 'must be undefined to be structural'],
  ['x-kubernetes-validations', 'must be empty to be structural'],
];

function validateNested(at: Field, nested: Schema, skips: Skips): void {
  validateRestrictions(at, nested, skips);
  const { items, additionalProperties, properties } = nested;
  if (isJsonObject(items)) validateNested(at.child('items'), items as Schema, skipsNothing);
  if (isJsonObject(additionalProperties) || additionalProperties === true) {
    at.child('additionalProperties').forbidden('must be undefined to be structural');
  }
  at.child('properties').eachKey<Schema>(properties, (_, child, place) => validateNested(place, child, skipsNothing));
  for (const [word, text] of forbiddenWords) if (isSet(word, nested[word])) at.child(word).forbidden(text);
  if (properties !== undefined && Object.hasOwn(properties, 'metadata')) {
    at.child('properties').key('metadata').forbidden('must not be specified in a nested context');
  }
}

/** Keywords that are pointers in Go, whose empty values count as set. */
const pointerWords: ReadonlySet<string> = new Set(['default', 'x-kubernetes-list-type', 'x-kubernetes-map-type']);

/** Returns true unless the value is Go's zero value. */
function isSet(word: string, value: unknown): boolean {
  if (pointerWords.has(word)) return value !== undefined && value !== null;
  if (Array.isArray(value)) return value.length > 0;
  return value !== undefined && value !== null && value !== '' && value !== false;
}
