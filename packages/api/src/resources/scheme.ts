// Scheme finds the resource of a kind, of a plural name, or of an object. It is client-go's runtime.Scheme without the
// Go types.
import {
  formatApiVersion,
  formatGroupKind,
  type GroupKind,
  type GroupVersionKind,
  type GroupVersionResource,
  parseApiVersion,
} from '../objects/group-version.ts';
import type { KubernetesObject } from '../objects/kubernetes-object.ts';
import type { Resource } from './resource.ts';

/** A set of resources, searched by kind and by resource. */
export class Scheme {
  readonly #byKind = new Map<string, Resource>();
  readonly #byResource = new Map<string, Resource>();
  readonly #versions = new Map<string, string[]>();

  constructor(resources: Iterable<Resource> = []) {
    for (const resource of resources) this.register(resource);
  }

  /**
   * Throws TypeError when the kind or resource already belongs to another resource. Registering the same one twice is
   * allowed.
   */
  register(resource: Resource): this {
    const kindKey = keyOf(resource, resource.kind);
    const resourceKey = keyOf(resource, resource.plural);
    const known = this.#byKind.get(kindKey) ?? this.#byResource.get(resourceKey);
    if (known !== undefined) {
      if (isSame(known, resource)) return this;
      throw new TypeError(
        `Double registration of different types for ${formatApiVersion(resource)}, Kind=${resource.kind}: resources ${known.plural} (${known.kind}) and ${resource.plural}`,
      );
    }
    this.#byKind.set(kindKey, resource);
    this.#byResource.set(resourceKey, resource);
    const groupKind = formatGroupKind(resource);
    this.#versions.set(groupKind, [...(this.#versions.get(groupKind) ?? []), resource.version]);
    return this;
  }

  /** Returns the resource of a kind; undefined when it is not registered. */
  forKind(kind: GroupVersionKind): Resource | undefined {
    return this.#byKind.get(keyOf(kind, kind.kind));
  }

  /** Returns the resource of this plural name; undefined when it is not registered. */
  forResource(resource: GroupVersionResource): Resource | undefined {
    return this.#byResource.get(keyOf(resource, resource.resource));
  }

  /**
   * Returns the resource of an object by its `apiVersion` and `kind`. Throws TypeError when these are missing or not
   * registered.
   */
  forObject(object: KubernetesObject): Resource {
    const { apiVersion, kind } = object;
    if (!apiVersion || !kind) throw new TypeError('object has no apiVersion or no kind');
    const resource = this.forKind({ ...parseApiVersion(apiVersion), kind });
    if (resource === undefined)
      throw new TypeError(`no kind "${kind}" is registered for version "${apiVersion}" in scheme`);
    return resource;
  }

  /** Returns the versions of a kind in the order of registration: the first is the preferred one. */
  versionsOf(groupKind: GroupKind): readonly string[] {
    return this.#versions.get(formatGroupKind(groupKind)) ?? [];
  }

  /** Returns all resources in the order of registration. */
  resources(): IterableIterator<Resource> {
    return this.#byKind.values();
  }
}

const keyOf = (version: { readonly group: string; readonly version: string }, name: string): string =>
  `${version.group}/${version.version}/${name}`;

function isSame(a: Resource, b: Resource): boolean {
  return (
    a.group === b.group && a.version === b.version && a.kind === b.kind && a.plural === b.plural && a.scope === b.scope
  );
}
