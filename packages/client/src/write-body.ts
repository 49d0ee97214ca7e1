// Builds the bodies of the writing verbs.
import {
  type ApplyOptions,
  apiVersionOf,
  type DeleteOptions,
  type KubernetesObject,
  type ObjectTarget,
  type Patch,
  type Resource,
  type SubresourceOptions,
  stringifyJson,
} from '@kapstan/api';

/** Returns the JSON of an object, with the resource's apiVersion and kind where they are missing. */
export function objectBody(resource: Resource, object: KubernetesObject, subresource?: string): string {
  return stringifyJson(typed(resource, object, subresource));
}

export function metadataOf(object: KubernetesObject): NonNullable<KubernetesObject['metadata']> {
  return object.metadata ?? {};
}

/** Returns the target of a write, given the object. */
export function writeTarget(object: KubernetesObject): ObjectTarget {
  const { name = '', namespace } = metadataOf(object);
  return namespace === undefined ? { name } : { name, namespace };
}

export function applyBody(
  resource: Resource,
  object: KubernetesObject,
  options: ApplyOptions & SubresourceOptions,
): string {
  const metadata = metadataOf(object);
  const { owner, subresource } = options;
  const owned =
    owner === undefined
      ? object
      : { ...object, metadata: { ...metadata, ownerReferences: [...(metadata.ownerReferences ?? []), owner] } };
  return objectBody(resource, owned, subresource);
}

const patchTypes: Readonly<Record<Patch['type'], string>> = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
};

/** Returns the content type of a patch. */
export function patchType(patch: Patch): string {
  return patchTypes[patch.type];
}

/** Returns the given DeleteOptions; undefined when none are given, so that the request has no body. */
export function deleteBody(options: DeleteOptions): string | undefined {
  const { gracePeriodSeconds, preconditions, propagationPolicy, dryRun } = options;
  const chosen = { gracePeriodSeconds, preconditions, propagationPolicy, ...(dryRun ? { dryRun: ['All'] } : {}) };
  if (Object.values(chosen).every((value) => value === undefined)) return undefined;
  return stringifyJson({ kind: 'DeleteOptions', apiVersion: 'v1', ...chosen });
}

// The body of scale and similar subresources is another kind, which the caller sets.
function typed(resource: Resource, object: KubernetesObject, subresource: string | undefined): KubernetesObject {
  const isOwnKind = subresource === undefined || subresource === 'status' || subresource === 'finalize';
  if (!isOwnKind) return object;
  const { apiVersion, kind, ...rest } = object;
  return { apiVersion: apiVersion || apiVersionOf(resource), kind: kind || resource.kind, ...rest };
}
