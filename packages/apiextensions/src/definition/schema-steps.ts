// Lists the schemas inside a schema with their places, for all walks over JSON schemas.

import type { DeepReadonly } from '@kapstan/api';
import { isJsonObject } from '@kapstan/api/internal';
import type { Field } from '@kapstan/apiserver/internal';
import type { JSONSchemaProps } from '@kapstan/kinds/apiextensions.k8s.io/v1';

type Schema = DeepReadonly<JSONSchemaProps>;

export interface SchemaStep {
  readonly word: string;
  /** Name of the property; "" for keywords without names. */
  readonly key: string;
  readonly schema: Schema;
  /** Returns the place of the schema, given the place of its parent. */
  at(parent: Field): Field;
}

const named = ['properties', 'definitions', 'dependencies', 'patternProperties'] as const;
const listed = ['allOf', 'anyOf', 'oneOf'] as const;
const single = ['additionalProperties', 'additionalItems', 'items', 'not'] as const;

/** Keywords without rules, whatever their value. */
const plainWords: ReadonlySet<string> = new Set([
  ...['description', 'title', 'format', 'enum', 'example', 'externalDocs', 'nullable', 'required'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength'],
]);
const scalarTypes: ReadonlySet<unknown> = new Set(['string', 'integer', 'number', 'boolean']);

/**
 * True for a scalar that satisfies every rule, whatever its place below the root. Most schemas in a definition are like
 * this, so the walks check their few keywords once rather than about eighty that they lack.
 */
function isPlain(schema: Schema): boolean {
  if (!scalarTypes.has(schema.type)) return false;
  for (const word in schema) if (word !== 'type' && !plainWords.has(word)) return false;
  return true;
}

/** Visits the properties that a rule may reject, each with its place. */
export function eachProperty(
  at: Field,
  { properties }: Schema,
  visit: (child: Schema, place: Field, name: string) => void,
): void {
  if (properties === undefined) return;
  const places = at.child('properties');
  for (const name of Object.keys(properties)) {
    const child = properties[name] as Schema;
    if (!isPlain(child)) visit(child, places.key(name), name);
  }
}

/**
 * Returns all child schemas except plain ones. Values that are not schemas, as in `additionalProperties: true`, are
 * left out.
 */
export function childSchemas(schema: Schema): readonly SchemaStep[] {
  const steps: SchemaStep[] = [];
  for (const word of single) {
    const child = schemaIn(schema[word]);
    if (child !== undefined) steps.push({ word, key: '', schema: child, at: (parent) => parent.child(word) });
  }
  for (const word of listed) {
    schema[word]?.forEach((value, index) => {
      const child = schemaIn(value);
      if (child === undefined) return;
      steps.push({ word, key: '', schema: child, at: (parent) => parent.child(word).index(index) });
    });
  }
  for (const word of named) {
    const members = schema[word] ?? {};
    for (const key of Object.keys(members)) {
      const child = schemaIn(members[key]);
      if (child !== undefined) steps.push({ word, key, schema: child, at: (parent) => parent.child(word).key(key) });
    }
  }
  return steps;
}

function schemaIn(value: unknown): Schema | undefined {
  return isJsonObject(value) && !isPlain(value) ? (value as Schema) : undefined;
}
