// Which events of a watch a reflector takes. Used by reflector.ts. Source: client-go tools/cache/reflector.go (handleAnyWatch).
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';

/** What the objects of a source are. */
export interface ExpectedKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/**
 * Throws TypeError for what cannot be applied: no metadata, a Table (which a server sends to who asks for rows), or an object
 * that says that it is of another kind. One that does not say counts as expected.
 */
export function requireUsable(object: DeepReadonly<KubernetesObject>, expected: ExpectedKind | undefined): void {
  const { apiVersion, kind } = object;
  if (kind === 'Table' && (apiVersion === 'meta.k8s.io/v1' || apiVersion === 'meta.k8s.io/v1beta1'))
    throw new TypeError(`unsupported watch event object: ${apiVersion}, Kind=Table`);
  const isOther =
    (kind !== undefined && kind !== expected?.kind) ||
    (apiVersion !== undefined && apiVersion !== expected?.apiVersion);
  if (expected !== undefined && isOther) {
    const text = `${expected.apiVersion}, Kind=${expected.kind}`;
    throw new TypeError(`unexpected watch event object: expected ${text}, got ${apiVersion}, Kind=${kind}`);
  }
  if (object.metadata === undefined)
    throw new TypeError('unable to understand watch event: the object has no metadata');
}
