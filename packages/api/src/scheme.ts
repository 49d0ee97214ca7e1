// Which kind is which resource: kind ↔ token. What client-go's runtime.Scheme is, without the Go types.
import {
  formatApiVersion,
  formatGroupKind,
  type GroupKind,
  type GroupVersionKind,
  type GroupVersionResource,
  parseApiVersion,
} from './group-version.ts';
import type { KubernetesObject } from './kubernetes-object.ts';
import type { Resource } from './resource.ts';

/** A set of resource tokens that is searched by kind and by resource. */
export class Scheme {
  readonly #byKind = new Map<string, Resource>();
  readonly #byResource = new Map<string, Resource>();
  readonly #versions = new Map<string, string[]>();

  constructor(tokens: Iterable<Resource> = []) {
    for (const token of tokens) this.register(token);
  }

  /** Throws TypeError when kind or resource already belong to another token. The same token twice is fine. */
  register(token: Resource): this {
    const kindKey = keyOf(token, token.kind);
    const resourceKey = keyOf(token, token.plural);
    const known = this.#byKind.get(kindKey) ?? this.#byResource.get(resourceKey);
    if (known !== undefined) {
      if (isSameToken(known, token)) return this;
      throw new TypeError(
        `Double registration of different types for ${formatApiVersion(token)}, Kind=${token.kind}: resources ${known.plural} (${known.kind}) and ${token.plural}`,
      );
    }
    this.#byKind.set(kindKey, token);
    this.#byResource.set(resourceKey, token);
    const groupKind = formatGroupKind(token);
    this.#versions.set(groupKind, [...(this.#versions.get(groupKind) ?? []), token.version]);
    return this;
  }

  /** The token of a kind; undefined when it is not registered. */
  forKind(kind: GroupVersionKind): Resource | undefined {
    return this.#byKind.get(keyOf(kind, kind.kind));
  }

  /** The token of a resource; undefined when it is not registered. */
  forResource(resource: GroupVersionResource): Resource | undefined {
    return this.#byResource.get(keyOf(resource, resource.resource));
  }

  /** The token of an object, by its `apiVersion` and `kind`. Throws TypeError when it has none or they are not registered. */
  forObject(object: KubernetesObject): Resource {
    const { apiVersion, kind } = object;
    if (!apiVersion || !kind) throw new TypeError('object has no apiVersion or no kind');
    const token = this.forKind({ ...parseApiVersion(apiVersion), kind });
    if (token === undefined)
      throw new TypeError(`no kind "${kind}" is registered for version "${apiVersion}" in scheme`);
    return token;
  }

  /** Versions of a kind in the order of their registration: the first is the preferred one. */
  versionsOf(groupKind: GroupKind): readonly string[] {
    return this.#versions.get(formatGroupKind(groupKind)) ?? [];
  }

  /** All tokens in the order of their registration. */
  tokens(): IterableIterator<Resource> {
    return this.#byKind.values();
  }
}

const keyOf = (version: { readonly group: string; readonly version: string }, name: string): string =>
  `${version.group}/${version.version}/${name}`;

function isSameToken(a: Resource, b: Resource): boolean {
  return (
    a.group === b.group && a.version === b.version && a.kind === b.kind && a.plural === b.plural && a.scope === b.scope
  );
}
