// Rules for x-kubernetes-list-type: the items of sets and maps must be distinguishable. Source:
// ValidateCustomResourceDefinitionOpenAPISchema, validateMapListKeysMapSet.

import type { DeepReadonly } from '@kapstan/api';
import { isJsonObject } from '@kapstan/api/internal';
import type { Field } from '@kapstan/apiserver/internal';
import type { JSONSchemaProps } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { goItems } from './go-versions.ts';

type Schema = DeepReadonly<JSONSchemaProps>;

const listTypes = ['atomic', 'set', 'map'];
const keysWord = 'x-kubernetes-list-map-keys';
const typeWord = 'x-kubernetes-list-type';

export function validateListType(at: Field, schema: Schema): void {
  const listType = schema[typeWord];
  const items = isJsonObject(schema.items) ? (schema.items as Schema) : undefined;
  if (listType !== undefined) {
    validateArray(at, schema, items);
    if (!listTypes.includes(listType)) at.child(typeWord).notSupported(listType, listTypes);
  }
  validateKeysWord(at, schema);
  if (listType === 'map') validateMap(at, schema, items);
  if ((listType === 'set' || listType === 'map') && items !== undefined) {
    validateNullability(at.child('items'), { listType, items, keys: schema[keysWord] ?? [] });
  }
}

function validateArray(at: Field, schema: Schema, items: Schema | undefined): void {
  const text = 'must be array if x-kubernetes-list-type is specified';
  if (!schema.type) at.child('type').required(text);
  else if (schema.type !== 'array') at.child('type').invalid(schema.type, text);
  else if (schema[typeWord] === 'set' && items !== undefined) validateSetItems(at.child('items'), items);
}

/** Items of a set are compared as a whole, so they must be atomic. */
function validateSetItems(at: Field, items: Schema): void {
  const text = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  const listType = items[typeWord];
  const mapType = items['x-kubernetes-map-type'];
  if (items.type === 'array' && listType !== undefined && listType !== 'atomic')
    at.child(typeWord).invalid(listType, text);
  if (items.type === 'object' && mapType !== 'atomic') at.child('x-kubernetes-map-type').invalid(mapType ?? null, text);
}

function validateKeysWord(at: Field, schema: Schema): void {
  if ((schema[keysWord] ?? []).length === 0) return;
  const listType = schema[typeWord];
  const text = 'must be map if x-kubernetes-list-map-keys is non-empty';
  if (listType === undefined) at.child(typeWord).required(text);
  else if (listType !== 'map') at.child(typeWord).invalid(listType, text);
}

function validateMap(at: Field, schema: Schema, items: Schema | undefined): void {
  const keys = schema[keysWord] ?? [];
  if (keys.length === 0) at.child(keysWord).required('must not be empty if x-kubernetes-list-type is map');
  if (schema.items === undefined) {
    at.child('items').required('must have a schema if x-kubernetes-list-type is map');
  } else if (items === undefined) {
    at.child('items').invalid(goItems(schema.items), 'must only have a single schema if x-kubernetes-list-type is map');
  } else if (items.type !== 'object') {
    const text = "must be object if parent array's x-kubernetes-list-type is map";
    at.child('items', 'type').invalid(items.type ?? '', text);
  } else validateKeys(at, keys, items);
}

function validateKeys(at: Field, keys: readonly string[], items: Schema): void {
  const seen = new Set<string>();
  for (const key of keys) {
    const property = propertyOf(items, key);
    if (property === undefined) at.child(keysWord).invalid(keys, 'entries must all be names of item properties');
    else if (property.type === 'array' || property.type === 'object') {
      const text = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      at.child('items', 'properties').key(key).child('type').invalid(items.type, text);
    }
    if (seen.has(key)) at.child(keysWord).invalid(keys, 'must not contain duplicate entries');
    seen.add(key);
  }
}

interface ListItems {
  readonly listType: 'set' | 'map';
  readonly items: Schema;
  readonly keys: readonly string[];
}

/** Every item must have a value for each key. */
function validateNullability(at: Field, { listType, items, keys }: ListItems): void {
  if (items.nullable === true) {
    at.child('nullable').forbidden(`cannot be nullable when x-kubernetes-list-type is ${listType}`);
  }
  if (listType === 'set') return;
  const required = new Set(items.required);
  for (const key of keys) {
    const property = propertyOf(items, key);
    if (property === undefined) continue;
    const place = at.child('properties').key(key);
    const what = 'this property is in x-kubernetes-list-map-keys, so it';
    if (!required.has(key) && property.default === undefined) {
      place.child('default').required(`${what} must have a default or be a required property`);
    }
    if (property.nullable === true) place.child('nullable').forbidden(`${what} cannot be nullable`);
  }
}

function propertyOf({ properties }: Schema, key: string): Schema | undefined {
  return properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
}
