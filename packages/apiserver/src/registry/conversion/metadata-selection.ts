// Selects by names and namespaces, which no conversion changes, in the storage below. Labels and other fields may
// differ between versions, so they are compared after the conversion. Used by lists and watches.
import { everyField, everyLabel, type UnstructuredObject } from '@kapstan/api';
import type { SelectionPredicate } from '@kapstan/storage';

const sameInAllVersions: ReadonlySet<string> = new Set(['metadata.name', 'metadata.namespace']);

/** True when objects can be selected before they are converted. */
export function selectsByMetadata({ labels, fields }: SelectionPredicate<UnstructuredObject>): boolean {
  return labels.isEmpty && fields.requirements.every(({ field }) => sameInAllVersions.has(field));
}

/** Returns options for the same page of all objects. */
export function withoutSelectors(
  predicate: SelectionPredicate<UnstructuredObject>,
): SelectionPredicate<UnstructuredObject> {
  return { ...predicate, labels: everyLabel, fields: everyField };
}
