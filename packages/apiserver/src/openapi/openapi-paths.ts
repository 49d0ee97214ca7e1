// Makes the paths of an OpenAPI v3 document: the operations of each resource with their query parameters. From these
// kubectl learns whether the server validates fields and knows dry runs. Source: apiserver endpoints/installer.go.
import { formatApiVersion, type GroupVersionKind } from '@kapstan/api/internal';
import type { QueryOptionTypes, ResourceDefinition } from '../registry/definition/resource-definition.ts';
import { namespacesSegment } from '../registry/meta/names.ts';
import { metaFacts } from '../schema/meta-types.ts';
import { refTo } from './openapi-schemas.ts';
import { operationId, operationTag, operationText } from './operation-names.ts';

type Json = Record<string, unknown>;
type AnySubresource = ResourceDefinition['subresources'][number];

interface Action {
  readonly method: 'get' | 'put' | 'post' | 'delete' | 'patch';
  readonly verb: string;
  /** Name of the action in the facts' query parameters and in x-kubernetes-action. */
  readonly action: string;
}

const itemActions: readonly Action[] = [
  { method: 'get', verb: 'get', action: 'get' },
  { method: 'put', verb: 'update', action: 'put' },
  { method: 'patch', verb: 'patch', action: 'patch' },
  { method: 'delete', verb: 'delete', action: 'delete' },
];
const createAction: Action = { method: 'post', verb: 'create', action: 'post' };
const collectionActions: readonly Action[] = [
  { method: 'get', verb: 'list', action: 'list' },
  createAction,
  { method: 'delete', verb: 'deletecollection', action: 'deletecollection' },
];
const patchTypes = [
  'application/apply-patch+yaml',
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
];

/** Returns the operations by path. `schemaName`: the published definition of the kind. */
export function resourcePaths(definition: ResourceDefinition, schemaName: string): Readonly<Json> {
  const root = definition.group === '' ? `/api/${definition.version}` : `/apis/${formatApiVersion(definition)}`;
  const scope = definition.namespaced ? `${root}/${namespacesSegment}/{namespace}` : root;
  const collection = `${scope}/${definition.resource}`;
  const paths: Json = {};
  const add = (path: string, parameters: readonly string[], operations: Json): void => {
    if (Object.keys(operations).length === 0) return;
    paths[path] = { ...operations, ...unlessEmpty('parameters', parameters.map(pathParameter)) };
  };
  const within = definition.namespaced ? ['namespace'] : [];
  const describe: Described = { definition, verbs: definition.verbs, kind: definition, schemaName, subresource: '' };
  add(collection, within, operationsOf(describe, collectionActions));
  add(`${collection}/{name}`, ['name', ...within], operationsOf(describe, itemActions));
  if (definition.namespaced) {
    const listOnly = collectionActions.filter(({ verb }) => verb === 'list');
    add(`${root}/${definition.resource}`, [], operationsOf({ ...describe, forAllNamespaces: true }, listOnly));
  }
  for (const subresource of definition.subresources) {
    const kind = kindOf(definition, subresource);
    const queryOptions = subresource.type === 'bytes' ? subresource.queryOptions : {};
    const part = { ...describe, verbs: subresource.verbs, kind, subresource: subresource.name, queryOptions };
    const actions = [...itemActions, createAction];
    add(`${collection}/{name}/${subresource.name}`, ['name', ...within], operationsOf(part, actions));
  }
  return paths;
}

function kindOf(definition: ResourceDefinition, subresource: AnySubresource): GroupVersionKind {
  return subresource.type === 'object' ? subresource.kind : definition;
}

interface Described {
  readonly definition: ResourceDefinition;
  readonly verbs: readonly string[];
  readonly kind: GroupVersionKind;
  readonly schemaName: string;
  /** "" = the object itself. */
  readonly subresource: string;
  readonly forAllNamespaces?: true;
  /** Options of its reads, besides the parameters of every read. */
  readonly queryOptions?: QueryOptionTypes;
}

function operationsOf(described: Described, actions: readonly Action[]): Json {
  const served = actions.filter(({ verb }) => described.verbs.includes(verb));
  return Object.fromEntries(served.map((action) => [action.method, operation(described, action)]));
}

function operation(described: Described, { action, verb }: Action): Json {
  const { definition, kind, schemaName, subresource, forAllNamespaces = false, queryOptions = {} } = described;
  const { namespaced } = definition;
  const named = { of: definition, kind: definition.kind, namespaced, verb, subresource, forAllNamespaces };
  const isOwn = kind.kind === definition.kind;
  const content = { 'application/json': isOwn ? { schema: { $ref: refTo(schemaName) } } : {} };
  const hasBody = verb === 'create' || verb === 'update';
  return {
    tags: [operationTag(definition)],
    operationId: operationId(named),
    description: operationText(named),
    ...unlessEmpty('parameters', [...queryParameters(action), ...Object.entries(queryOptions).map(optionParameter)]),
    ...(hasBody ? { requestBody: { required: true, content: { '*/*': content['application/json'] } } } : {}),
    ...(verb === 'patch' ? { requestBody: { required: true, content: patchContent(definition) } } : {}),
    responses: {
      200: { description: 'OK', ...(verb !== 'list' && { content }) },
      401: { description: 'Unauthorized' },
    },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group: kind.group, kind: kind.kind, version: kind.version },
  };
}

/**
 * Leaves out an empty list, because Go drops it when it reads and writes a document, which must survive that unchanged.
 */
function unlessEmpty(word: string, list: readonly unknown[]): Json {
  return list.length === 0 ? {} : { [word]: list };
}

function patchContent(definition: ResourceDefinition): Json {
  const types = patchTypes.filter((type) => definition.isCustom !== true || !type.includes('strategic'));
  return Object.fromEntries(types.map((type) => [type, { schema: { type: 'object' } }]));
}

function queryParameters(action: string): readonly Json[] {
  return Object.entries(metaFacts().queryParameters[action] ?? {}).map(([name, type]) => ({
    name,
    in: 'query',
    schema: { type, uniqueItems: true },
  }));
}

const optionTypes: Readonly<Record<QueryOptionTypes[string], Json>> = {
  string: { type: 'string' },
  boolean: { type: 'boolean' },
  integer: { type: 'integer' },
  time: { type: 'string', format: 'date-time' },
  strings: { type: 'array', items: { type: 'string' } },
  numbers: { type: 'array', items: { type: 'integer' } },
};

function optionParameter([name, type]: [string, QueryOptionTypes[string]]): Json {
  return { name, in: 'query', schema: { ...optionTypes[type], uniqueItems: true } };
}

function pathParameter(name: string): Json {
  return { name, in: 'path', required: true, schema: { type: 'string', uniqueItems: true } };
}
