// Converts schemas of built-in types and operations from OpenAPI v3 to v2 (Swagger). v2 has neither choices between
// schemas nor null nor, in Kubernetes' documents, defaults. custom-schema.ts makes the v2 schemas of custom resources, of
// which only references are converted here. Source: kube-openapi schemaconv, builder.
import { getOwn, isJsonObject, type SlicedWork, setOwn } from '@kapstan/api/internal';
import type { SharedParameters } from './shared-parameters.ts';

type Json = Readonly<Record<string, unknown>>;

const leftOut: ReadonlySet<string> = new Set(['oneOf', 'anyOf', 'not', 'nullable', 'default']);

export function* swaggerSchema(schema: Json): SlicedWork<Json> {
  const reference = referenceOf(schema);
  if (reference !== undefined) return reference;
  const translated: Record<string, unknown> = {};
  for (const [word, value] of Object.entries(schema)) {
    if (!leftOut.has(word)) translated[word] = yield* swaggerWord(word, value);
  }
  // Quantities and ports may be numbers too; declared as a string, clients accept either.
  if (schema.type === undefined && hasTypes(schema.oneOf)) translated.type = 'string';
  return translated;
}

function referenceOf(schema: Json): Json | undefined {
  const { $ref, allOf, type: _type, default: _default, ...rest } = schema;
  const only = Array.isArray(allOf) && allOf.length === 1 ? (allOf[0] as Json) : undefined;
  const reference = $ref ?? only?.$ref;
  return typeof reference === 'string' ? { ...rest, $ref: swaggerRef(reference) } : undefined;
}

function swaggerRef(reference: string): string {
  return reference.replace('#/components/schemas/', '#/definitions/');
}

function* swaggerWord(word: string, value: unknown): SlicedWork<unknown> {
  switch (word) {
    case 'properties': {
      const properties: Record<string, unknown> = {};
      for (const name of Object.keys(value as Json)) {
        setOwn(properties, name, yield* swaggerSchema(getOwn(value as Json, name) as Json));
        yield;
      }
      return properties;
    }
    case 'items':
    case 'additionalProperties':
      return isJsonObject(value) ? yield* swaggerSchema(value) : value;
    default:
      return value;
  }
}

function hasTypes(choice: unknown): boolean {
  return Array.isArray(choice) && choice.some((one) => isJsonObject(one) && one.type !== undefined);
}

export interface PathForm {
  /** True for custom resources, which accept only JSON and YAML. */
  readonly isCustom: boolean;
  readonly shared: SharedParameters;
}

/** Converts all operations of one path, with the parameters that they share. */
export function swaggerPathItem(item: Json, form: PathForm): Json {
  const entries = Object.entries(item).map(([word, value]): [string, unknown] => [
    word,
    word === 'parameters' ? parametersOf(value as readonly Json[], form) : swaggerOperation(value as Json, form),
  ]);
  return Object.fromEntries(entries);
}

function swaggerOperation(operation: Json, form: PathForm): Json {
  const { parameters = [], requestBody, responses, tags, ...rest } = operation;
  const body = requestBody as Json | undefined;
  const content = body?.content as Json | undefined;
  const all = [...bodyParameter(body), ...(parameters as readonly Json[]).map(swaggerParameter)].map((one) =>
    form.shared.refTo(one),
  );
  const consumes = consumed(operation, content, form);
  return {
    ...{ tags, ...rest, ...(consumes.length === 0 ? {} : { consumes }), produces: producedBy(responses as Json) },
    schemes: ['https'],
    ...(all.length === 0 ? {} : { parameters: all }),
    responses: Object.fromEntries(
      Object.entries(responses as Json).map(([code, one]) => [code, response(one as Json)]),
    ),
  };
}

function consumed(operation: Json, content: Json | undefined, { isCustom }: PathForm): readonly string[] {
  if (content !== undefined) return Object.keys(content);
  if (isCustom) return ['application/json', 'application/yaml'];
  if (operation['x-kubernetes-action'] !== undefined) return ['*/*'];
  // Discovery and version pages list the types that they accept; pages that answer text do not.
  const [answer] = Object.values(operation.responses as Json);
  const [first] = Object.values((answer as Json).content as Json);
  return ((first as Json).schema as Json).$ref === undefined ? [] : producedBy(operation.responses as Json);
}

function producedBy(responses: Json): readonly string[] {
  const content = (responses['200'] as Json | undefined)?.content;
  return isJsonObject(content) ? Object.keys(content) : [];
}

function bodyParameter(body: Json | undefined): readonly Json[] {
  const content = body?.content as Json | undefined;
  if (content === undefined) return [];
  const { schema } = (Object.values(content)[0] ?? {}) as Json;
  const required = body?.required === true ? { required: true } : {};
  return [{ name: 'body', in: 'body', ...required, schema: isJsonObject(schema) ? smallSchema(schema) : {} }];
}

function parametersOf(parameters: readonly Json[], { shared }: PathForm): readonly Json[] {
  return parameters.map((one) => shared.refTo(swaggerParameter(one)));
}

/** Orders the members as Go does, because the names of shared parameters are hashes of the bytes. */
function swaggerParameter({ name, in: place, description, required, schema }: Json): Json {
  const { type, uniqueItems, format, items } = schema as Json;
  return {
    ...(uniqueItems === undefined ? {} : { uniqueItems }),
    ...(type === undefined ? {} : { type }),
    ...(format === undefined ? {} : { format }),
    ...(items === undefined ? {} : { items }),
    ...(description === undefined ? {} : { description }),
    ...{ name, in: place },
    ...(required === undefined ? {} : { required }),
  };
}

function response({ description, content }: Json): Json {
  const [first] = isJsonObject(content) ? Object.values(content) : [];
  const schema = (first as Json | undefined)?.schema;
  return { description, ...(isJsonObject(schema) ? { schema: smallSchema(schema) } : {}) };
}

/** Converts the schema of a body, which is a reference or has a type alone. */
function smallSchema(schema: Json): Json {
  return referenceOf(schema) ?? schema;
}
