// Bodies of the writing verbs, and the checks that client-go makes before it sends them.
import {
  type ApplyOptions,
  apiVersionOf,
  callChecks,
  type DeleteOptions,
  type KubernetesObject,
  type ObjectTarget,
  type Patch,
  type Resource,
  requireCallOptions,
  requireObject,
  requirePatch,
  requireResource,
  type SubresourceOptions,
  stringifyJson,
} from '@kapstan/api';
import { subjectOf } from './request-path.ts';

/** JSON of an object, with the token's apiVersion and kind where it has none. Throws TypeError where it has others. */
export function objectBody(token: Resource, object: KubernetesObject, subresource?: string): string {
  requireResource(token, 'a call');
  return stringifyJson(typed(token, object, subresource));
}

/** Throws TypeError for what is no object. */
export function metadataOf(object: KubernetesObject): NonNullable<KubernetesObject['metadata']> {
  requireObject(object, 'what is written');
  return object.metadata ?? {};
}

/** Where an object is written. Throws TypeError when it has no name. */
export function writeTarget(object: KubernetesObject): ObjectTarget {
  const { name, namespace } = metadataOf(object);
  if (!name) throw new TypeError('name is required');
  return namespace === undefined ? { name } : { name, namespace };
}

export function applyBody(
  token: Resource,
  object: KubernetesObject,
  options: ApplyOptions & SubresourceOptions,
): string {
  callChecks.apply(token, object, options);
  const metadata = metadataOf(object);
  const { owner, subresource } = options;
  const owned =
    owner === undefined
      ? object
      : { ...object, metadata: { ...metadata, ownerReferences: [...(metadata.ownerReferences ?? []), owner] } };
  return objectBody(token, owned, subresource);
}

const patchTypes: Readonly<Record<Patch['type'], string>> = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
};

/** The content type. Throws TypeError for what is no patch, and for options beside it: a dry run that is left out writes. */
export function patchType(patch: Patch, beside: readonly unknown[]): string {
  requirePatch(patch, beside);
  return patchTypes[patch.type];
}

/** The DeleteOptions that were given; undefined when there are none: the request goes without a body. */
export function deleteBody(options: DeleteOptions): string | undefined {
  requireObject(options, 'options, such as { propagationPolicy },');
  requireCallOptions('deleteCollection', options, 'delete or deleteCollection');
  const { gracePeriodSeconds, preconditions, propagationPolicy, dryRun } = options;
  const chosen = { gracePeriodSeconds, preconditions, propagationPolicy, ...(dryRun ? { dryRun: ['All'] } : {}) };
  if (Object.values(chosen).every((value) => value === undefined)) return undefined;
  return stringifyJson({ kind: 'DeleteOptions', apiVersion: 'v1', ...chosen });
}

// The body of scale and its like is another kind, which its sender knows.
function typed(token: Resource, object: KubernetesObject, subresource: string | undefined): KubernetesObject {
  const isOwnKind = subresource === undefined || subresource === 'status' || subresource === 'finalize';
  if (!isOwnKind) return object;
  const { apiVersion: givenVersion, kind: givenKind, ...rest } = object;
  const apiVersion = givenVersion || apiVersionOf(token);
  const kind = givenKind || token.kind;
  if (kind !== token.kind || apiVersion !== apiVersionOf(token))
    throw new TypeError(`${subjectOf(token, object.metadata?.name)}: the object is a ${kind} of ${apiVersion}`);
  return { apiVersion, kind, ...rest };
}
