// Names a reflector's source and checks whether its events are usable. Used by reflector-driver.ts. Source: client-go tools/cache/reflector.go
// (handleAnyWatch).
import type { DeepReadonly, KubernetesObject, Resource } from '@kapstan/api';
import { formatApiVersion, formatGroupResource } from '@kapstan/api/internal';

/** The kind of a source's objects. */
export interface ExpectedKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Returns the name of the listed objects, for texts: "pods", "deployments.apps"; "objects" when unknown. */
export function sourceName(resource: Pick<Resource, 'group' | 'plural'> | undefined): string {
  return resource === undefined ? 'objects' : formatGroupResource({ group: resource.group, resource: resource.plural });
}

/** Returns the option `expected` for a resource; empty when its version or kind is unknown. */
export function expectedOf(resource: Partial<Pick<Resource, 'group' | 'version' | 'kind'>> = {}): {
  readonly expected?: ExpectedKind;
} {
  const { group = '', version, kind } = resource;
  if (version === undefined || kind === undefined) return {};
  return { expected: { apiVersion: formatApiVersion({ group, version }), kind } };
}

/**
 * Throws TypeError for an object that cannot be applied: one without metadata, a Table (sent to clients that request rows), or one that
 * states another kind. An object that states no kind, or is metadata alone, counts as expected.
 */
export function requireUsable(object: DeepReadonly<KubernetesObject>, expected: ExpectedKind | undefined): void {
  const { apiVersion = expected?.apiVersion, kind = expected?.kind } = object;
  const isMeta = apiVersion === 'meta.k8s.io/v1' || apiVersion === 'meta.k8s.io/v1beta1';
  if (isMeta && kind === 'Table') throw new TypeError(`unsupported watch event object: ${apiVersion}, Kind=Table`);
  const isExpected = expected === undefined || (apiVersion === expected.apiVersion && kind === expected.kind);
  if (!isExpected && !(isMeta && kind === 'PartialObjectMetadata')) {
    const text = `${expected.apiVersion}, Kind=${expected.kind}`;
    throw new TypeError(`unexpected watch event object: expected ${text}, got ${apiVersion}, Kind=${kind}`);
  }
  if (object.metadata === undefined)
    throw new TypeError('unable to understand watch event: the object has no metadata');
}
