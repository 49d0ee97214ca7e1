// Converts schemas and operations from OpenAPI v3 to v2 (Swagger). v2 has neither choices between schemas nor null, so
// schemas that need them are left open: clients then check less, never too much. Source: apiextensions
// openapi/v2/conversion.go.
import { isJsonObject } from '@kapstan/api/internal';

type Json = Readonly<Record<string, unknown>>;

const onlyInV3: ReadonlySet<string> = new Set(['oneOf', 'anyOf', 'not', 'nullable', 'x-kubernetes-validations']);
/** Marks the schema of a whole object. */
const kindsWord = 'x-kubernetes-group-version-kind';
const members: ReadonlySet<string> = new Set(['properties', 'additionalProperties', 'items']);

export function swaggerSchema(schema: Json): Json {
  const reference = referenceOf(schema);
  if (reference !== undefined) return reference;
  const keepsUnknown = schema['x-kubernetes-preserve-unknown-fields'] === true;
  // kubectl would take the listed members for all members.
  if (keepsUnknown && schema[kindsWord] !== undefined) return { type: 'object', [kindsWord]: schema[kindsWord] };
  const hidesMembers = schema.nullable === true || keepsUnknown;
  const isBareList = schema.type === 'array' && (hidesMembers || schema.items === undefined);
  const isOpen = hidesMembers && schema.type === 'object';
  const isUntyped = isOpen || isBareList || schema.nullable === true || schema['x-kubernetes-int-or-string'] === true;
  const kept = Object.entries(schema).filter(
    ([word]) => !onlyInV3.has(word) && !(isUntyped && word === 'type') && !(hidesMembers && members.has(word)),
  );
  const entries = kept.map(([word, value]): [string, unknown] => [word, swaggerWord(word, value, schema)]);
  // Quantities and ports may be numbers too; declared as a string, clients accept either.
  if (schema.type === undefined && hasTypes(schema.oneOf)) entries.push(['type', 'string']);
  return Object.fromEntries(entries);
}

function referenceOf(schema: Json): Json | undefined {
  const { $ref, allOf, type: _type, ...rest } = schema;
  const only = Array.isArray(allOf) && allOf.length === 1 ? (allOf[0] as Json) : undefined;
  const reference = $ref ?? only?.$ref;
  if (typeof reference !== 'string') return undefined;
  return { ...rest, $ref: reference.replace('#/components/schemas/', '#/definitions/') };
}

function swaggerWord(word: string, value: unknown, schema: Json): unknown {
  switch (word) {
    case 'properties':
      return Object.fromEntries(Object.entries(value as Json).map(([name, one]) => [name, swaggerSchema(one as Json)]));
    case 'items':
    case 'additionalProperties':
      return isJsonObject(value) ? swaggerSchema(value) : value;
    case 'allOf':
      return (value as readonly Json[]).map(swaggerSchema);
    case 'required':
      return (value as readonly string[]).filter((name) => !isNullable(schema, name));
    default:
      return value;
  }
}

function isNullable({ properties }: Json, name: string): boolean {
  const property = isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isJsonObject(property) && property.nullable === true;
}

function hasTypes(choice: unknown): boolean {
  return Array.isArray(choice) && choice.some((one) => isJsonObject(one) && one.type !== undefined);
}

/** Converts all operations of one path, with the parameters that they share. */
export function swaggerPathItem(item: Json): Json {
  const entries = Object.entries(item).map(([word, value]): [string, unknown] => [
    word,
    word === 'parameters' ? (value as readonly Json[]).map(swaggerParameter) : swaggerOperation(value as Json),
  ]);
  return Object.fromEntries(entries);
}

function swaggerOperation(operation: Json): Json {
  const { parameters, requestBody, responses, ...rest } = operation;
  const content = (requestBody as Json | undefined)?.content as Json | undefined;
  const body = content === undefined ? [] : [bodyParameter(Object.values(content)[0] as Json)];
  return {
    ...rest,
    ...(content === undefined ? {} : { consumes: Object.keys(content) }),
    parameters: [...body, ...(parameters as readonly Json[]).map(swaggerParameter)],
    responses: Object.fromEntries(
      Object.entries(responses as Json).map(([code, one]) => [code, response(one as Json)]),
    ),
  };
}

function bodyParameter({ schema }: Json): Json {
  return { name: 'body', in: 'body', required: true, schema: isJsonObject(schema) ? swaggerSchema(schema) : {} };
}

function swaggerParameter({ schema, ...rest }: Json): Json {
  return { ...rest, ...(schema as Json) };
}

function response({ description, content }: Json): Json {
  const schema = ((content as Json | undefined)?.['application/json'] as Json | undefined)?.schema;
  return { description, ...(isJsonObject(schema) ? { schema: swaggerSchema(schema) } : {}) };
}
