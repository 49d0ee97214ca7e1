// The second rule of structural schemas: everything that a restriction names must also be specified outside of it.
// Source: apiextensions schema validateStructuralCompleteness.

import type { DeepReadonly } from '@kapstan/api';
import { isJsonObject } from '@kapstan/api/internal';
import type { Field } from '@kapstan/apiserver/internal';
import type { JSONSchemaProps } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { eachProperty } from './schema-steps.ts';

type Schema = DeepReadonly<JSONSchemaProps>;

export function validateCompleteness(at: Field, schema: Schema): void {
  const { items, additionalProperties } = schema;
  checkRestrictions({ at, specified: schema }, { at, schema });
  if (isJsonObject(items)) validateCompleteness(at.child('items'), items as Schema);
  eachProperty(at, schema, (child, place) => validateCompleteness(place, child));
  if (isJsonObject(additionalProperties)) {
    validateCompleteness(at.child('additionalProperties'), additionalProperties as Schema);
  }
}

/** A place that must be specified, and what is specified there. */
interface Specified {
  readonly at: Field;
  readonly specified: unknown;
}

/** A restriction and its place. */
interface Restriction {
  readonly at: Field;
  readonly schema: Schema;
}

function checkRestrictions(target: Specified, { at, schema }: Restriction): void {
  for (const word of ['allOf', 'anyOf', 'oneOf'] as const) {
    const restrictions = schema[word];
    if (restrictions === undefined) continue;
    at.child(word).each(restrictions, (nested, place) => checkNested(target, { at: place, schema: nested }));
  }
  if (schema.not !== undefined) checkNested(target, { at: at.child('not'), schema: schema.not });
}

function checkNested(target: Specified, restriction: Restriction): void {
  const { at, schema } = restriction;
  if (!isJsonObject(target.specified)) {
    // `additionalProperties: true` specifies everything below it.
    if (target.specified !== true) target.at.required(`because it is defined in ${at.path}`);
    return;
  }
  const specified = target.specified as Schema;
  checkRestrictions(target, restriction);
  for (const word of ['items', 'additionalProperties'] as const) {
    const nested = schema[word];
    if (!isJsonObject(nested)) continue;
    const below = { at: target.at.child(word), specified: specified[word] };
    checkNested(below, { at: at.child(word), schema: nested as Schema });
  }
  if (schema.properties === undefined) return;
  at.child('properties').eachKey<Schema>(schema.properties, (name, nested, place) => {
    const { properties = {} } = specified;
    const below = {
      at: target.at.child('properties').key(name),
      specified: Object.hasOwn(properties, name) ? properties[name] : undefined,
    };
    checkNested(below, { at: place, schema: nested });
  });
}
