// Describes the operations of an OpenAPI v3 document: bodies, answers and query parameters. Used by openapi-paths.ts.
// Source: apiserver endpoints/installer.go; kube-openapi builder3.
import type { GroupVersionKind } from '@kapstan/api/internal';
import type { QueryOptionTypes, ResourceDefinition } from '../registry/definition/resource-definition.ts';
import { jsonEqual } from '../registry/meta/json-equality.ts';
import { metaDescriptions, metaFacts } from '../schema/meta-types.ts';
import { operationId, operationTag, operationText } from './operation-names.ts';

export type OpenApiObject = Record<string, unknown>;
type AnySubresource = ResourceDefinition['subresources'][number];

export interface Action {
  readonly method: 'get' | 'put' | 'post' | 'delete' | 'patch' | 'options' | 'head';
  /** Verb of the API, or "connect". */
  readonly verb: string;
  /** Name of the action in the facts' query parameters and in x-kubernetes-action. */
  readonly action: string;
}

/** References to the types that operations use. */
export interface TypeNames {
  /** The kind of the resource, and the kind of its lists. */
  readonly kind: OpenApiObject;
  readonly list: OpenApiObject;
  /** Returns a reference to a type by the name of its definition. */
  refTo(definition: string): OpenApiObject;
  /** Returns a reference to the kind of a subresource; undefined when it has no definition. */
  refToKind(kind: GroupVersionKind): OpenApiObject | undefined;
}

export interface DescribedPlace {
  readonly definition: ResourceDefinition;
  readonly names: TypeNames;
  readonly kind: GroupVersionKind;
  readonly subresource: AnySubresource | undefined;
  readonly forAllNamespaces: boolean;
  /** True when the rest of the path belongs to the request. */
  readonly withPath: boolean;
  /** Options of its reads, in addition to the parameters of every read. */
  readonly queryOptions: QueryOptionTypes;
}

const json = 'application/json';
const yaml = 'application/yaml';
const protobuf = 'application/vnd.kubernetes.protobuf';
const watching: ReadonlySet<string> = new Set(['list', 'watch', 'watchlist']);
const codes: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  post: { 200: 'OK', 201: 'Created', 202: 'Accepted' },
  put: { 200: 'OK', 201: 'Created' },
  patch: { 200: 'OK', 201: 'Created' },
  delete: { 200: 'OK', 202: 'Accepted' },
};
const patchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];

export function describeOperation(place: DescribedPlace, action: Action): OpenApiObject {
  const { definition, kind, subresource, forAllNamespaces, withPath } = place;
  const { namespaced } = definition;
  const named = {
    ...{ of: definition, kind: definition.kind, namespaced, subresource: subresource?.name ?? '', forAllNamespaces },
    ...{ verb: wordOf(action), method: action.method, withPath },
    saysWatch: definition.isCustom !== true && definition.verbs.includes('watch'),
  };
  const shown = definition.isCustom === true ? definition : kind;
  return {
    tags: [operationTag(definition)],
    description: operationText(named),
    operationId: operationId(named),
    ...unlessEmpty('parameters', queryParameters(place, action)),
    ...bodyOf(place, action),
    responses: { ...responsesOf(place, action), 401: { description: 'Unauthorized' } },
    'x-kubernetes-action': action.action,
    'x-kubernetes-group-version-kind': { group: shown.group, version: shown.version, kind: shown.kind },
  };
}

/** Returns the word for the action if the verb does not show it: a watch of one object or of many. */
function wordOf({ verb, action }: Action): string {
  return verb === 'watch' ? action : verb;
}

function bodyOf({ definition, names, ...place }: DescribedPlace, { action }: Action): OpenApiObject {
  const isCustom = definition.isCustom === true;
  const types = isCustom ? [json, yaml] : ['*/*'];
  switch (action) {
    case 'post':
    case 'put':
      return { requestBody: { content: contentOf(types, objectOf({ definition, names, ...place })), required: true } };
    case 'patch': {
      const patches = patchTypes.filter((type) => !isCustom || !type.includes('strategic'));
      return { requestBody: { content: contentOf(patches, names.refTo('meta/v1.Patch')), required: true } };
    }
    case 'deletecollection':
      return isCustom ? {} : { requestBody: { content: contentOf(types, names.refTo('meta/v1.DeleteOptions')) } };
    case 'delete':
      return { requestBody: { content: contentOf(types, names.refTo('meta/v1.DeleteOptions')) } };
    default:
      return {};
  }
}

function responsesOf(place: DescribedPlace, { action }: Action): OpenApiObject {
  const isCustom = place.definition.isCustom === true;
  const told = (isCustom && action === 'patch' ? undefined : codes[action]) ?? { 200: 'OK' };
  const content = contentOf(answeredTypes(place, action), answered(place, action));
  return Object.fromEntries(Object.entries(told).map(([code, description]) => [code, { description, content }]));
}

function answeredTypes({ definition, subresource }: DescribedPlace, action: string): readonly string[] {
  if (action === 'connect') return ['*/*'];
  if (definition.isCustom === true) return [json, yaml];
  const whole = [json, yaml, protobuf];
  if (subresource?.type === 'bytes') return ['text/plain', ...whole];
  return watching.has(action) ? [...whole, `${json};stream=watch`, `${protobuf};stream=watch`] : whole;
}

function answered(place: DescribedPlace, action: string): OpenApiObject {
  const { definition, names, subresource } = place;
  switch (action) {
    case 'connect':
      return { type: 'string' };
    case 'list':
      return names.list;
    case 'watch':
    case 'watchlist':
      return names.refTo('meta/v1.WatchEvent');
    case 'deletecollection':
      return names.refTo('meta/v1.Status');
    case 'delete':
      // The deletion of a namespace is also answered with the object, but Kubernetes does not document that.
      return definition.returnsDeletedObject === true && definition.isOwnNamespace !== true
        ? names.kind
        : names.refTo('meta/v1.Status');
    default:
      return subresource?.type === 'bytes' ? { type: 'string' } : objectOf(place);
  }
}

/** Returns the schema of the object in request and answer. */
function objectOf({ definition, names, kind, subresource }: DescribedPlace): OpenApiObject {
  if (subresource?.type !== 'object') return names.kind;
  return names.refToKind(kind) ?? (kind.kind === definition.kind ? names.kind : {});
}

function contentOf(types: readonly string[], schema: OpenApiObject): OpenApiObject {
  return Object.fromEntries(types.map((type) => [type, { schema }]));
}

/**
 * Leaves out an empty list, because Go drops it when it reads and writes a document, which must survive that unchanged.
 */
function unlessEmpty(word: string, list: readonly unknown[]): OpenApiObject {
  return list.length === 0 ? {} : { [word]: list };
}

function queryParameters({ definition, queryOptions }: DescribedPlace, { action }: Action): readonly OpenApiObject[] {
  const isCustom = definition.isCustom === true;
  // Custom resources take the parameters of a list, and are read at a version.
  const from = isCustom && action === 'deletecollection' ? 'list' : action;
  const facts = metaFacts().queryParameters[from] ?? {};
  const types = isCustom && action === 'get' ? { ...facts, resourceVersion: 'string' } : facts;
  const own = Object.entries(types).map(([name, type]) => queryParameter(action, name, { type }));
  const more = Object.entries(queryOptions).flatMap(([name, option]) => {
    const type = optionTypes[option];
    return type === undefined ? [] : [queryParameter(action, name, type)];
  });
  return [...own, ...more];
}

/** Go documents a list like one of its elements, and leaves times out. */
const optionTypes: Readonly<Record<QueryOptionTypes[string], OpenApiObject | undefined>> = {
  string: { type: 'string' },
  boolean: { type: 'boolean' },
  integer: { type: 'integer' },
  time: undefined,
  strings: { type: 'string' },
  numbers: { type: 'integer' },
};

const known = new Map<string, OpenApiObject>();

/** Returns the same object for the same parameter, because thousands of operations have it. */
function queryParameter(action: string, name: string, type: OpenApiObject): OpenApiObject {
  const description = textOf(name, action);
  const key = JSON.stringify([name, type, description]);
  const parameter = known.get(key) ?? {
    ...{ name, in: 'query' },
    ...(description === undefined ? {} : { description }),
    schema: { ...type, uniqueItems: true },
  };
  known.set(key, parameter);
  return parameter;
}

function textOf(name: string, action: string): string | undefined {
  const { parameters, patchParameters } = metaDescriptions();
  return (action === 'patch' ? patchParameters[name] : undefined) ?? parameters[name];
}

export function pathParameter(name: string, kind: string): OpenApiObject {
  const description = name === 'name' ? `name of the ${kind}` : textOf(name, '');
  return {
    ...{ name, in: 'path' },
    ...(description === undefined ? {} : { description }),
    ...{ required: true, schema: { type: 'string', uniqueItems: true } },
  };
}

/** Parameters of all operations of a path are listed once, at the path. */
export function withSharedParameters(
  operations: Readonly<Record<string, OpenApiObject>>,
  parameters: readonly OpenApiObject[],
): OpenApiObject {
  const lists = Object.values(operations).map((operation) => (operation.parameters ?? []) as readonly OpenApiObject[]);
  const [first = [], ...rest] = lists;
  const shared = first.filter((one) =>
    rest.every((list) => list.some((other) => other === one || jsonEqual(other, one))),
  );
  const names = new Set(shared.map(({ name }) => name));
  const item: OpenApiObject = {};
  for (const [method, { parameters: own = [], ...operation }] of Object.entries(operations)) {
    const left = (own as readonly OpenApiObject[]).filter(({ name }) => !names.has(name));
    item[method] = left.length === 0 ? operation : { ...operation, parameters: left };
  }
  const all = [...shared, ...parameters];
  return all.length === 0
    ? item
    : { ...item, parameters: all.sort((a, b) => (String(a.name) < String(b.name) ? -1 : 1)) };
}
