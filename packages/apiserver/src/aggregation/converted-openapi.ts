// Converts an OpenAPI v2 document of another API server into OpenAPI v3, for servers that have no v3 themselves. The conversion loses the
// same parts as Go's. Kept by api-registrations.ts. Source: kube-openapi openapiconv, builder3/util (WrapRefs), and its types, which leave
// out unknown members and empty ones.
import { isJsonObject, type SlicedWork, setOwn } from '@kapstan/api/internal';

type Json = Readonly<Record<string, unknown>>;
type Convert = (value: unknown) => unknown;

const definitionPrefix = '#/definitions/';
const schemaPrefix = '#/components/schemas/';

/** An OpenAPI v3 document that was made of another server's v2. */
export interface ConvertedOpenApi {
  readonly openapi: '3.0.0';
  readonly info?: unknown;
  readonly paths?: Json;
  readonly components: Json;
  readonly externalDocs?: unknown;
}

/** A document that this server answers in place of another. */
export interface ConvertedDocument {
  /** Changes with the document. Upper-case hexadecimal. */
  readonly hash: string;
  /** The OpenAPI v3 document in JSON, in UTF-8. */
  readonly json: Uint8Array;
}

/** Throws TypeError for a value that is not an object. */
export function* convertOpenApi(document: unknown): SlicedWork<ConvertedOpenApi> {
  if (!isJsonObject(document)) throw new TypeError('the schema document is not an object');
  const { info, produces } = document;
  const components = {
    schemas: yield* each(document.definitions, schemaOf),
    responses: yield* each(document.responses, (value) => responseOf(value, produces)),
    securitySchemes: yield* each(document.securityDefinitions, securitySchemeOf),
  };
  return known({
    openapi: '3.0.0',
    info,
    paths: yield* pathsOf(document.paths),
    components: known(components),
    externalDocs: externalDocsOf(document.externalDocs),
  }) as unknown as ConvertedOpenApi;
}

function* each(members: unknown, convert: Convert): SlicedWork<Json | undefined> {
  if (!isJsonObject(members)) return undefined;
  const converted: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(members)) {
    setOwn(converted, name, convert(value));
    yield;
  }
  return Object.keys(converted).length === 0 ? undefined : converted;
}

function* pathsOf(paths: unknown): SlicedWork<Json | undefined> {
  if (!isJsonObject(paths)) return undefined;
  const converted: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(paths)) {
    if (name.startsWith('/')) setOwn(converted, name, pathItemOf(value));
    else if (isExtension(name)) setOwn(converted, name, value);
    yield;
  }
  return converted;
}

const operations = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const;

function pathItemOf(item: unknown): Json {
  if (!isJsonObject(item)) return {};
  const methods = operations.map((method): [string, unknown] => [method, operationOf(item[method])]);
  return known({
    $ref: item.$ref,
    ...Object.fromEntries(methods),
    parameters: listOf(item.parameters, parameterOf),
    ...extensionsOf(item),
  });
}

function operationOf(operation: unknown): Json | undefined {
  if (!isJsonObject(operation)) return undefined;
  const { consumes, produces } = operation;
  const parameters = Array.isArray(operation.parameters) ? operation.parameters : [];
  const body = parameters.filter(isBody).at(-1) as Json | undefined;
  return known({
    tags: operation.tags,
    summary: operation.summary,
    description: operation.description,
    externalDocs: externalDocsOf(operation.externalDocs),
    operationId: operation.operationId,
    parameters: listOf(
      parameters.filter((parameter) => !isBody(parameter)),
      parameterOf,
    ),
    requestBody: body && known({ content: contentOf(body.schema, consumes) }),
    responses: responsesOf(operation.responses, produces),
    deprecated: operation.deprecated,
    ...extensionsOf(operation),
  });
}

function isBody(parameter: unknown): boolean {
  return isJsonObject(parameter) && parameter.name === 'body' && isJsonObject(parameter.schema);
}

function contentOf(schema: unknown, types: unknown): Json | undefined {
  if (!Array.isArray(types) || types.length === 0) return undefined;
  return Object.fromEntries(types.map((type) => [String(type), { schema: schemaOf(schema) }]));
}

function responsesOf(responses: unknown, produces: unknown): Json | undefined {
  if (!isJsonObject(responses)) return undefined;
  const converted = Object.entries(responses).flatMap(([code, response]): [string, unknown][] => {
    if (isExtension(code)) return [[code, response]];
    return code === 'default' || /^\d+$/.test(code) ? [[code, responseOf(response, produces)]] : [];
  });
  return Object.fromEntries(converted);
}

function responseOf(response: unknown, produces: unknown): Json {
  if (!isJsonObject(response)) return {};
  return known({
    $ref: moved(response.$ref, '#/responses/', '#/components/responses/'),
    description: response.description,
    content: isJsonObject(response.schema) ? contentOf(response.schema, produces) : undefined,
    ...extensionsOf(response),
  });
}

function parameterOf(parameter: unknown): Json {
  if (!isJsonObject(parameter)) return {};
  const { type = '', format, uniqueItems } = parameter;
  const simple = { ...known({ format, uniqueItems }), type };
  return known({
    $ref: moved(parameter.$ref, '#/parameters/', '#/components/parameters/'),
    name: parameter.name,
    in: parameter.in,
    description: parameter.description,
    required: parameter.required,
    allowEmptyValue: parameter.allowEmptyValue,
    schema: isJsonObject(parameter.schema) ? schemaOf(parameter.schema) : simple,
    ...extensionsOf(parameter),
  });
}

function securitySchemeOf(scheme: unknown): Json {
  if (!isJsonObject(scheme)) return {};
  const { flow, authorizationUrl, tokenUrl, scopes } = scheme;
  const { type, description, name, in: place } = scheme;
  const flows = isText(flow) ? { [flow]: known({ authorizationUrl, tokenUrl, scopes }) } : undefined;
  return known({ type, description, name, in: place, flows, ...extensionsOf(scheme) });
}

function externalDocsOf(docs: unknown): Json | undefined {
  return isJsonObject(docs) ? known({ description: docs.description, url: docs.url }) : undefined;
}

/** Members whose schemas are converted; schemas of other members keep their references to definitions, as in Go. */
const inner = new Set(['properties', 'items', 'additionalProperties', 'additionalItems']);
const maps = new Set(['properties', 'patternProperties', 'definitions', 'dependencies']);
const schemas = new Set(['items', 'additionalProperties', 'additionalItems', 'not']);
const lists = new Set(['allOf', 'anyOf', 'oneOf', 'items']);

function schemaOf(schema: unknown): unknown {
  return walk(schema, true);
}

/** `isConverted` false: only wraps references that have siblings. */
function walk(schema: unknown, isConverted: boolean): unknown {
  if (!isJsonObject(schema)) return schema;
  const converted: Record<string, unknown> = {};
  for (const [word, value] of Object.entries(schema)) {
    if (isEmpty(word, value)) continue;
    setOwn(converted, word, memberOf(word, value, isConverted && inner.has(word)));
  }
  const { $ref, ...siblings } = converted;
  if (!isText($ref)) return converted;
  const reference = { $ref: isConverted ? schemaRef($ref) : $ref };
  return Object.keys(siblings).length === 0 ? reference : { ...siblings, allOf: [reference] };
}

function memberOf(word: string, value: unknown, isConverted: boolean): unknown {
  if (maps.has(word) && isJsonObject(value)) {
    const converted: Record<string, unknown> = {};
    for (const [name, part] of Object.entries(value)) setOwn(converted, name, walk(part, isConverted));
    return converted;
  }
  if (lists.has(word) && Array.isArray(value)) return value.map((part) => walk(part, isConverted));
  if (schemas.has(word)) return walk(value, isConverted);
  return word === 'type' && Array.isArray(value) && value.length === 1 ? value[0] : value;
}

function schemaRef(ref: string): string {
  const at = ref.indexOf(definitionPrefix);
  return at < 0 ? ref : `${schemaPrefix}${ref.slice(at + definitionPrefix.length)}`;
}

/** Words whose empty values mean something in Go's schemas. */
const kept = new Set(['default', 'example', 'items', 'additionalProperties', 'additionalItems', 'not', 'externalDocs']);
const counts = new Set(['maximum', 'minimum', 'maxLength', 'minLength', 'maxItems', 'minItems', 'multipleOf']);

function isEmpty(word: string, value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (kept.has(word) || counts.has(word) || isExtension(word)) return false;
  return isZero(value);
}

function isZero(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isJsonObject(value)) return Object.keys(value).length === 0;
  return value === '' || value === false || value === 0;
}

/** Leaves out members that are empty, except objects. */
function known(members: Readonly<Record<string, unknown>>): Json {
  const present = Object.entries(members).filter(
    ([name, value]) =>
      value !== undefined && value !== null && (isJsonObject(value) || isExtension(name) || !isZero(value)),
  );
  return Object.fromEntries(present);
}

function extensionsOf(object: Json): Json {
  return Object.fromEntries(Object.entries(object).filter(([name]) => isExtension(name)));
}

function isExtension(name: string): boolean {
  return /^x-/i.test(name);
}

function listOf(values: unknown, convert: (value: unknown) => unknown): readonly unknown[] | undefined {
  return Array.isArray(values) && values.length > 0 ? values.map(convert) : undefined;
}

function moved(ref: unknown, from: string, to: string): unknown {
  return isText(ref) ? ref.replace(from, to) : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
