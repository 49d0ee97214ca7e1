// Checks changes of a pod that waits at scheduling gates: its choice of nodes may only become smaller. Source:
// pkg/apis/core/validation validateNodeSelectorMutation, validateNodeAffinityMutation.
import { type DeepReadonly, deepCopy } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { NodeAffinity, NodeSelectorTerm, PodSpec } from '@kapstan/kinds/core/v1';

type ReadonlySpec = DeepReadonly<PodSpec>;
type Affinity = DeepReadonly<NodeAffinity> | undefined;

/**
 * Reports forbidden changes and puts the old values into `next`, in place, so that the rest can be compared. `at` is
 * the spec.
 */
export function takeNodeChoice(at: Field, next: PodSpec, old: ReadonlySpec): void {
  validateSelector(at.child('nodeSelector'), next.nodeSelector, old.nodeSelector);
  if (old.nodeSelector === undefined) delete next.nodeSelector;
  else next.nodeSelector = { ...old.nodeSelector };
  const [wanted, present] = [next.affinity?.nodeAffinity, old.affinity?.nodeAffinity];
  if (jsonEqual(wanted, present)) return;
  validateAffinity(at.child('affinity', 'nodeAffinity'), wanted, present);
  const { nodeAffinity: _wanted, ...others } = next.affinity ?? {};
  const nodeAffinity = present === undefined ? {} : { nodeAffinity: deepCopy(present) as NodeAffinity };
  next.affinity = { ...others, ...nodeAffinity };
  if (old.affinity === undefined && Object.keys(next.affinity).length === 0) delete next.affinity;
}

type Labels = Readonly<Record<string, string>> | undefined;

function validateSelector(at: Field, next: Labels, old: Labels): void {
  const wanted = new Map(Object.entries(next ?? {}));
  const isKept = Object.entries(old ?? {}).every(([key, value]) => wanted.get(key) === value);
  if (!isKept) at.invalid(next ?? null, 'only additions to spec.nodeSelector are allowed (no mutations or deletions)');
}

function validateAffinity(at: Field, next: Affinity, old: Affinity): void {
  const place = at.child('requiredDuringSchedulingIgnoredDuringExecution', 'nodeSelectorTerms');
  const terms = next?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const before = old?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  if (before.length === 0) return;
  if (before.length !== terms.length)
    return place.invalid(terms, 'no additions/deletions to non-empty NodeSelectorTerms list are allowed');
  place.each(terms, (term, termPlace, index) => {
    if (!isNarrower(term, before[index] ?? {}))
      termPlace.invalid(term, 'only additions are allowed (no mutations or deletions)');
  });
}

/** An empty term selects nothing, and a requirement would make it select something. */
function isNarrower(next: DeepReadonly<NodeSelectorTerm>, old: DeepReadonly<NodeSelectorTerm>): boolean {
  const size = ({ matchExpressions = [], matchFields = [] }: DeepReadonly<NodeSelectorTerm>): number =>
    matchExpressions.length + matchFields.length;
  if (size(old) === 0) return size(next) === 0;
  return (['matchExpressions', 'matchFields'] as const).every((name) => {
    const before = old[name] ?? [];
    return jsonEqual((next[name] ?? []).slice(0, before.length), before);
  });
}
