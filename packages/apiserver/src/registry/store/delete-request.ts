// Validates a delete's options and applies them to the garbage collector's finalizers. Source: apiserver
// registry/generic/registry/store.go (deletionFinalizersForGarbageCollection).
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import { type FieldError, invalid, invalidField, notSupportedField } from '@kapstan/api/errors';
import type { DeleteRequest } from '../definition/resource-store.ts';
import type { ResourceStrategy } from '../definition/strategy.ts';
import { validateDryRun } from '../definition/write-options.ts';
import { foregroundFinalizer, orphanFinalizer } from '../meta/object-meta-validation.ts';

const policies: readonly string[] = ['Foreground', 'Background', 'Orphan'];

/**
 * Throws 422 of kind DeleteOptions.meta.k8s.io. `dryRun`: the requested values, unless they have been checked already.
 * Source: metav1/validation.ValidateDeleteOptions.
 */
export function requireValidDeleteRequest(request: DeleteRequest, dryRun: readonly string[] = []): void {
  const errors: FieldError[] = [];
  const { propagationPolicy: policy, orphanDependents } = request;
  if (policy !== undefined && orphanDependents !== undefined) {
    const text = 'orphanDependents and deletionPropagation cannot be both set';
    errors.push(invalidField('propagationPolicy', policy, text));
  }
  if (policy !== undefined && !policies.includes(policy)) {
    errors.push(notSupportedField('propagationPolicy', policy, [...policies, 'nil']));
  }
  errors.push(...validateDryRun(dryRun), ...unsafeDeletionErrors(request));
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', errors);
}

/**
 * An unsafe deletion skips everything, so other options make no sense with it. Source: ValidateIgnoreStoreReadError.
 */
function unsafeDeletionErrors(request: DeleteRequest): FieldError[] {
  if (request.ignoreStoreReadErrorWithClusterBreakingPotential !== true) return [];
  const path = 'ignoreStoreReadErrorWithClusterBreakingPotential';
  const asked: readonly (readonly [string, boolean])[] = [
    ['gracePeriodSeconds', request.gracePeriodSeconds !== undefined],
    ['propagationPolicy', request.propagationPolicy !== undefined],
    ['orphanDependents', request.orphanDependents !== undefined],
    ['preconditions', request.preconditions !== undefined],
  ];
  return asked
    .filter(([, isSet]) => isSet)
    .map(([field]) => invalidField(path, true, `cannot be set together with .${field}`));
}

/**
 * Returns the finalizers that the object must have: its own ones except the collector's two, plus the requested one.
 * Returns the same array when nothing changes. Source: registry.deletionFinalizersForGarbageCollection.
 */
export function finalizersForDeletion<T extends KubernetesObject>(
  object: DeepReadonly<T>,
  request: DeleteRequest,
  policy: ResourceStrategy<T>['defaultGarbageCollection'],
): readonly string[] {
  const present = object.metadata?.finalizers ?? [];
  const wanted = collectorFinalizer(present, request, policy ?? 'Background');
  const others = present.filter((name) => name !== orphanFinalizer && name !== foregroundFinalizer);
  const next = wanted === undefined ? others : [...others, wanted];
  const isSame = next.length === present.length && next.every((name) => present.includes(name));
  return isSame ? present : next;
}

/** The request decides first, then the object's own finalizer, then the kind's default. */
function collectorFinalizer(
  present: readonly string[],
  request: DeleteRequest,
  policy: 'Background' | 'Orphan' | 'Unsupported',
): string | undefined {
  if (policy === 'Unsupported') return undefined;
  if (request.orphanDependents !== undefined) return request.orphanDependents ? orphanFinalizer : undefined;
  switch (request.propagationPolicy) {
    case 'Orphan':
      return orphanFinalizer;
    case 'Foreground':
      return foregroundFinalizer;
    case 'Background':
      return undefined;
    case undefined: {
      const own = present.find((name) => name === orphanFinalizer || name === foregroundFinalizer);
      return own ?? (policy === 'Orphan' ? orphanFinalizer : undefined);
    }
  }
}
