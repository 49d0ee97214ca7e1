// Maps kinds and short names, as users and manifests write them, to resources. Uses discovery.
import type { Resource } from '@kapstan/api';
import {
  type ApiCatalog,
  type DiscoveredResource,
  type Discovery,
  type DiscoveryCallOptions,
  isOfApiVersion,
  resourceOf,
} from './discovery.ts';

/**
 * Finds resources by kind or by a word from the command line. When a catalog read earlier does not have it, a new catalog is read once.
 * Each client has one: `client.mapper`.
 *
 * @example
 * ```ts
 * import { connect } from '@kapstan/client';
 *
 * const client = await connect();
 * const kind = await client.mapper.forName('deploy'); // as a user writes it in a command
 * console.log(await client.list(kind));
 * ```
 */
export class RestMapper {
  readonly #discovery: Discovery;

  constructor(discovery: Discovery) {
    this.#discovery = discovery;
  }

  /**
   * Returns the resource of a kind: `forKind('apps/v1', 'Deployment')`. Rejects with TypeError when the server has none, after asking it
   * once more.
   */
  async forKind(apiVersion: string, kind: string, options: DiscoveryCallOptions = {}): Promise<Resource> {
    const found = await this.#find(
      ({ resources }) => resources.find((entry) => entry.kind === kind && isOfApiVersion(entry, apiVersion)),
      options,
    );
    if (found === undefined)
      throw new TypeError(`no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`);
    return resourceOf(found);
  }

  /**
   * Returns the resource for a word from the command line: plural, singular, short name or kind, in any case, optionally followed by the
   * group ("deploy.apps") or version and group ("deployments.v1.apps"). Names take precedence over short names; among equals the core group
   * wins, then the server's order, then the preferred version. Rejects with TypeError when nothing matches.
   */
  async forName(word: string, options: DiscoveryCallOptions = {}): Promise<Resource> {
    const text = word.toLowerCase();
    const found = await this.#find((catalog) => search(ordered(catalog), text), options);
    if (found === undefined) throw new TypeError(`the server doesn't have a resource type ${JSON.stringify(word)}`);
    return resourceOf(found);
  }

  /** Returns the resources of a category, such as "all". */
  async forCategory(category: string, options: DiscoveryCallOptions = {}): Promise<readonly Resource[]> {
    const catalog = await this.#discovery.catalog(options);
    const seen = new Set<string>();
    return ordered(catalog)
      .filter((entry) => entry.categories.includes(category))
      .filter(({ group, resource }) => !seen.has(`${resource}.${group}`) && seen.add(`${resource}.${group}`))
      .map(resourceOf);
  }

  // A missing resource may be newer than the catalog, unless the catalog was read for this very call.
  async #find(
    pick: (catalog: ApiCatalog) => DiscoveredResource | undefined,
    options: DiscoveryCallOptions,
  ): Promise<DiscoveredResource | undefined> {
    const isOld = this.#discovery.hasCatalog;
    const known = await this.#discovery.catalog(options);
    const found = pick(known);
    if (found !== undefined || !isOld) return found;
    return pick(await this.#discovery.newerThan(known, options));
  }
}

/** Orders resources by group, and within a group puts the preferred version first. */
function ordered({ groups, resources }: ApiCatalog): DiscoveredResource[] {
  return groups.flatMap(({ name, versions, preferredVersion }) => {
    const sorted = [preferredVersion, ...versions.filter((version) => version !== preferredVersion)];
    return sorted.flatMap((version) => resources.filter((entry) => entry.group === name && entry.version === version));
  });
}

function search(resources: readonly DiscoveredResource[], text: string): DiscoveredResource | undefined {
  const [name = '', ...qualifier] = text.split('.');
  const inGroup = resources.filter((entry) => isInGroup(entry, qualifier));
  return (
    inGroup.find((entry) => entry.resource === name || entry.singularName === name) ??
    inGroup.find((entry) => entry.shortNames.includes(name)) ??
    inGroup.find((entry) => entry.kind.toLowerCase() === name)
  );
}

function isInGroup({ group, version }: DiscoveredResource, qualifier: readonly string[]): boolean {
  if (qualifier.length === 0) return true;
  const [first = '', ...rest] = qualifier;
  const isGroup = group === qualifier.join('.') || group.startsWith(`${qualifier.join('.')}.`);
  return isGroup || (first === version && (rest.length === 0 || group === rest.join('.')));
}
