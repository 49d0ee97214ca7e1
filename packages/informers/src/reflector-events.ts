// What a reflector's source is called, and which of its events are taken. Used by reflector.ts. Source: client-go tools/cache/reflector.go (handleAnyWatch).

import type { DeepReadonly, KubernetesObject, Resource } from '@kapstan/api';
import { formatApiVersion, formatGroupResource } from '@kapstan/api/internal';

/** What the objects of a source are. */
export interface ExpectedKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** What is listed, for texts: "pods", "deployments.apps"; "objects" where nobody says. */
export function sourceName(resource: Pick<Resource, 'group' | 'plural'> | undefined): string {
  return resource === undefined ? 'objects' : formatGroupResource({ group: resource.group, resource: resource.plural });
}

/** The option `expected` for a resource; none where it does not say its version and kind. */
export function expectedOf(resource: Partial<Pick<Resource, 'group' | 'version' | 'kind'>> = {}): {
  readonly expected?: ExpectedKind;
} {
  const { group = '', version, kind } = resource;
  if (version === undefined || kind === undefined) return {};
  return { expected: { apiVersion: formatApiVersion({ group, version }), kind } };
}

/**
 * Throws TypeError for what cannot be applied: no metadata, a Table (which a server sends to who asks for rows), or an object
 * that says that it is of another kind. One that does not say what it is, or that is metadata alone, counts as expected.
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
