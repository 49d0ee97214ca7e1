// ApiEnablement decides which built-in resources are served: all of stable versions, unless --runtime-config says
// otherwise. Source: apiserver server/options/api_enablement.go, server/resourceconfig/helpers.go and
// server/storage/resource_config.go.
import { type GroupVersionResource, parseApiVersion } from '@kapstan/api/internal';
import { discoveryFacts } from '@kapstan/kinds/facts';

/**
 * --runtime-config as a map, from "apps/v1", "apps/v1/deployments", "api/beta" … to "true", "false" or, for versions
 * and resources, "" for true.
 */
export type RuntimeConfig = ReadonlyMap<string, string>;

/** Missing from the facts, because no current Kubernetes has it. Served for old clients that roll deployments back. */
const historic = 'extensions/v1beta1/deployments';

/**
 * Versions of Kubernetes that serve nothing by default and that the facts therefore lack. They are not built: kinds such as
 * PodCertificateRequest and ClusterTrustBundle. Source: controlplane/instance.go (DisabledByDefault), 1.36.
 */
const unbuiltVersions = [
  'admissionregistration.k8s.io/v1alpha1',
  'authentication.k8s.io/v1alpha1',
  'authentication.k8s.io/v1beta1',
  'certificates.k8s.io/v1alpha1',
  'certificates.k8s.io/v1beta1',
  'coordination.k8s.io/v1alpha2',
  'flowcontrol.apiserver.k8s.io/v1beta1',
  'flowcontrol.apiserver.k8s.io/v1beta2',
  'flowcontrol.apiserver.k8s.io/v1beta3',
  'internal.apiserver.k8s.io/v1alpha1',
  'resource.k8s.io/v1alpha3',
  'scheduling.k8s.io/v1alpha2',
  'storage.k8s.io/v1alpha1',
  'storagemigration.k8s.io/v1beta1',
] as const;

/** Versions that each general key of --runtime-config turns on or off. The keys apply in this order; later keys win. */
const patterns: ReadonlyMap<string, RegExp> = new Map([
  ['api/all', /^/],
  ['api/ga', /^v\d+$/],
  ['api/beta', /^v\d+beta\d+$/],
  ['api/alpha', /^v\d+alpha\d+$/],
]);

/** Knows for each built-in resource whether it is served. */
export class ApiEnablement {
  readonly #versions = new Map<string, boolean>();
  readonly #resources = new Map<string, boolean>();

  /** Throws TypeError with kube-apiserver's text when the config is invalid. */
  constructor(config: RuntimeConfig = new Map()) {
    const { versions } = knownApis();
    const given = completed(config);
    refuse(validationError(given, versions));
    for (const version of versions.keys()) this.#versions.set(version, isStable(version));
    for (const [pattern, versionPattern] of patterns) this.#applyPattern(given.get(pattern), pattern, versionPattern);
    const explicit = [...given].filter(([key]) => !patterns.has(key));
    const preferences = explicit.map(([key, value]) => ({ key, isOn: preferenceOf(key, value, versions) }));
    for (const { key, isOn } of preferences) {
      const isResource = key.split('/').length === 3;
      (isResource ? this.#resources : this.#versions).set(key, isOn);
    }
  }

  /** The setting of a resource overrides the setting of its version. */
  isServed({ group, version, resource }: GroupVersionResource): boolean {
    const groupVersion = `${group}/${version}`;
    return this.#resources.get(`${groupVersion}/${resource}`) ?? this.#versions.get(groupVersion) === true;
  }

  #applyPattern(value: string | undefined, pattern: string, versions: RegExp): void {
    if (value === undefined) return;
    if (value !== 'true' && value !== 'false') throw new TypeError(`invalid value ${pattern}=${value}`);
    for (const groupVersion of this.#versions.keys()) {
      if (versions.test(versionOf(groupVersion))) this.#versions.set(groupVersion, value === 'true');
    }
  }
}

/** Returns warnings about settings that change nothing, because this server has no such resource. */
export function idleRuntimeConfig(config: RuntimeConfig): readonly string[] {
  if (config.size === 0) return [];
  const { versions, resources } = knownApis();
  const unbuilt = [...versions].filter(([, isBuilt]) => !isBuilt).map(([version]) => version);
  return [...completed(config)].flatMap(([key, value]) => {
    const pattern = patterns.get(key);
    if (pattern === undefined) {
      const isUnknown = key.split('/').length === 3 && !resources.has(key);
      return isUnknown ? [`"${key}" is not a built-in resource`] : [];
    }
    const off = value === 'true' ? unbuilt.filter((version) => pattern.test(versionOf(version))) : [];
    return off.length === 0
      ? []
      : [`${key}=true has no effect on resources that this server does not have: ${off.join(', ')}`];
  });
}

/** The state of each "group/version", true if built here, and all "group/version/resource" that are built. */
interface KnownApis {
  readonly versions: ReadonlyMap<string, boolean>;
  readonly resources: ReadonlySet<string>;
}

function knownApis(): KnownApis {
  const versions = new Map<string, boolean>();
  const resources = new Set<string>();
  const add = (id: string, isBuilt: boolean): void => {
    const cut = id.lastIndexOf('/');
    const { group, version } = parseApiVersion(id.slice(0, cut));
    const groupVersion = `${group}/${version}`;
    versions.set(groupVersion, isBuilt || versions.get(groupVersion) === true);
    if (isBuilt) resources.add(`${groupVersion}/${id.slice(cut + 1)}`);
  };
  for (const [id, facts] of Object.entries(discoveryFacts().resources)) add(id, facts.optIn !== true);
  add(historic, true);
  for (const version of unbuiltVersions) versions.set(version, versions.get(version) === true);
  return { versions, resources };
}

/**
 * Translates old names of the core group's version; "api/legacy" has no meaning any more. Source: controlplane options
 * Complete.
 */
function completed(config: RuntimeConfig): Map<string, string> {
  const given = new Map<string, string>();
  for (const [key, value] of config) {
    if (key === 'v1' || key === 'api/v1') given.set('/v1', value);
    else if (key !== 'api/legacy') given.set(key, value);
  }
  return given;
}

function validationError(config: ReadonlyMap<string, string>, versions: ReadonlyMap<string, boolean>): string {
  if (config.size === 1 && config.get('api/all') === 'false') return 'invalid runtime-config with only api/all=false';
  const groups = new Set([...versions.keys()].map(groupOf));
  const unknown = new Set<string>();
  for (const key of config.keys()) {
    if (patterns.has(key)) continue;
    const parts = key.split('/').length;
    if (parts !== 2 && parts !== 3) return `runtime-config invalid key ${key}`;
    if (!groups.has(groupOf(key))) unknown.add(shown(key));
  }
  return unknown.size === 0 ? '' : `unknown api groups ${[...unknown].sort().join(',')}`;
}

/** Throws for a version that is unknown or not built, for an invalid value, and for a kind in place of a resource. */
function preferenceOf(key: string, value: string, versions: ReadonlyMap<string, boolean>): boolean {
  const [group = '', version = '', resource] = key.split('/');
  const isBuilt = versions.get(`${group}/${version}`);
  if (isBuilt === undefined) throw new TypeError(`group version ${shown(key)} that has not been registered`);
  const isOn = value === '' || parseBoolean(key, value);
  if (resource !== undefined && resource.toLowerCase() !== resource) {
    const rule = 'group/version/resource and resource is always lowercase plural, not';
    throw new TypeError(`invalid key ${key}: ${rule} ${JSON.stringify(resource)}`);
  }
  if (isOn && !isBuilt) throw new TypeError(`group version ${shown(key)} is not supported by this version of kapstan`);
  return isOn;
}

function parseBoolean(key: string, text: string): boolean {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true;
  if (['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text)) return false;
  const reason = `strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`;
  throw new TypeError(`invalid value of ${key}: ${text}, err: ${reason}`);
}

/** Returns "apps/v1", or "v1" for the core group. */
function shown(key: string): string {
  const [group = '', version = ''] = key.split('/');
  return group === '' ? version : `${group}/${version}`;
}

function isStable(groupVersion: string): boolean {
  return patterns.get('api/ga')?.test(versionOf(groupVersion)) === true;
}

function groupOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}

function versionOf(groupVersion: string): string {
  return groupVersion.slice(groupVersion.indexOf('/') + 1);
}

function refuse(error: string): void {
  if (error !== '') throw new TypeError(error);
}
