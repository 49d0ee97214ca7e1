// The second rule of structural schemas: everything that a restriction at the root names must also be specified outside of it. Kubernetes
// does not check restrictions at deeper levels. Source: apiextensions schema validateStructuralCompleteness.

import type { DeepReadonly } from '@kapstan/api';
import { isJsonObject } from '@kapstan/api/internal';
import type { Field } from '@kapstan/apiserver/internal';
import type { JSONSchemaProps } from '@kapstan/kinds/apiextensions.k8s.io/v1';

type Schema = DeepReadonly<JSONSchemaProps>;

export function validateCompleteness(at: Field, schema: Schema): void {
  checkRestrictions({ at, specified: schema }, { at, schema });
}

/** A place that must be specified, and the schema that is specified there. */
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
  if (!isJsonObject(target.specified)) return target.at.required(`because it is defined in ${at.path}`);
  const specified = target.specified as Schema;
  checkRestrictions(target, restriction);
  if (isJsonObject(schema.items)) {
    const below = { at: target.at.child('items'), specified: specified.items };
    checkNested(below, { at: at.child('items'), schema: schema.items as Schema });
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
