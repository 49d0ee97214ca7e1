// The one JSON form of a built-in object: what decoding into Kubernetes' Go types and encoding again would give. Empty
// optional fields go, required ones appear with their zero value. Made from the struct tags in the protobuf facts.
import { getOwn, isJsonObject, setOwn } from '@kapstan/api';
import { type ProtobufField, protobufFacts, schemaFacts } from '@kapstan/kinds/facts';
import { normalizeScalar, type ScalarForm, scalarFormOf, zeroOfScalar } from './scalar-form.ts';

/** One field of a Go struct, as its JSON shows it. */
interface FormField {
  readonly type: { readonly scalar: ScalarForm } | { readonly message: string };
  readonly shape: 'single' | 'list' | 'map';
  readonly isPointer: boolean;
  readonly omitEmpty: boolean;
  /** omitzero: a struct that is left out when it holds nothing. */
  readonly omitZero: boolean;
}

const forms = new Map<string, ReadonlyMap<string, FormField>>();

/**
 * Brings an object of a definition ("apps.v1.Deployment") into its Go form, in place: drops unknown fields, nulls and
 * empty optional values, adds zero values of fields that are always written, makes times and quantities canonical.
 * Values of the wrong type are left alone: decoding refuses them.
 */
export function normalizeGoForm(definition: string, object: Record<string, unknown>): void {
  const form = formOf(definition);
  for (const key of Object.keys(object)) if (!form.has(key)) delete object[key];
  for (const [key, field] of form) normalizeField(object, key, field);
}

/** The zero value of a definition: `{}` for most, `{ replicas: 0 }` for apps.v1.ReplicaSetStatus. */
export function zeroGoForm(definition: string): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  normalizeGoForm(definition, object);
  return object;
}

function normalizeField(object: Record<string, unknown>, key: string, field: FormField): void {
  const value = getOwn(object, key);
  const next = value === undefined || value === null ? absentValue(field) : presentValue(field, value);
  if (next === undefined) delete object[key];
  else setOwn(object, key, next);
}

/** What an unset field looks like in JSON; undefined = it is not there. */
function absentValue(field: FormField): unknown {
  if (field.shape !== 'single' || field.isPointer) return field.omitEmpty ? undefined : null;
  if (field.omitZero) return undefined;
  if ('message' in field.type) return zeroGoForm(field.type.message);
  const scalar = field.type.scalar;
  // encoding/json never calls a struct empty: a zero Time with omitempty is written as null.
  return field.omitEmpty && !scalar.isStruct ? undefined : zeroOfScalar(scalar);
}

function presentValue(field: FormField, value: unknown): unknown {
  if (field.shape === 'list') return listValue(field, value);
  if (field.shape === 'map') return mapValue(field, value);
  const next = itemValue(field, value);
  if (field.isPointer || 'message' in field.type) return next;
  const scalar = field.type.scalar;
  const isEmpty = field.omitEmpty && !scalar.isStruct && next === zeroOfScalar(scalar);
  return isEmpty ? undefined : next;
}

function listValue(field: FormField, value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  if (value.length === 0) return field.omitEmpty ? undefined : value;
  for (let i = 0; i < value.length; i++) value[i] = itemValue(field, value[i]);
  return value;
}

function mapValue(field: FormField, value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  const keys = Object.keys(value);
  if (keys.length === 0) return field.omitEmpty ? undefined : value;
  for (const key of keys) setOwn(value, key, itemValue(field, getOwn(value, key)));
  return value;
}

/** An item of a list or map, where null is the zero value, or a single value. */
function itemValue(field: FormField, value: unknown): unknown {
  if ('scalar' in field.type)
    return value === null ? zeroOfScalar(field.type.scalar) : normalizeScalar(field.type.scalar, value);
  if (value === null) return zeroGoForm(field.type.message);
  if (isJsonObject(value)) normalizeGoForm(field.type.message, value);
  return value;
}

function formOf(definition: string): ReadonlyMap<string, FormField> {
  const known = forms.get(definition);
  if (known !== undefined) return known;
  const fields = new Map<string, FormField>();
  forms.set(definition, fields);
  if (isKind(definition)) for (const key of ['kind', 'apiVersion']) fields.set(key, typeMetaField);
  addFields(fields, definition);
  return fields;
}

const typeMetaField: FormField = {
  type: { scalar: scalarFormOf('string') },
  shape: 'single',
  isPointer: false,
  omitEmpty: true,
  omitZero: false,
};

// TypeMeta is not in the messages: it is not on the wire inside embedded objects.
function isKind(definition: string): boolean {
  const properties = getOwn(schemaFacts().definitions, definition) as
    | { properties?: Record<string, unknown> }
    | undefined;
  return properties?.properties?.apiVersion !== undefined && !Object.hasOwn(messageOf(definition), 'apiVersion');
}

function addFields(fields: Map<string, FormField>, definition: string): void {
  for (const [name, row] of Object.entries(messageOf(definition))) {
    const [, type, label = '', flags = '', jsonName = name] = row;
    if (flags.includes('i')) addFields(fields, type);
    else fields.set(jsonName, fieldOf(type, label, flags));
  }
}

function fieldOf(type: string, label: string, flags: string): FormField {
  const isMessage = Object.hasOwn(protobufFacts().messages, type) && !Object.hasOwn(protobufFacts().jsonForms, type);
  return {
    type: isMessage ? { message: type } : { scalar: scalarFormOf(type) },
    shape: label === 'r' ? 'list' : label === 'm' ? 'map' : 'single',
    isPointer: flags.includes('p'),
    omitEmpty: flags.includes('o'),
    omitZero: flags.includes('z'),
  };
}

function messageOf(definition: string): Readonly<Record<string, ProtobufField>> {
  const message = getOwn(protobufFacts().messages, definition) as Readonly<Record<string, ProtobufField>> | undefined;
  if (message === undefined) throw new TypeError(`no message ${definition}`);
  return message;
}
