// Makes the paths of an OpenAPI v3 document: the operations of each resource with their query parameters, which
// openapi-operations.ts describes. kubectl learns from these parameters whether the server validates fields and knows
// dry runs. Source: apiserver endpoints/installer.go; apiextensions controller/openapi/builder.
import { formatApiVersion, type GroupVersionKind } from '@kapstan/api/internal';
import type { QueryOptionTypes, ResourceDefinition } from '../registry/definition/resource-definition.ts';
import { namespacesSegment } from '../registry/meta/names.ts';
import {
  type Action,
  describeOperation,
  type OpenApiObject,
  pathParameter,
  type TypeNames,
  withSharedParameters,
} from './openapi-operations.ts';

export type { TypeNames } from './openapi-operations.ts';

type AnySubresource = ResourceDefinition['subresources'][number];

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
const watchListAction: Action = { method: 'get', verb: 'watch', action: 'watchlist' };
const watchAction: Action = { method: 'get', verb: 'watch', action: 'watch' };

/** Returns the operations by path. */
export function resourcePaths(definition: ResourceDefinition, names: TypeNames): Readonly<OpenApiObject> {
  return new ResourcePaths(definition, names).all();
}

/** One path with its parameters, and the resource or subresource behind it. */
interface Place {
  readonly path: string;
  readonly parameters: readonly string[];
  readonly verbs: readonly string[];
  readonly kind: GroupVersionKind;
  readonly subresource: AnySubresource | undefined;
  readonly forAllNamespaces?: true;
}

class ResourcePaths {
  readonly #definition: ResourceDefinition;
  readonly #names: TypeNames;
  readonly #paths: OpenApiObject = {};
  readonly #root: string;
  readonly #scope: string;
  readonly #within: readonly string[];

  constructor(definition: ResourceDefinition, names: TypeNames) {
    this.#definition = definition;
    this.#names = names;
    const { group, version, namespaced } = definition;
    this.#root = group === '' ? `/api/${version}` : `/apis/${formatApiVersion(definition)}`;
    this.#scope = namespaced ? `/${namespacesSegment}/{namespace}` : '';
    this.#within = namespaced ? ['namespace'] : [];
  }

  all(): Readonly<OpenApiObject> {
    const { resource, verbs, namespaced, isCustom, subresources } = this.#definition;
    const collection = `${this.#root}${this.#scope}/${resource}`;
    const own = { verbs, kind: this.#definition, subresource: undefined };
    this.#add({ ...own, path: collection, parameters: this.#within }, collectionActions);
    const item = { ...own, path: `${collection}/{name}`, parameters: ['name', ...this.#within] };
    this.#add(item, itemActions);
    if (namespaced) {
      const everywhere = { ...own, path: `${this.#root}/${resource}`, parameters: [], forAllNamespaces: true } as const;
      this.#add(everywhere, collectionActions.slice(0, 1));
    }
    if (isCustom !== true) this.#addWatches(own);
    for (const subresource of subresources) this.#addSubresource(item, subresource);
    return this.#paths;
  }

  /** Adds the deprecated watch paths, which only built-in resources have. */
  #addWatches(own: Pick<Place, 'verbs' | 'kind' | 'subresource'>): void {
    const { resource, namespaced, verbs } = this.#definition;
    const collection = `${this.#root}/watch${this.#scope}/${resource}`;
    this.#add({ ...own, path: collection, parameters: this.#within }, [watchListAction]);
    if (verbs.includes('get')) {
      this.#add({ ...own, path: `${collection}/{name}`, parameters: ['name', ...this.#within] }, [watchAction]);
    }
    if (!namespaced) return;
    const everywhere = {
      ...own,
      path: `${this.#root}/watch/${resource}`,
      parameters: [],
      forAllNamespaces: true,
    } as const;
    this.#add(everywhere, [watchListAction]);
  }

  #addSubresource(item: Place, subresource: AnySubresource): void {
    const kind = subresource.type === 'object' ? subresource.kind : this.#definition;
    const place = { ...item, path: `${item.path}/${subresource.name}`, verbs: subresource.verbs, kind, subresource };
    const connect = subresource.type === 'object' ? subresource.connect : undefined;
    if (connect === undefined) return this.#add(place, [...itemActions, createAction]);
    const actions = connect.methods.map((name): Action => {
      const method = name.toLowerCase() as Action['method'];
      return { method, verb: 'connect', action: 'connect' };
    });
    this.#add(place, actions);
    if (connect.takesPath) {
      this.#add({ ...place, path: `${place.path}/{path}`, parameters: [...place.parameters, 'path'] }, actions);
    }
  }

  #add(place: Place, actions: readonly Action[]): void {
    const served = actions.filter(({ verb }) => verb === 'connect' || place.verbs.includes(verb));
    if (served.length === 0) return;
    const { kind } = this.#definition;
    const described = {
      ...{ definition: this.#definition, names: this.#names, kind: place.kind, subresource: place.subresource },
      ...{ forAllNamespaces: place.forAllNamespaces === true, withPath: place.parameters.includes('path') },
      queryOptions: queryOptionsOf(place.subresource),
    };
    const operations = served.map((action): [string, OpenApiObject] => [
      action.method,
      describeOperation(described, action),
    ]);
    const parameters = place.parameters.map((name) => pathParameter(name, kind));
    this.#paths[place.path] = withSharedParameters(Object.fromEntries(operations), parameters);
  }
}

function queryOptionsOf(subresource: AnySubresource | undefined): QueryOptionTypes {
  if (subresource?.type === 'bytes') return subresource.queryOptions;
  if (subresource?.type !== 'object' || subresource.connect === undefined) return {};
  const { takesPath, queryOptions } = subresource.connect;
  return takesPath ? { ...queryOptions, path: 'string' } : queryOptions;
}
