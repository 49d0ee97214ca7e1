// From kinds and short names, as users and manifests write them, to resources. Over discovery.
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
 * Finds resources by kind or by the words of a command line. A miss in a catalog that was there before is looked up once more
 * in a new one. One is at each client: `client.mapper`.
 */
export class RestMapper {
  readonly #discovery: Discovery;

  constructor(discovery: Discovery) {
    this.#discovery = discovery;
  }

  /**
   * The resource of a kind: `forKind('apps/v1', 'Deployment')`. Rejects with TypeError when the server has none, after
   * having asked it anew once.
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
   * The resource meant by a word of a command line: plural, singular, short name or kind, in any case, with the group
   * ("deploy.apps") or version and group ("deployments.v1.apps") behind it. Names beat short names; among equals the
   * core group, then the server's order, then the preferred version win. Rejects with TypeError when nothing matches.
   */
  async forName(word: string, options: DiscoveryCallOptions = {}): Promise<Resource> {
    const text = word.toLowerCase();
    const found = await this.#find((catalog) => search(ordered(catalog), text), options);
    if (found === undefined) throw new TypeError(`the server doesn't have a resource type ${JSON.stringify(word)}`);
    return resourceOf(found);
  }

  /** The resources of a category, "all" for example. */
  async forCategory(category: string, options: DiscoveryCallOptions = {}): Promise<readonly Resource[]> {
    const catalog = await this.#discovery.catalog(options);
    const seen = new Set<string>();
    return ordered(catalog)
      .filter((entry) => entry.categories.includes(category))
      .filter(({ group, resource }) => !seen.has(`${resource}.${group}`) && seen.add(`${resource}.${group}`))
      .map(resourceOf);
  }

  // A miss may be a custom resource that is newer than the catalog, unless the catalog was read for this very question.
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

/** Group by group, within a group the preferred version first. */
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
