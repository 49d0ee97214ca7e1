// Names of groups, versions, kinds and resources, and the texts that Kubernetes makes from them.

export interface GroupVersion {
  /** "" is the core group. */
  readonly group: string;
  readonly version: string;
}
export interface GroupVersionKind extends GroupVersion {
  readonly kind: string;
}
export interface GroupVersionResource extends GroupVersion {
  /** Plural, lower case: "deployments". */
  readonly resource: string;
}
/** A resource by group and plural, without a version: `{ group: 'apps', resource: 'deployments' }`. */
export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}
export interface GroupKind {
  readonly group: string;
  readonly kind: string;
}

/** Returns "apps/v1", or "v1" for the core group. */
export function formatApiVersion({ group, version }: GroupVersion): string {
  return group === '' ? version : `${group}/${version}`;
}

/** Parses "apps/v1" or "v1". Throws TypeError with Kubernetes' text on more than one slash. */
export function parseApiVersion(apiVersion: string): GroupVersion {
  const parts = apiVersion.split('/');
  if (parts.length === 1) return { group: '', version: apiVersion };
  if (parts.length === 2) return { group: parts[0] ?? '', version: parts[1] ?? '' };
  throw new TypeError(`unexpected GroupVersion string: ${apiVersion}`);
}

/** Returns "deployments.apps", or "pods" for the core group, as error messages name it. */
export function formatGroupResource({ group, resource }: GroupResource): string {
  return group === '' ? resource : `${resource}.${group}`;
}

/** Returns "Deployment.apps", or "Pod" for the core group. */
export function formatGroupKind({ group, kind }: GroupKind): string {
  return group === '' ? kind : `${kind}.${group}`;
}
