// Adds the values of matchLabelKeys and mismatchLabelKeys of a new pod to the selectors that name them. Source:
// pkg/registry/core/pod/strategy.go mutatePodAffinity, mutateTopologySpreadConstraints.
import { getOwn } from '@kapstan/api/internal';
import type { LabelSelector } from '@kapstan/kinds';
import type { Pod, PodAffinity, PodAffinityTerm } from '@kapstan/kinds/core/v1';

/** Adds them to the selectors in place. An absent selector matches nothing and stays absent. */
export function applyLabelKeys({ metadata, spec }: Pod): void {
  const labels = metadata?.labels ?? {};
  for (const term of [...termsOf(spec?.affinity?.podAffinity), ...termsOf(spec?.affinity?.podAntiAffinity)]) {
    require(term.labelSelector, { keys: term.matchLabelKeys, operator: 'In', labels });
    require(term.labelSelector, { keys: term.mismatchLabelKeys, operator: 'NotIn', labels });
  }
  for (const { labelSelector, matchLabelKeys } of spec?.topologySpreadConstraints ?? [])
    require(labelSelector, { keys: matchLabelKeys, operator: 'In', labels });
}

function termsOf(affinity: PodAffinity | undefined): PodAffinityTerm[] {
  return [
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm),
    ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
  ];
}

interface Requirements {
  readonly keys: readonly string[] | undefined;
  readonly operator: 'In' | 'NotIn';
  readonly labels: Readonly<Record<string, string>>;
}

function require(selector: LabelSelector | undefined, { keys = [], operator, labels }: Requirements): void {
  if (selector === undefined) return;
  const added = keys.flatMap((key) => {
    const value = getOwn(labels, key) as string | undefined;
    return value === undefined ? [] : [{ key, operator, values: [value] }];
  });
  if (added.length > 0) selector.matchExpressions = [...(selector.matchExpressions ?? []), ...added];
}
