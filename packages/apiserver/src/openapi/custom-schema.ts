// Converts the schema of a custom resource to the published one, in keywords of OpenAPI v3 or v2. v2 has neither choices
// between schemas nor null, so schemas that need them are left open: clients then check less, never too much. Used by
// openapi-schemas.ts. Source: apiextensions controller/openapi builder.go and v2/conversion.go; schema.Structural
// ToKubeOpenAPI and Unfold.
import { getOwn, isJsonObject, type SlicedWork, setOwn } from '@kapstan/api/internal';

type Json = Readonly<Record<string, unknown>>;
type Words = Record<string, unknown>;

export interface PublishedForm {
  readonly version: 'v2' | 'v3';
  /** Schemas of apiVersion, kind and metadata of an embedded object. */
  readonly embedded: Json;
}

const always: ReadonlySet<string> = new Set([
  ...['minimum', 'maximum', 'multipleOf', 'minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties'],
  ...['maxProperties', 'externalDocs'],
]);
/** Keywords that Go leaves out of a document when they are empty. */
const unlessEmpty: ReadonlySet<string> = new Set([
  ...['type', 'title', 'description', 'format', 'pattern', 'required', 'x-kubernetes-list-map-keys'],
  ...['x-kubernetes-list-type', 'x-kubernetes-map-type', 'x-kubernetes-validations'],
]);
const flags: ReadonlySet<string> = new Set([
  ...['nullable', 'exclusiveMinimum', 'exclusiveMaximum', 'uniqueItems', 'x-kubernetes-preserve-unknown-fields'],
  ...['x-kubernetes-embedded-resource', 'x-kubernetes-int-or-string'],
]);
const choices = ['allOf', 'anyOf', 'oneOf'] as const;
const keepsUnknown = 'x-kubernetes-preserve-unknown-fields';
const intOrString = [{ type: 'integer' }, { type: 'string' }] as const;

/** Returns the schema of one place with everything below it. */
export function* customSchema(schema: Json, form: PublishedForm): SlicedWork<Words> {
  const isOpen = form.version === 'v2' && (schema.nullable === true || schema[keepsUnknown] === true);
  const words = ownWords(schema);
  if (form.version === 'v3') yield* addChoices(words, unfolded(schema), form);
  const values = schema.additionalProperties;
  if (isJsonObject(values)) words.additionalProperties = yield* customSchema(values, form);
  else if (values === true) words.additionalProperties = true;
  if (!isOpen) yield* addMembers(words, schema, form);
  if (form.version === 'v2') openWords(words, schema);
  if (schema['x-kubernetes-embedded-resource'] === true && !(form.version === 'v2' && schema[keepsUnknown] === true)) {
    words.properties = { ...(words.properties as Json | undefined), ...form.embedded };
    const required = (words.required ?? []) as readonly string[];
    words.required = [...required, ...['kind', 'apiVersion'].filter((name) => !required.includes(name))];
  }
  return words;
}

/** Returns the keywords of the place itself. */
function ownWords(schema: Json): Words {
  const words: Words = {};
  for (const [word, value] of Object.entries(schema)) {
    const isSaid =
      always.has(word) ||
      (flags.has(word) && value === true) ||
      (unlessEmpty.has(word) && (value as string | readonly unknown[]).length > 0) ||
      ((word === 'default' || word === 'example') && value !== null) ||
      (word === 'enum' && Array.isArray(value) && value.length > 0);
    if (isSaid && value !== undefined) words[word] = value;
  }
  return words;
}

function* addMembers(words: Words, schema: Json, form: PublishedForm): SlicedWork<void> {
  if (isJsonObject(schema.items)) words.items = yield* customSchema(schema.items, form);
  if (!isJsonObject(schema.properties)) return;
  const properties: Words = {};
  for (const name of Object.keys(schema.properties)) {
    setOwn(properties, name, yield* customSchema(getOwn(schema.properties, name) as Json, form));
    yield;
  }
  if (Object.keys(properties).length > 0) words.properties = properties;
}

function* addChoices(words: Words, schema: Json, form: PublishedForm): SlicedWork<void> {
  for (const word of choices) {
    const listed = schema[word];
    if (!Array.isArray(listed) || listed.length === 0) continue;
    const published: Words[] = [];
    for (const one of listed as readonly Json[]) published.push(yield* nestedSchema(one, form));
    words[word] = published;
  }
  if (isJsonObject(schema.not)) words.not = yield* nestedSchema(schema.not, form);
}

/** Converts a schema inside allOf, anyOf, oneOf or not. Such a schema gets no added members and is not unfolded. */
function* nestedSchema(schema: Json, form: PublishedForm): SlicedWork<Words> {
  const words = ownWords(schema);
  yield* addChoices(words, schema, form);
  if (isJsonObject(schema.items)) words.items = yield* nestedSchema(schema.items, form);
  if (!isJsonObject(schema.properties)) return words;
  const properties: Words = {};
  for (const name of Object.keys(schema.properties)) {
    setOwn(properties, name, yield* nestedSchema(getOwn(schema.properties, name) as Json, form));
    yield;
  }
  if (Object.keys(properties).length > 0) words.properties = properties;
  return words;
}

/** Adds the meaning of x-kubernetes-int-or-string, unless the definition has it. */
function unfolded(schema: Json): Json {
  if (schema['x-kubernetes-int-or-string'] !== true || saysIntOrString(schema)) return schema;
  if (!Array.isArray(schema.anyOf) || schema.anyOf.length === 0) return { ...schema, anyOf: intOrString };
  return { ...schema, allOf: [{ anyOf: intOrString }, ...((schema.allOf ?? []) as readonly Json[])] };
}

function saysIntOrString(schema: Json): boolean {
  const [first] = (schema.allOf ?? []) as readonly Json[];
  return isIntOrString(schema.anyOf) || (first !== undefined && isIntOrString(first.anyOf));
}

function isIntOrString(choice: unknown): boolean {
  if (!Array.isArray(choice) || choice.length !== 2) return false;
  return choice.every(
    (one, at) => isJsonObject(one) && one.type === intOrString[at]?.type && Object.keys(one).length === 1,
  );
}

/** kubectl would mistake the listed members for all members, so an open schema lists none and has no type. */
function openWords(words: Words, schema: Json): void {
  // Documents of v2 have no defaults.
  delete words.default;
  delete words.nullable;
  const isUntyped =
    schema.nullable === true ||
    (schema.type === 'array' && words.items === undefined) ||
    (schema.type === 'object' && schema[keepsUnknown] === true);
  if (isUntyped) delete words.type;
  if (words.required !== undefined) openRequired(words, schema);
}

/** In v2 a nullable member may be omitted. */
function openRequired(words: Words, { additionalProperties, properties }: Json): void {
  const isNullable = (schema: unknown): boolean => isJsonObject(schema) && schema.nullable === true;
  const members = words.properties === undefined || !isJsonObject(properties) ? {} : properties;
  const required = (words.required as readonly string[]).filter((name) => !isNullable(getOwn(members, name)));
  if (required.length === 0 || isNullable(additionalProperties)) delete words.required;
  else words.required = required;
}
