// Formats that the printers of several kinds share: selectors, containers, lists. Source: pkg/printers/internalversion.
import { type DeepReadonly, type KubernetesObject, labelSelectorFrom } from '@kapstan/api';
import type { LabelSelector } from '@kapstan/kinds';
import type { Container, PodSpec } from '@kapstan/kinds/core/v1';

/** Returns the row of one object, with an {@link Age} for cells that change with time. */
export type Cells<T extends KubernetesObject = KubernetesObject> = (object: DeepReadonly<T>) => readonly unknown[];

export { ageOf, nameOf } from '@kapstan/apiserver/internal';

export const none = '<none>';

/** Returns "a=b,c=d", or "<none>" when empty. Source: labels.FormatLabels. */
export function formatLabels(labels: Readonly<Record<string, string>> | undefined): string {
  const pairs = Object.entries(labels ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? none : pairs.join(',');
}

/** Source: metav1.FormatLabelSelector. */
export function formatLabelSelector(selector: DeepReadonly<LabelSelector> | undefined): string {
  try {
    const text = labelSelectorFrom(selector).toString();
    return text === '' ? none : text;
  } catch (error) {
    if (error instanceof TypeError) return '<error>';
    throw error;
  }
}

/** Returns names and images of a pod's containers, each joined by commas. Source: layoutContainerCells. */
function containerCells(containers: readonly DeepReadonly<Container>[] | undefined): [names: string, images: string] {
  const list = containers ?? [];
  return [list.map((container) => container.name).join(','), list.map((container) => container.image ?? '').join(',')];
}

export function podContainerCells(spec: DeepReadonly<PodSpec> | undefined): [names: string, images: string] {
  return containerCells(spec?.containers);
}

export function orNone(text: string | undefined): string {
  return text === undefined || text === '' ? none : text;
}

export function orUnset(text: string | undefined): string {
  return text === undefined || text === '' ? '<unset>' : text;
}

/** Joins at most `max` items and adds how many more there are: "a,b + 2 more...". */
export function joinSome(items: readonly string[], max: number): string {
  if (items.length <= max) return items.join(',');
  return `${items.slice(0, max).join(',')} + ${items.length - max} more...`;
}
