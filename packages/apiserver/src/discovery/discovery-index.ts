// DiscoveryIndex shows the catalog as groups, versions and resources, built once per generation. Read by documents.ts
// and http/paths/aggregated-discovery.ts. Groups are ordered by priority, then name, resources by name, as in
// kube-apiserver.
import type { ApiRegistrations } from '../aggregation/api-registrations.ts';
import type { RemoteDiscovery } from '../aggregation/remote-discovery.ts';
import type { ResourceCatalog } from '../registry/definition/catalog.ts';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';
import { DiscoveryPriorities } from './discovery-priorities.ts';

export interface VersionEntry {
  readonly version: string;
  /** The resources by name. */
  readonly resources: readonly ResourceDefinition[];
  /** The resources that another API server reports, where that server serves the version. */
  readonly remote: RemoteDiscovery | undefined;
}

export interface GroupEntry {
  readonly group: string;
  /** True when all its resources are custom. */
  readonly isCustom: boolean;
  /** The versions, the preferred one first. Never empty. */
  readonly versions: readonly VersionEntry[];
}

export interface DiscoverySnapshot {
  /** Identifies the states of the catalog and the registrations that the index shows. */
  readonly generation: string;
  /** The groups in the order served; the core group is "". */
  readonly groups: ReadonlyMap<string, GroupEntry>;
  /** Returns the paths of these groups for the index. */
  paths(): readonly string[];
}

type Definitions = ReadonlyMap<string, readonly ResourceDefinition[]>;

export class DiscoveryIndex {
  readonly #catalog: ResourceCatalog;
  readonly #registrations: ApiRegistrations | undefined;
  #snapshot: DiscoverySnapshot | undefined;

  /** `registrations`: group versions of other API servers, and priorities. Default: the catalog is all there is. */
  constructor(catalog: ResourceCatalog, registrations?: ApiRegistrations) {
    this.#catalog = catalog;
    this.#registrations = registrations;
  }

  /** Returns the present snapshot; it is the same object until the catalog or the registrations change. */
  current(): DiscoverySnapshot {
    const generation = `${this.#catalog.generation} ${this.#registrations?.generation}`;
    if (this.#snapshot?.generation !== generation) this.#snapshot = this.#build(generation);
    return this.#snapshot;
  }

  #build(generation: string): DiscoverySnapshot {
    const byGroup = new Map<string, Map<string, ResourceDefinition[]>>();
    const versionsOf = (group: string): Map<string, ResourceDefinition[]> =>
      getOrAdd(byGroup, group, () => new Map<string, ResourceDefinition[]>());
    for (const { definition } of this.#catalog.all()) {
      getOrAdd(versionsOf(definition.group), definition.version, () => []).push(definition);
    }
    for (const { group, version, remote } of this.#registrations?.all ?? []) {
      if (remote !== undefined) getOrAdd(versionsOf(group), version, () => []);
    }
    const priorities = new DiscoveryPriorities(this.#registrations?.all ?? []);
    const places = new Map(
      [...byGroup].map(([group, versions]) => [group, placeOf([...versions.values()].flat(), 'group')]),
    );
    const ofGroup = (group: string): number =>
      priorities.ofGroup(group, [...(byGroup.get(group)?.values() ?? [])].flat());
    const names = [...byGroup.keys()].sort(
      (a, b) => ofGroup(b) - ofGroup(a) || rank(places, a) - rank(places, b) || compare(a, b),
    );
    const entries = names.map((name) => this.#groupEntry(name, byGroup.get(name) ?? new Map(), priorities));
    const groups = new Map(entries.map((entry) => [entry.group, entry]));
    return { generation, groups, paths: () => pathsOf(groups) };
  }

  #groupEntry(group: string, versions: Definitions, priorities: DiscoveryPriorities): GroupEntry {
    const places = new Map([...versions].map(([version, definitions]) => [version, placeOf(definitions, 'version')]));
    const of = (version: string): number => priorities.ofVersion(group, version, versions.get(version) ?? []);
    const names = [...versions.keys()].sort(
      (a, b) => of(b) - of(a) || rank(places, a) - rank(places, b) || compareVersions(a, b),
    );
    const all = [...versions.values()].flat();
    return {
      group,
      isCustom: all.every((definition) => definition.isCustom === true),
      versions: names.map((version) => ({
        version,
        resources: [...(versions.get(version) ?? [])].sort((a, b) => compare(a.resource, b.resource)),
        remote: this.#remoteOf(group, version),
      })),
    };
  }

  /** Until a server has been asked, its version is shown without resources. */
  #remoteOf(group: string, version: string): RemoteDiscovery | undefined {
    const name = `${version}.${group}`;
    if (this.#registrations?.serverOf(name) === undefined) return undefined;
    return this.#registrations.discoveryOf(name) ?? { resources: [], isCurrent: false };
  }
}

function pathsOf(groups: ReadonlyMap<string, GroupEntry>): readonly string[] {
  const paths = ['/api', '/apis', '/openapi/v3'];
  for (const { group, versions } of groups.values()) {
    const root = group === '' ? '/api' : `/apis/${group}`;
    if (group !== '') paths.push(root);
    for (const { version } of versions) paths.push(`${root}/${version}`);
  }
  return paths;
}

/**
 * Orders v2 before v1 before v1beta2 before v1alpha1 before other names. Source:
 * version.CompareKubeAwareVersionStrings.
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parseVersion(a), parseVersion(b)];
  if (left === undefined || right === undefined) {
    if (left === right) return compare(a, b);
    return left === undefined ? 1 : -1;
  }
  return right.stage - left.stage || right.major - left.major || right.minor - left.minor;
}

function parseVersion(text: string): { stage: number; major: number; minor: number } | undefined {
  const match = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/.exec(text);
  if (match === null) return undefined;
  const stage = match[2] === undefined ? 2 : match[2] === 'beta' ? 1 : 0;
  return { stage, major: Number(match[1]), minor: Number(match[3] ?? 0) };
}

/** A place after every place that a definition can name. */
const lastPlace = Number.MAX_SAFE_INTEGER;

/** Returns the first place that one of the definitions names. */
function placeOf(definitions: readonly ResourceDefinition[], of: 'group' | 'version'): number {
  return Math.min(...definitions.map(({ discoveryPlace }) => discoveryPlace?.[of] ?? lastPlace));
}

function rank(places: ReadonlyMap<string, number>, name: string): number {
  return places.get(name) ?? lastPlace;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
