// The API that the server serves: groups, versions and resources; aggregated discovery is tried first; kept until invalidate().
import { apiVersionOf, type CallOptions, isStatusError, type Resource, resource } from '@kapstan/api';
import { type GroupVersion, parseApiVersion } from '@kapstan/api/internal';
import { isTransportError } from './transport/transport-error.ts';

/** One resource of one group version; its subresources are listed in it. */
export interface DiscoveredResource extends GroupVersion {
  /** For example "deployments". */
  readonly resource: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly singularName: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  /** "status", "scale", … */
  readonly subresources: readonly string[];
}

/** A group of a server with its versions. */
export interface DiscoveredGroup {
  /** "" for the core group. */
  readonly name: string;
  /** In the server's order; the first that could be read is preferred. */
  readonly versions: readonly string[];
  readonly preferredVersion: string;
}

/** All groups and resources that a server serves. */
export interface ApiCatalog {
  /** The core group first, then the server's order. */
  readonly groups: readonly DiscoveredGroup[];
  readonly resources: readonly DiscoveredResource[];
  /** Group versions ("metrics.k8s.io/v1beta1") that could not be read, with the error. */
  readonly failures: ReadonlyMap<string, Error>;
}

/** The server's version as it reports it. */
export interface ServerVersion {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
}

/**
 * `timeoutMs`: 0 (default) = until the requests end, which have 32 s each; a larger value does not extend that. When one caller leaves, a
 * read that others wait for continues.
 */
export type DiscoveryCallOptions = Pick<CallOptions, 'signal' | 'timeoutMs'>;

/** Functions by which discovery reads documents. */
export interface DiscoveryPorts {
  /** Reads the JSON object at a path. */
  read(
    request: { readonly path: string; readonly accept?: string; readonly timeoutMs: number } & DiscoveryCallOptions,
  ): Promise<object>;
  /** Returns the result of the work, or rejects when this caller's signal or timeout ends the wait. */
  wait<R>(work: () => Promise<R>, options: DiscoveryCallOptions): Promise<R>;
}

// Source of both values: client-go discovery/discovery_client.go.
const timeoutMs = 32_000;
const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';

/**
 * The API that the server serves, read with the first query and kept until {@link Discovery.invalidate}. Rejects as `Client.get` does;
 * every request has 32 s. Each client has one: `client.discovery`.
 *
 * @example
 * ```ts
 * import { connect } from '@kapstan/client';
 *
 * const client = await connect();
 * const { gitVersion } = await client.discovery.serverVersion();
 * console.log(gitVersion);
 * ```
 */
export class Discovery {
  readonly #ports: DiscoveryPorts;
  #catalog: Promise<ApiCatalog> | undefined;
  // Invariant: the value that #catalog resolved with; undefined until then.
  #known: ApiCatalog | undefined;

  constructor(ports: DiscoveryPorts) {
    this.#ports = ports;
  }

  /**
   * Reads the catalog once, also for concurrent callers, and keeps it; a failure is not kept. The next call retries group versions that
   * failed temporarily (no answer, 429, 500 and above). Rejects only when nothing can be read at all.
   */
  async catalog(options: DiscoveryCallOptions = {}): Promise<ApiCatalog> {
    return await this.#ports.wait(() => this.#shared(), options);
  }

  #shared(): Promise<ApiCatalog> {
    const known = this.#known;
    if (this.#catalog === undefined) return this.#keep(this.#load());
    const missing = known === undefined ? [] : [...known.failures].filter(([, error]) => isMomentary(error));
    if (known === undefined || missing.length === 0) return this.#catalog;
    return this.#keep(this.#complete(known, new Set(missing.map(([name]) => name))));
  }

  /** True when a catalog has been read or is being read; it may lack newer resources. */
  get hasCatalog(): boolean {
    return this.#catalog !== undefined;
  }

  /** Returns a catalog read after the given one. Callers that hold the same old catalog share one read. */
  async newerThan(older: ApiCatalog, options: DiscoveryCallOptions = {}): Promise<ApiCatalog> {
    if (this.#known === older) this.invalidate();
    return await this.catalog(options);
  }

  /** Forgets the catalog; the next call reads it again. */
  invalidate(): void {
    this.#catalog = undefined;
    this.#known = undefined;
  }

  // Atomic: every later caller gets this read.
  #keep(reading: Promise<ApiCatalog>): Promise<ApiCatalog> {
    this.invalidate();
    const kept = reading.then(
      (catalog) => {
        if (this.#catalog === kept) this.#known = catalog;
        return catalog;
      },
      (error: unknown) => {
        if (this.#catalog === kept) this.#catalog = undefined;
        throw error;
      },
    );
    this.#catalog = kept;
    return kept;
  }

  /** Asks the server whether a resource is served now; concurrent callers share a read. Rejects when its group version does not answer. */
  async serves(resource: Resource, options: DiscoveryCallOptions = {}): Promise<boolean> {
    const known = this.#known;
    const { resources, failures } = await (known === undefined
      ? this.catalog(options)
      : this.newerThan(known, options));
    const failure = failures.get(apiVersionOf(resource));
    if (failure !== undefined && !(isStatusError(failure) && failure.code === 404)) throw failure;
    return resources.some(
      (entry) =>
        entry.resource === resource.plural && entry.group === resource.group && entry.version === resource.version,
    );
  }

  async serverVersion(options: DiscoveryCallOptions = {}): Promise<ServerVersion> {
    const { timeoutMs: wantedMs = 0 } = options;
    const limitMs = wantedMs === 0 ? timeoutMs : Math.min(wantedMs, timeoutMs);
    return (await this.#ports.read({ path: '/version', ...options, timeoutMs: limitMs })) as ServerVersion;
  }

  async #load(): Promise<ApiCatalog> {
    const [core, named] = await Promise.all([this.#root('/api'), this.#root('/apis')]);
    const isAggregated = [core, named].every((root) => root === undefined || root.kind === 'APIGroupDiscoveryList');
    if (isAggregated) return aggregatedCatalog([...(core?.items ?? []), ...(named?.items ?? [])]);
    const groups = [core, named].flatMap((root) => (root === undefined ? [] : groupsOf(root)));
    return await this.#plainCatalog(groups);
  }

  /** Returns undefined for a 404: the server has no core group, or no named groups. */
  async #root(path: string): Promise<RootAnswer | undefined> {
    try {
      return (await this.#ports.read({ path, accept: aggregated, timeoutMs })) as RootAnswer;
    } catch (error) {
      if (isStatusError(error) && error.code === 404) return undefined;
      throw error;
    }
  }

  async #plainCatalog(groups: readonly DiscoveredGroup[]): Promise<ApiCatalog> {
    const versions = groups.flatMap(({ name, versions: all }) => all.map((version) => ({ group: name, version })));
    return { groups, ...(await this.#versions(versions)) };
  }

  /** Returns the catalog after another attempt for its missing group versions. */
  async #complete({ groups, resources, failures }: ApiCatalog, missing: ReadonlySet<string>): Promise<ApiCatalog> {
    const added = await this.#versions([...missing].map(parseApiVersion));
    const kept = [...failures].filter(([name]) => !missing.has(name));
    return {
      groups,
      resources: [...resources, ...added.resources],
      failures: new Map([...kept, ...added.failures]),
    };
  }

  async #versions(versions: readonly GroupVersion[]): Promise<Pick<ApiCatalog, 'resources' | 'failures'>> {
    const failures = new Map<string, Error>();
    const lists = await Promise.all(
      versions.map(async ({ group, version }) => {
        const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
        try {
          const answer = (await this.#ports.read({ path, timeoutMs })) as ResourceListAnswer;
          return plainResources(answer, { group, version });
        } catch (error) {
          failures.set(group === '' ? version : `${group}/${version}`, error as Error);
          return [];
        }
      }),
    );
    return { resources: lists.flat(), failures };
  }
}

// Source: client-go discovery/cached/memory (isTransientError).
function isMomentary(error: Error): boolean {
  if (isStatusError(error)) return error.code === 429 || error.code >= 500;
  return isTransportError(error);
}

/**
 * Returns a discovered resource as the value that a client takes.
 *
 * @example
 * ```ts
 * import { connect, resourceOf } from '@kapstan/client';
 *
 * // Counts the objects of every kind of a group, whatever kinds those are.
 * const client = await connect();
 * const { resources } = await client.discovery.catalog();
 * for (const found of resources.filter(({ group }) => group === 'example.com'))
 *   console.log(found.kind, (await client.list(resourceOf(found))).length);
 * ```
 */
export function resourceOf({ group, version, kind, resource: plural, isNamespaced }: DiscoveredResource): Resource {
  return resource({ group, version, kind, plural, scope: isNamespaced ? 'Namespaced' : 'Cluster' });
}

// ---- The shapes on the wire ----

interface RootAnswer {
  readonly kind: string;
  /** Present in an APIVersions. */
  readonly versions?: readonly string[];
  /** Present in an APIGroupList. */
  readonly groups?: readonly {
    readonly name: string;
    readonly versions: readonly { readonly version: string }[];
    readonly preferredVersion?: { readonly version: string };
  }[];
  /** Present in an APIGroupDiscoveryList. */
  readonly items?: readonly AggregatedGroup[];
}

interface AggregatedGroup {
  readonly metadata?: { readonly name?: string };
  readonly versions?: readonly {
    readonly version: string;
    readonly freshness?: string;
    readonly resources?: readonly AggregatedResource[];
  }[];
}

interface AggregatedResource {
  readonly resource: string;
  readonly responseKind?: { readonly kind?: string } | null;
  readonly scope: string;
  readonly singularResource?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly verbs: readonly string[];
  readonly subresources?: readonly { readonly subresource: string }[];
}

interface ResourceListAnswer {
  readonly resources?: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly singularName?: string;
    readonly shortNames?: readonly string[];
    readonly categories?: readonly string[];
    readonly verbs?: readonly string[];
  }[];
}

function aggregatedCatalog(items: readonly AggregatedGroup[]): ApiCatalog {
  const failures = new Map<string, Error>();
  const groups: DiscoveredGroup[] = [];
  const resources: DiscoveredResource[] = [];
  for (const { metadata, versions = [] } of items) {
    const group = metadata?.name ?? '';
    const fresh = versions.filter((version) => version.freshness !== 'Stale');
    for (const { version } of versions.filter((entry) => !fresh.includes(entry))) {
      const name = group === '' ? version : `${group}/${version}`;
      failures.set(name, new Error(`stale GroupVersion discovery: ${name}`));
    }
    const preferredVersion = (fresh[0] ?? versions[0])?.version ?? '';
    groups.push({ name: group, versions: versions.map((entry) => entry.version), preferredVersion });
    for (const entry of fresh)
      for (const found of entry.resources ?? [])
        resources.push(aggregatedResource(found, { group, version: entry.version }));
  }
  return { groups, resources, failures };
}

function aggregatedResource(found: AggregatedResource, groupVersion: GroupVersion): DiscoveredResource {
  return {
    ...groupVersion,
    resource: found.resource,
    kind: found.responseKind?.kind ?? '',
    isNamespaced: found.scope === 'Namespaced',
    singularName: found.singularResource ?? '',
    shortNames: found.shortNames ?? [],
    categories: found.categories ?? [],
    verbs: found.verbs,
    subresources: (found.subresources ?? []).map(({ subresource }) => subresource),
  };
}

function groupsOf({ kind, versions = [], groups = [], items = [] }: RootAnswer): readonly DiscoveredGroup[] {
  if (kind === 'APIGroupDiscoveryList') return aggregatedCatalog(items).groups;
  if (kind === 'APIVersions') return [{ name: '', versions, preferredVersion: versions[0] ?? '' }];
  return groups.map(({ name, versions: all, preferredVersion }) => ({
    name,
    versions: all.map(({ version }) => version),
    preferredVersion: preferredVersion?.version ?? all[0]?.version ?? '',
  }));
}

function plainResources({ resources = [] }: ResourceListAnswer, groupVersion: GroupVersion): DiscoveredResource[] {
  const subresourcesOf = (name: string): string[] =>
    resources.filter((entry) => entry.name.startsWith(`${name}/`)).map((entry) => entry.name.slice(name.length + 1));
  return resources
    .filter(({ name }) => !name.includes('/'))
    .map((entry) => ({
      ...groupVersion,
      resource: entry.name,
      kind: entry.kind,
      isNamespaced: entry.namespaced,
      singularName: entry.singularName ?? '',
      shortNames: entry.shortNames ?? [],
      categories: entry.categories ?? [],
      verbs: entry.verbs ?? [],
      subresources: subresourcesOf(entry.name),
    }));
}

/** Returns true if a resource belongs to an apiVersion. */
export function isOfApiVersion(found: DiscoveredResource, apiVersion: string): boolean {
  const { group, version } = parseApiVersion(apiVersion);
  return found.group === group && found.version === version;
}
