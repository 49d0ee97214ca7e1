// Predicates: which changes of an object are worth a reconcile. Given to the builder; all are asked before a key is queued.
// Source: controller-runtime predicate.

import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import { immediate, requireGivenFunction } from '@kapstan/api/internal';
import type { ObjectChange } from '@kapstan/informers';

/**
 * A resync comes as an update from an object to itself. Must be quick. Where it throws or is async, that is logged and the change
 * counts: a needless reconcile is better than a lost one.
 */
export type Predicate<T extends KubernetesObject> = (change: ObjectChange<T>) => boolean;

type Field = (object: DeepReadonly<KubernetesObject>) => unknown;

/** Additions, deletions, and updates that changed this. */
function changed(field: Field): Predicate<KubernetesObject> {
  return (change) =>
    change.type !== 'updated' || JSON.stringify(field(change.oldObject)) !== JSON.stringify(field(change.object));
}

/** Leaves out updates of metadata and status: of kinds whose generation counts changes of the spec, as custom resources with a status do. */
export const generationChanged: Predicate<KubernetesObject> = changed(({ metadata }) => metadata?.generation);
/** Leaves out resyncs. */
export const resourceVersionChanged: Predicate<KubernetesObject> = changed(({ metadata }) => metadata?.resourceVersion);
/** Leaves out updates that keep the labels. */
export const labelsChanged: Predicate<KubernetesObject> = changed(({ metadata }) => metadata?.labels);
/** Leaves out updates that keep the annotations. */
export const annotationsChanged: Predicate<KubernetesObject> = changed(({ metadata }) => metadata?.annotations);

/** Changes that at least one of them lets through; none without any. Throws TypeError for what is no predicate. */
export function anyOf<T extends KubernetesObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  requirePredicates(predicates);
  return (change) => predicates.some((predicate) => accepts(predicate, change));
}

/** Changes that each of them lets through; all without any. Throws TypeError for what is no predicate. */
export function allOf<T extends KubernetesObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  requirePredicates(predicates);
  return (change) => predicates.every((predicate) => accepts(predicate, change));
}

/** Changes that it does not let through. Throws TypeError for what is no predicate. */
export function notPredicate<T extends KubernetesObject>(predicate: Predicate<T>): Predicate<T> {
  requirePredicates([predicate]);
  return (change) => !accepts(predicate, change);
}

/** What a predicate says. Throws what it throws, and TypeError for a promise, which would let everything through. */
export function accepts<T extends KubernetesObject>(predicate: Predicate<T>, change: ObjectChange<T>): boolean {
  return immediate(predicate(change), 'the answer of a predicate');
}

function requirePredicates(predicates: readonly unknown[]): void {
  for (const predicate of predicates) requireGivenFunction(predicate, 'a predicate');
}
