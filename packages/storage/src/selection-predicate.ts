// SelectionPredicate describes the objects that a list or watch selects. It is parsed once at the edge and passed down.
// Source: apiserver storage/selection_predicate.go.
import type { DeepReadonly, FieldSelector, KubernetesObject, LabelSelector } from '@kapstan/api';

/** The labels and fields of an object, as selectors see them. */
export interface Attributes {
  readonly labels: Readonly<Record<string, string>>;
  /** Field name → value, named as in a field selector: "metadata.name", "spec.nodeName". */
  readonly fields: Readonly<Record<string, string>>;
}

/** Returns the labels and fields by which an object can be selected. */
export type GetAttributes<T extends KubernetesObject> = (object: DeepReadonly<T>) => Attributes;

/** Selects objects for a list or a watch, by labels and fields. */
export interface SelectionPredicate<T extends KubernetesObject> {
  readonly labels: LabelSelector;
  readonly fields: FieldSelector;
  readonly getAttributes: GetAttributes<T>;
  /** Page size. 0 = no limit. */
  readonly limit: number;
  /** Continue token. "" = from the start. */
  readonly continue: string;
  readonly allowWatchBookmarks: boolean;
}

/** Returns true when nothing is filtered out. */
export function isEverything<T extends KubernetesObject>(predicate: SelectionPredicate<T>): boolean {
  return predicate.labels.isEmpty && predicate.fields.isEmpty;
}

/** True when the predicate selects the object. */
export function matches<T extends KubernetesObject>(
  predicate: SelectionPredicate<T>,
  object: DeepReadonly<T>,
): boolean {
  if (isEverything(predicate)) return true;
  const attributes = predicate.getAttributes(object);
  return matchesAttributes(predicate, attributes);
}

/** True when the predicate selects an object of these labels and fields. */
export function matchesAttributes<T extends KubernetesObject>(
  predicate: SelectionPredicate<T>,
  attributes: Attributes,
): boolean {
  return predicate.labels.matches(attributes.labels) && predicate.fields.matches(attributes.fields);
}

/**
 * Returns the only name that an exact `metadata.name` requirement allows. Undefined without one, and on a later page.
 */
export function matchesSingleName<T extends KubernetesObject>(predicate: SelectionPredicate<T>): string | undefined {
  return predicate.continue === '' ? predicate.fields.exactValue('metadata.name') : undefined;
}

/** Returns labels and metadata fields, by which every kind can be selected. */
export function defaultAttributes(namespaced: boolean): GetAttributes<KubernetesObject> {
  return (object) => {
    const meta = object.metadata;
    const name = meta?.name ?? '';
    return {
      labels: meta?.labels ?? {},
      fields: namespaced
        ? { 'metadata.name': name, 'metadata.namespace': meta?.namespace ?? '' }
        : { 'metadata.name': name },
    };
  };
}
