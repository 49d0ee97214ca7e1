// The schemas inside a schema, each with its place: what walks over JSON schemas have in common.
import { type DeepReadonly, isJsonObject } from '@kapstan/api';
import type { JSONSchemaProps } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import type { Field } from '../registry/validation/field.ts';

type Schema = DeepReadonly<JSONSchemaProps>;

export interface SchemaStep {
  readonly word: string;
  /** Name of the property; "" for words without names. */
  readonly key: string;
  readonly schema: Schema;
  /** The place of the schema, given that of its parent. */
  at(parent: Field): Field;
}

const named = ['properties', 'definitions', 'dependencies', 'patternProperties'] as const;
const listed = ['allOf', 'anyOf', 'oneOf'] as const;
const single = ['additionalProperties', 'additionalItems', 'items', 'not'] as const;

export function childSchemas(schema: Schema): readonly SchemaStep[] {
  const steps: SchemaStep[] = [];
  for (const word of single) steps.push(...stepOf(schema[word], { word, at: (parent) => parent.child(word) }));
  for (const word of listed) {
    schema[word]?.forEach((value, index) => {
      steps.push(...stepOf(value, { word, at: (parent) => parent.child(word).index(index) }));
    });
  }
  for (const word of named) {
    for (const [key, value] of Object.entries(schema[word] ?? {})) {
      steps.push(...stepOf(value, { word, key, at: (parent) => parent.child(word).key(key) }));
    }
  }
  return steps;
}

/** None for what is no schema: `additionalProperties: true`. */
function stepOf(
  value: unknown,
  step: Pick<SchemaStep, 'word' | 'at'> & { readonly key?: string },
): readonly SchemaStep[] {
  return isJsonObject(value) ? [{ key: '', ...step, schema: value as Schema }] : [];
}
