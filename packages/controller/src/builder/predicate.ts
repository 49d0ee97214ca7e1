// Predicates decide which changes of an object cause a reconcile. They are given to the builder; all are asked before a
// key is queued. Source: controller-runtime predicate.

import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import { immediate, requireGivenFunction } from '@kapstan/api/internal';
import type { ObjectChange } from '@kapstan/informers';

/**
 * Returns whether a change counts. A resync is an update from an object to itself. A predicate must be quick. If it
 * throws or is async, that is logged and the change counts, because a needless reconcile is better than a lost one.
 */
export type Predicate<T extends KubernetesObject> = (change: ObjectChange<T>) => boolean;

type Field = (object: DeepReadonly<KubernetesObject>) => unknown;

/** Accepts additions, deletions, and updates that changed this field. */
function changed(field: Field): Predicate<KubernetesObject> {
  return (change) =>
    change.type !== 'updated' || JSON.stringify(field(change.oldObject)) !== JSON.stringify(field(change.object));
}

/**
 * Ignores updates of metadata and status, for kinds whose generation counts changes of the spec, such as custom
 * resources with a status.
 */
export const generationChanged: Predicate<KubernetesObject> = changed(({ metadata }) => metadata?.generation);
/** Ignores resyncs. */
export const resourceVersionChanged: Predicate<KubernetesObject> = changed(({ metadata }) => metadata?.resourceVersion);
/** Ignores updates that keep the labels. */
export const labelsChanged: Predicate<KubernetesObject> = changed(({ metadata }) => metadata?.labels);
/** Ignores updates that keep the annotations. */
export const annotationsChanged: Predicate<KubernetesObject> = changed(({ metadata }) => metadata?.annotations);

/**
 * Accepts changes that at least one predicate accepts; none if the list is empty. Throws TypeError unless given
 * predicates.
 *
 * @example
 * ```ts
 * import { annotationsChanged, anyOf, controller, generationChanged, labelsChanged } from '@kapstan/controller';
 * import { Deployment } from '@kapstan/kinds/apps/v1';
 *
 * export const labelled = controller(Deployment)
 *   .when(anyOf(generationChanged, labelsChanged, annotationsChanged))
 *   .reconcile(async ({ metadata }) => console.log(metadata.name, metadata.labels));
 * ```
 */
export function anyOf<T extends KubernetesObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  requirePredicates(predicates);
  return (change) => predicates.some((predicate) => accepts(predicate, change));
}

/** Accepts changes that each predicate accepts; all if the list is empty. Throws TypeError unless given predicates. */
export function allOf<T extends KubernetesObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  requirePredicates(predicates);
  return (change) => predicates.every((predicate) => accepts(predicate, change));
}

/**
 * Accepts the changes that the predicate rejects. Throws TypeError unless given a predicate.
 *
 * @example
 * ```ts
 * import { allOf, controller, generationChanged, notPredicate, type Predicate } from '@kapstan/controller';
 * import { Deployment } from '@kapstan/kinds/apps/v1';
 *
 * const isPaused: Predicate<Deployment> = ({ object }) => object?.spec?.paused === true;
 * export const running = controller(Deployment)
 *   .when(allOf(generationChanged, notPredicate(isPaused)))
 *   .reconcile(async ({ metadata }) => console.log(metadata.name));
 * ```
 */
export function notPredicate<T extends KubernetesObject>(predicate: Predicate<T>): Predicate<T> {
  requirePredicates([predicate]);
  return (change) => !accepts(predicate, change);
}

/**
 * Returns the predicate's answer. Rethrows its errors, and throws TypeError for a promise, which would accept
 * everything.
 */
export function accepts<T extends KubernetesObject>(predicate: Predicate<T>, change: ObjectChange<T>): boolean {
  return immediate(predicate(change), 'the answer of a predicate');
}

function requirePredicates(predicates: readonly unknown[]): void {
  for (const predicate of predicates) requireGivenFunction(predicate, 'a predicate');
}
