// Bodies of the writing verbs, and the checks that client-go makes before it sends them.
import { inspect } from 'node:util';
import {
  type ApplyOptions,
  apiVersionOf,
  type DeleteOptions,
  type KubernetesObject,
  type ObjectTarget,
  type Patch,
  type Resource,
  requireObject,
  type SubresourceOptions,
  stringifyJson,
} from '@kapstan/api';
import { checkToken, subjectOf } from './request-path.ts';

/** JSON of an object, with the token's apiVersion and kind where it has none. Throws TypeError where it has others. */
export function objectBody(token: Resource, object: KubernetesObject, subresource?: string): string {
  checkToken(token);
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
  const metadata = metadataOf(object);
  requireObject(options, 'options, such as { fieldManager },');
  if (!options.fieldManager) throw new TypeError('apply needs a fieldManager');
  if (!metadata.name) throw new TypeError('metadata.name must be provided to apply');
  if (metadata.managedFields !== undefined)
    throw new TypeError('cannot apply an object with managed fields already set');
  const { owner, subresource } = options;
  const owned =
    owner === undefined
      ? object
      : { ...object, metadata: { ...metadata, ownerReferences: [...(metadata.ownerReferences ?? []), owner] } };
  return objectBody(token, owned, subresource);
}

const patchTypes: ReadonlyMap<unknown, string> = new Map<Patch['type'], string>([
  ['merge', 'application/merge-patch+json'],
  ['json', 'application/json-patch+json'],
  ['strategic', 'application/strategic-merge-patch+json'],
]);

/** The content type. Throws TypeError for another type, and for options beside the patch: a dry run that is left out writes. */
export function patchType(patch: Patch, beside: readonly unknown[]): string {
  if (beside.some((argument) => argument !== undefined))
    throw new TypeError('patch() takes three arguments: its options, such as dryRun, stand beside type and body');
  requireObject(patch, 'a patch');
  const { type, body } = patch;
  const contentType = patchTypes.get(type);
  if (contentType !== undefined) {
    if (body === undefined) throw new TypeError(`a patch needs a body, beside its type and its options`);
    if (type === 'json' && !Array.isArray(body))
      throw new TypeError(`the body of a JSON patch is a list of operations, not ${inspect(body, { depth: 0 })}`);
    return contentType;
  }
  throw new TypeError(
    `a patch is { type: 'merge' | 'json' | 'strategic', body }, not one of the type ${inspect(type)}`,
  );
}

/** The DeleteOptions that were given; undefined when there are none: the request goes without a body. */
export function deleteBody(options: DeleteOptions): string | undefined {
  requireObject(options, 'options, such as { propagationPolicy },');
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
