// Restricts a node's changes to its own Node object. Used by node-restriction.ts. Source: plugin/pkg/admission/noderestriction admitNode,
// kubelet pkg/apis IsKubeletLabel.
import type { DeepReadonly } from '@kapstan/api';
import { goQuote } from '@kapstan/api/internal';
import type { AdmissionAttributes } from '@kapstan/apiserver';
import { jsonEqual, refuse } from '@kapstan/apiserver/internal';
import type { Node } from '@kapstan/kinds/core/v1';

type AnyNode = DeepReadonly<Node>;
type Labels = Readonly<Record<string, string>>;

const ownLabels: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
]);

export function admitNode(attributes: AdmissionAttributes, name: string): void {
  const { operation, object, oldObject } = attributes;
  const quoted = goQuote(name);
  if (attributes.name !== name)
    throw refuse(attributes, `node ${quoted} is not allowed to modify node ${goQuote(attributes.name)}`);
  if (operation === 'CREATE') return admitCreate(attributes, object as AnyNode, quoted);
  if (operation !== 'UPDATE') return;
  const [next, old] = [object as AnyNode, oldObject as AnyNode];
  const source = next.spec?.configSource;
  if (source !== undefined && !jsonEqual(source, old.spec?.configSource))
    throw refuse(attributes, `node ${quoted} is not allowed to update configSource to a new non-nil configSource`);
  if (!jsonEqual(next.spec?.taints ?? [], old.spec?.taints ?? []))
    throw refuse(attributes, `node ${quoted} is not allowed to modify taints`);
  if (!jsonEqual(next.metadata?.ownerReferences ?? [], old.metadata?.ownerReferences ?? []))
    throw refuse(attributes, `node ${quoted} is not allowed to modify ownerReferences`);
  const labels = forbiddenLabels(next.metadata?.labels ?? {}, old.metadata?.labels ?? {});
  if (labels.length > 0) throw refuse(attributes, `is not allowed to modify labels: ${labels.join(', ')}`);
}

function admitCreate(attributes: AdmissionAttributes, { metadata, spec }: AnyNode, quoted: string): void {
  if (spec?.configSource !== undefined)
    throw refuse(attributes, `node ${quoted} is not allowed to create pods with a non-nil configSource`);
  const labels = forbiddenLabels(metadata?.labels ?? {}, {});
  if (labels.length === 0) return;
  throw refuse(attributes, `node ${quoted} is not allowed to set the following labels: ${labels.join(', ')}`);
}

function forbiddenLabels(next: Labels, old: Labels): readonly string[] {
  const keys = new Set([...Object.keys(next), ...Object.keys(old)]);
  const valueIn = (labels: Labels, key: string): string | undefined =>
    Object.hasOwn(labels, key) ? labels[key] : undefined;
  return [...keys].filter((key) => valueIn(next, key) !== valueIn(old, key) && isForbidden(key)).sort();
}

/** A node could attract workloads by labels that others trust. */
function isForbidden(key: string): boolean {
  const namespace = key.includes('/') ? key.slice(0, key.indexOf('/')) : '';
  const isIn = (domain: string): boolean => namespace === domain || namespace.endsWith(`.${domain}`);
  if (isIn('node-restriction.kubernetes.io')) return true;
  const isOwn = ownLabels.has(key) || isIn('kubelet.kubernetes.io') || isIn('node.kubernetes.io');
  return (isIn('kubernetes.io') || isIn('k8s.io')) && !isOwn;
}
