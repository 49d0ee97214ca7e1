// Formats selectors as the text in a Scale. Source: LabelSelectorAsSelector(...).String().
import { type DeepReadonly, labelSelectorFrom } from '@kapstan/api';
import type { LabelSelector } from '@kapstan/kinds';

/**
 * Formats a selector: "app=web,tier in (a,b)". Stored selectors were valid when they were written; an invalid one is
 * shown as "".
 */
export function selectorText(selector: DeepReadonly<LabelSelector> | undefined): string {
  try {
    return labelSelectorFrom(selector).toString();
  } catch (error) {
    if (error instanceof TypeError) return '';
    throw error;
  }
}

/** Formats a plain map of labels, all of which must match. Source: labels.Set.String. */
export function labelMapText(labels: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(labels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .sort()
    .join(',');
}
