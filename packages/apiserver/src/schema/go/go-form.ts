// The canonical JSON form of an object with a Go type, which results from decoding into the type and encoding again:
// empty optional fields are dropped, required ones get their zero value. GoForms makes it from the struct tags in a
// source's protobuf data.
import {
  fitsOneSlice,
  getOwn,
  isJsonObject,
  membersPerSlice,
  namesInSlices,
  type SlicedWork,
  setOwn,
} from '@kapstan/api/internal';
import { type EmptyKeeping, keptEmpty } from '../node/kept-empties.ts';
import type { ProtobufField, SchemaSource } from '../node/schema-source.ts';
import { normalizeScalar, resourceAmountForm, type ScalarForm, scalarFormOf, zeroOfScalar } from './scalar-form.ts';

/** One field of a Go struct, as it appears in JSON. */
interface FormField {
  /** Absent = a struct. */
  readonly scalar?: ScalarForm;
  /** Form of the struct. Absent = a scalar. */
  readonly struct?: Struct;
  readonly shape: 'single' | 'list' | 'map';
  readonly isPointer: boolean;
  readonly omitEmpty: boolean;
  /** omitzero: a struct that is omitted when it is empty. */
  readonly omitZero: boolean;
  /** True when the kind is stored as JSON, which keeps empty lists. Absent = false. */
  readonly keepsEmpty?: boolean;
}

/** A struct: all its fields, and the fields that are written even if not set. */
export interface GoForm {
  readonly fields: ReadonlyMap<string, FormField>;
  readonly always: readonly (readonly [name: string, field: FormField])[];
}

/** Looks up its form on first use, because structs refer to themselves. */
class Struct {
  readonly #forms: GoForms;
  readonly #definition: string;
  #form: GoForm | undefined;

  constructor(forms: GoForms, definition: string) {
    this.#forms = forms;
    this.#definition = definition;
  }

  get form(): GoForm {
    this.#form ??= this.#forms.of(this.#definition);
    return this.#form;
  }
}

/**
 * Brings an object of a definition ("apps.v1.Deployment") into its Go form in place: drops unknown fields, nulls and
 * empty optional values, adds zero values of fields that are always written, makes times and quantities canonical.
 * Values of a wrong type are left alone, because decoding refuses them. `keeping` = empty lists and maps that stay;
 * default: none, as in the stored form.
 */
export function normalizeGoForm(
  { fields, always }: GoForm,
  object: Record<string, unknown>,
  keeping?: EmptyKeeping,
): void {
  // Every write passes here three times with all its structs, so no list of keys is made.
  for (const key in object) {
    const field = fields.get(key);
    const value = object[key];
    const next =
      field === undefined || value === undefined || value === null ? undefined : presentValue(field, value, keeping);
    if (next === undefined) delete object[key];
    else if (next !== value) setOwn(object, key, next);
  }
  for (const [key, field] of always) if (!Object.hasOwn(object, key)) setOwn(object, key, absentValue(field));
}

/** Does what {@link normalizeGoForm} does, for an object of any size. */
export function* normalizeGoFormInSlices(
  form: GoForm,
  object: Record<string, unknown>,
  keeping?: EmptyKeeping,
): SlicedWork<void> {
  if (fitsOneSlice(object)) normalizeGoForm(form, object, keeping);
  else yield* normalizeLargeObject(form, object, keeping);
}

function* normalizeLargeObject(
  form: GoForm,
  object: Record<string, unknown>,
  keeping: EmptyKeeping | undefined,
): SlicedWork<void> {
  const { fields } = form;
  for (const key of Object.keys(object)) {
    const field = fields.get(key);
    if (field !== undefined && !fitsOneSlice(object[key])) yield* normalizeLarge(field, object[key], keeping);
  }
  normalizeMembers(form, object, keeping);
}

/** Gives the members their canonical form. Members of inner structs have it already. */
function normalizeMembers(
  { fields, always }: GoForm,
  object: Record<string, unknown>,
  keeping: EmptyKeeping | undefined,
): void {
  for (const key in object) {
    const field = fields.get(key);
    const value = object[key];
    if (field !== undefined && !fitsOneSlice(value)) continue;
    const next =
      field === undefined || value === undefined || value === null ? undefined : presentValue(field, value, keeping);
    if (next === undefined) delete object[key];
    else if (next !== value) setOwn(object, key, next);
  }
  for (const [key, field] of always) if (!Object.hasOwn(object, key)) setOwn(object, key, absentValue(field));
}

const itemsPerSlice = 32;

/** Gives a value larger than one slice its canonical form in place; it is neither a scalar nor empty. */
function* normalizeLarge(field: FormField, value: unknown, keeping: EmptyKeeping | undefined): SlicedWork<void> {
  if (field.shape === 'single' && isJsonObject(value)) return yield* normalizeStruct(field, value, keeping);
  if (field.shape === 'list' && Array.isArray(value)) yield* normalizeList(field, value, keeping);
  else if (field.shape === 'map' && isJsonObject(value)) yield* normalizeMap(field, value, keeping);
}

function* normalizeList(field: FormField, list: unknown[], keeping: EmptyKeeping | undefined): SlicedWork<void> {
  for (const [index, item] of list.entries()) {
    if (fitsOneSlice(item)) list[index] = itemValue(field, item, keeping);
    else if (isJsonObject(item)) yield* normalizeStruct(field, item, keeping);
    if (index % itemsPerSlice === itemsPerSlice - 1) yield;
  }
}

function* normalizeMap(
  field: FormField,
  map: Record<string, unknown>,
  keeping: EmptyKeeping | undefined,
): SlicedWork<void> {
  for (const [index, key] of (yield* namesInSlices(map)).entries()) {
    const item = map[key];
    const next = fitsOneSlice(item) ? itemValue(field, item, keeping) : item;
    if (next !== item) setOwn(map, key, next);
    else if (isJsonObject(item)) yield* normalizeStruct(field, item, keeping);
    if (index % membersPerSlice === membersPerSlice - 1) yield;
  }
}

/** Takes a value larger than one slice. Values that are not structs have no members to normalize. */
function* normalizeStruct(
  { struct }: FormField,
  value: Record<string, unknown>,
  keeping: EmptyKeeping | undefined,
): SlicedWork<void> {
  if (struct !== undefined) yield* normalizeLargeObject(struct.form, value, keeping);
}

/** Returns the zero value of a struct: `{}` for most, `{ replicas: 0 }` for apps.v1.ReplicaSetStatus. */
export function zeroGoForm(form: GoForm): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  normalizeGoForm(form, object);
  return object;
}

function isAlwaysWritten(field: FormField): boolean {
  if (field.omitZero) return false;
  if (field.shape !== 'single' || field.isPointer) return !field.omitEmpty;
  // encoding/json never treats a struct as empty: a zero Time with omitempty is written as null.
  return field.scalar === undefined || field.scalar.isStruct || !field.omitEmpty;
}

/** Returns the value of a field that is always written but was not set. */
function absentValue(field: FormField): unknown {
  if (field.shape !== 'single' || field.isPointer) return null;
  return zeroValue(field);
}

function presentValue(field: FormField, value: unknown, keeping: EmptyKeeping | undefined): unknown {
  if (field.shape === 'list') return listValue(field, value, keeping);
  if (field.shape === 'map') return mapValue(field, value, keeping);
  const next = itemValue(field, value, keeping);
  const { scalar } = field;
  if (scalar === undefined || scalar.isStruct || field.isPointer || !field.omitEmpty) return next;
  const isZero = next === zeroOfScalar(scalar) || (scalar.kind === 'bytes' && next === '');
  return isZero ? undefined : next;
}

function listValue(field: FormField, value: unknown, keeping: EmptyKeeping | undefined): unknown {
  if (!Array.isArray(value)) return value;
  if (value.length === 0)
    return field.keepsEmpty === true && !field.omitEmpty ? value : emptyCollection(field, value, keeping);
  for (let i = 0; i < value.length; i++) value[i] = itemValue(field, value[i], keeping);
  return value;
}

/** Kubernetes stores its own kinds as protobuf, which does not distinguish an empty list or map from none. */
function emptyCollection(
  { omitEmpty }: FormField,
  value: object,
  keeping: EmptyKeeping | undefined,
): object | null | undefined {
  if (keeping === undefined || (omitEmpty && keeping.fields === 'required')) return omitEmpty ? undefined : null;
  keeping.found = true;
  return keptEmpty(value);
}

function mapValue(field: FormField, value: unknown, keeping: EmptyKeeping | undefined): unknown {
  if (!isJsonObject(value)) return value;
  const keys = Object.keys(value);
  if (keys.length === 0) return emptyCollection(field, value, keeping);
  for (const key of keys) {
    const next = itemValue(field, value[key], keeping);
    if (next !== value[key]) setOwn(value, key, next);
  }
  return value;
}

/** Gives a single value or an item of a list or map its canonical form; a null item becomes the zero value. */
function itemValue(field: FormField, value: unknown, keeping: EmptyKeeping | undefined): unknown {
  if (value === null) return zeroValue(field);
  if (field.scalar !== undefined) return normalizeScalar(field.scalar, value);
  // Invariant: a field is either a struct or a scalar.
  if (isJsonObject(value)) normalizeGoForm((field.struct as Struct).form, value, keeping);
  return value;
}

function zeroValue({ scalar, struct }: FormField): unknown {
  return scalar === undefined ? zeroGoForm((struct as Struct).form) : zeroOfScalar(scalar);
}

/** Definitions of the source whose kinds Kubernetes stores as JSON. */
const storedAsJson = 'crd/';

const typeMetaField: FormField = {
  scalar: scalarFormOf('string'),
  shape: 'single',
  isPointer: false,
  omitEmpty: true,
  omitZero: false,
};

/** The forms of one source's definitions, each made on first use. */
export class GoForms {
  readonly #source: SchemaSource;
  readonly #forms = new Map<string, GoForm>();

  constructor(source: SchemaSource) {
    this.#source = source;
  }

  /** Returns the form of a definition. Throws TypeError for one without a message. */
  of(definition: string): GoForm {
    const known = this.#forms.get(definition);
    if (known !== undefined) return known;
    const fields = new Map<string, FormField>();
    if (this.#isKind(definition)) for (const key of ['kind', 'apiVersion']) fields.set(key, typeMetaField);
    this.#addFields(fields, definition);
    const form = { fields, always: [...fields].filter(([, field]) => isAlwaysWritten(field)) };
    this.#forms.set(definition, form);
    return form;
  }

  // The messages lack TypeMeta, because inside embedded objects it is not sent.
  #isKind(definition: string): boolean {
    const properties = getOwn(this.#source.schemas().definitions, definition) as
      | { properties?: Record<string, unknown> }
      | undefined;
    return (
      properties?.properties?.apiVersion !== undefined && !Object.hasOwn(this.#messageOf(definition), 'apiVersion')
    );
  }

  #addFields(fields: Map<string, FormField>, definition: string): void {
    for (const [name, row] of Object.entries(this.#messageOf(definition))) {
      const [, type, label = '', flags = '', jsonName = name] = row;
      if (flags.includes('i')) this.#addFields(fields, type);
      else if (label === 'm' && this.#isResourceList(definition, type))
        fields.set(jsonName, { ...this.#fieldOf(type, label, flags), scalar: resourceAmountForm });
      else if (definition.startsWith(storedAsJson))
        fields.set(jsonName, { ...this.#fieldOf(type, label, flags), keepsEmpty: true });
      else fields.set(jsonName, this.#fieldOf(type, label, flags));
    }
  }

  #isResourceList(definition: string, type: string): boolean {
    return type === 'machinery/api.resource.Quantity' && this.#source.isResourceList?.(definition) === true;
  }

  #fieldOf(type: string, label: string, flags: string): FormField {
    const { messages, jsonForms } = this.#source.protobuf();
    const isStruct = Object.hasOwn(messages, type) && !Object.hasOwn(jsonForms, type);
    return {
      ...(isStruct ? { struct: new Struct(this, type) } : { scalar: scalarFormOf(type) }),
      shape: label === 'r' ? 'list' : label === 'm' ? 'map' : 'single',
      isPointer: flags.includes('p'),
      omitEmpty: flags.includes('o'),
      omitZero: flags.includes('z'),
    };
  }

  #messageOf(definition: string): Readonly<Record<string, ProtobufField>> {
    const { messages } = this.#source.protobuf();
    const message = getOwn(messages, definition) as Readonly<Record<string, ProtobufField>> | undefined;
    if (message === undefined) throw new TypeError(`no message ${definition}`);
    return message;
  }
}
