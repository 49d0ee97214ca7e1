// Warnings about labels of nodes that have been renamed, wherever nodes are selected by them. Source:
// pkg/api/node/util.go (1.36).
import type { DeepReadonly } from '@kapstan/api';
import { fieldChild, fieldIndex } from '@kapstan/api/errors';
import type { LabelSelector } from '@kapstan/kinds';

/** The warning for each label. */
export const deprecatedNodeLabels: ReadonlyMap<string, string> = new Map([
  ['beta.kubernetes.io/arch', 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ['beta.kubernetes.io/os', 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  ['failure-domain.beta.kubernetes.io/region', 'deprecated since v1.17; use "topology.kubernetes.io/region" instead'],
  ['failure-domain.beta.kubernetes.io/zone', 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'],
  ['beta.kubernetes.io/instance-type', 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'],
  ['app.kubernetes.io/created-by', 'deprecated since v1.9'],
  ['scheduler.alpha.kubernetes.io/preferAvoidPods', 'deprecated since v1.22; use Taints and Tolerations instead'],
  ['node-role.kubernetes.io/master', 'use "node-role.kubernetes.io/control-plane" instead'],
]);

interface Term {
  readonly matchExpressions?: readonly { readonly key: string }[];
}

/** `at` is the path of the term, or of anything else with matchExpressions. */
export function termWarnings(term: Term, at: string): string[] {
  return (term.matchExpressions ?? []).flatMap(({ key }, index) => {
    const why = deprecatedNodeLabels.get(key);
    const where = fieldChild(fieldIndex(fieldChild(at, 'matchExpressions'), index), 'key');
    return why === undefined ? [] : [`${where}: ${key} is ${why}`];
  });
}

/** Warns of keys of a map, each at the path that `where` returns. */
export function labelKeyWarnings(
  labels: Readonly<Record<string, string>> | undefined,
  where: (key: string) => string,
): string[] {
  return Object.keys(labels ?? {}).flatMap((key) => {
    const why = deprecatedNodeLabels.get(key);
    return why === undefined ? [] : [`${where(key)}: ${why}`];
  });
}

/** Source: GetWarningsForNodeSelector. */
export function selectorWarnings(selector: DeepReadonly<LabelSelector> | undefined, at: string): string[] {
  return [
    ...termWarnings(selector ?? {}, at),
    ...labelKeyWarnings(selector?.matchLabels, (key) => fieldChild(fieldChild(at, 'matchLabels'), key)),
  ];
}
