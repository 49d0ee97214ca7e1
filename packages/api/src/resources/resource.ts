// Resources: a few strings that carry the static type of their objects, so that calls need no type annotation.
import { formatApiVersion, type GroupVersionResource } from '../objects/group-version.ts';
import type { KubernetesObject, UnstructuredObject } from '../objects/kubernetes-object.ts';

declare const objectType: unique symbol;

/**
 * Names one resource of the API and carries the type of its objects. It is plain data: safe to share, and compared by its strings.
 */
export interface Resource<T extends KubernetesObject = KubernetesObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Lower case plural, as in URLs: "deployments". */
  readonly plural: string;
  readonly scope: 'Namespaced' | 'Cluster';
  /** Exists for the compiler only. */
  readonly [objectType]?: T;
}

/** A resource whose objects are in namespaces. */
export type NamespacedResource<T extends KubernetesObject = KubernetesObject> = Resource<T> & {
  readonly scope: 'Namespaced';
};

/** The object type that a resource carries. */
export type ObjectOf<R> = R extends Resource<infer T> ? T : never;

/** The names of a kind, from which {@link resource} makes a resource. */
export interface ResourceSpec {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Default: the kind in lower case with an "s" ("es" after s, x, ch, sh; "ies" for a consonant + y). */
  readonly plural?: string | undefined;
  /** Default 'Namespaced'. */
  readonly scope?: 'Namespaced' | 'Cluster' | undefined;
}

/** Makes a resource. The caller gives the type: `resource<Pod>({ group: '', version: 'v1', kind: 'Pod' })`. */
export function resource<T extends KubernetesObject = UnstructuredObject>(
  spec: ResourceSpec & { readonly scope?: 'Namespaced' },
): NamespacedResource<T>;
export function resource<T extends KubernetesObject = UnstructuredObject>(spec: ResourceSpec): Resource<T>;
export function resource<T extends KubernetesObject = UnstructuredObject>(spec: ResourceSpec): Resource<T> {
  return {
    group: spec.group,
    version: spec.version,
    kind: spec.kind,
    plural: spec.plural ?? pluralOf(spec.kind),
    scope: spec.scope ?? 'Namespaced',
  };
}

/**
 * Returns the apiVersion of a resource's objects: "apps/v1", or "v1" for the core group.
 *
 * @example
 * ```ts
 * import { apiVersionOf } from '@kapstan/api';
 * import { Deployment } from '@kapstan/kinds/apps/v1';
 *
 * apiVersionOf(Deployment); // apps/v1
 * ```
 */
export function apiVersionOf(resource: Resource): string {
  return formatApiVersion(resource);
}

export function groupVersionResourceOf(resource: Resource): GroupVersionResource {
  return { group: resource.group, version: resource.version, resource: resource.plural };
}

/**
 * Returns the URL path of a resource, of a namespace's part of it, or of one object:
 * "/apis/apps/v1/namespaces/default/deployments/web/status".
 */
export function resourcePath(
  resource: Resource,
  target: { readonly namespace?: string; readonly name?: string; readonly subresource?: string | undefined } = {},
): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const scope =
    resource.scope === 'Namespaced' && target.namespace ? `/namespaces/${encodeURIComponent(target.namespace)}` : '';
  const name = target.name === undefined ? '' : `/${encodeURIComponent(target.name)}`;
  const subresource = target.subresource === undefined ? '' : `/${target.subresource}`;
  return `${root}${scope}/${resource.plural}${name}${subresource}`;
}

/** Source: apimachinery meta.UnsafeGuessKindToResource. */
function pluralOf(kind: string): string {
  const singular = kind.toLowerCase();
  if (singular.endsWith('endpoints')) return singular;
  if (/(?:s|x|ch|sh)$/.test(singular)) return `${singular}es`;
  if (/[^aeiou]y$/.test(singular)) return `${singular.slice(0, -1)}ies`;
  return `${singular}s`;
}
