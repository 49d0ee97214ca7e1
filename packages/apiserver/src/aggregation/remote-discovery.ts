// Reads what other API servers report about their resources: all group versions in one document, or one group version
// at a time from servers that speak only the old form. Source: kube-aggregator handler_discovery.go, apiserver
// endpoints (ConvertGroupVersionIntoToDiscovery).
import { isJsonObject } from '@kapstan/api/internal';

type Document = Readonly<Record<string, unknown>>;

/** Discovery documents of other API servers. */
export interface RemoteDiscovery {
  /** The resources as aggregated discovery shows them. */
  readonly resources: readonly Document[];
  /** False when the server could not be asked and its resources are not known. */
  readonly isCurrent: boolean;
}

/** Returns the resources of each group version ("example.com/v1") of an APIGroupDiscoveryList. Throws TypeError. */
export function readGroupDiscovery(list: unknown): ReadonlyMap<string, readonly Document[]> {
  const found = new Map<string, readonly Document[]>();
  for (const group of objects(member(list, 'items'), 'items')) {
    const name = text(member(group.metadata, 'name'));
    for (const version of objects(group.versions, 'versions')) {
      const resources = objects(version.resources, 'resources').map(readResource);
      found.set(`${name}/${text(version.version)}`, resources);
    }
  }
  return found;
}

/** Returns the resources of an APIResourceList in the form of aggregated discovery. Throws TypeError. */
export function readResourceList(list: unknown): readonly Document[] {
  const all = objects(member(list, 'resources'), 'resources');
  const found = new Map<string, Record<string, unknown>>();
  for (const resource of all) {
    const name = text(resource.name);
    if (!name.includes('/')) found.set(name, oldResource(name, resource));
  }
  for (const resource of all) {
    const [parent = '', ...rest] = text(resource.name).split('/');
    if (rest.length === 0) continue;
    const known = found.get(parent) ?? {
      resource: parent,
      responseKind: noKind,
      scope: scopeOf(resource),
      verbs: null,
    };
    const subresources = (known.subresources ?? []) as readonly Document[];
    const own = { subresource: rest.join('/'), responseKind: kindOf(resource), ...lists(resource, ['verbs']) };
    found.set(parent, { ...known, subresources: [...subresources, own] });
  }
  return [...found.values()];
}

const noKind: Document = { group: '', version: '', kind: '' };

function oldResource(name: string, resource: Document): Record<string, unknown> {
  return {
    resource: name,
    responseKind: kindOf(resource),
    scope: scopeOf(resource),
    singularResource: text(resource.singularName),
    ...lists(resource, ['verbs', 'shortNames', 'categories']),
  };
}

function scopeOf(resource: Document): string {
  return resource.namespaced === true ? 'Namespaced' : 'Cluster';
}

function readResource(resource: Document): Document {
  const subresources = objects(resource.subresources, 'subresources').map((each) => ({
    subresource: text(each.subresource),
    responseKind: kindOf(each.responseKind),
    ...acceptedTypes(each),
    ...lists(each, ['verbs']),
  }));
  return {
    resource: text(resource.resource),
    // Clients before 0.26.4 break when it is missing.
    responseKind: kindOf(resource.responseKind),
    scope: text(resource.scope),
    singularResource: text(resource.singularResource),
    ...lists(resource, ['verbs', 'shortNames', 'categories']),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}

function acceptedTypes({ acceptedTypes: types }: Document): Document {
  return Array.isArray(types) ? { acceptedTypes: objects(types, 'acceptedTypes').map(kindOf) } : {};
}

function kindOf(from: unknown): Document {
  if (!isJsonObject(from)) return noKind;
  return { group: text(from.group), version: text(from.version), kind: text(from.kind) };
}

function lists(from: Document, names: readonly string[]): Document {
  const given = names.filter((name) => Array.isArray(from[name]));
  return Object.fromEntries(given.map((name) => [name, (from[name] as unknown[]).map(text)]));
}

function member(from: unknown, name: string): unknown {
  return isJsonObject(from) ? from[name] : undefined;
}

function objects(value: unknown, what: string): readonly Document[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || !value.every(isJsonObject)) throw new TypeError(`${what} is not a list of objects`);
  return value as readonly Document[];
}

function text(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw new TypeError(`${JSON.stringify(value)} is not a string`);
  return value;
}
