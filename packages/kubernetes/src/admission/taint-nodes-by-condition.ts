// TaintNodesByCondition keeps pods off a new node until it is ready. Source: plugin/pkg/admission/nodetaint.
import type { AdmissionPlugin } from '@kapstan/apiserver';
import { isAbout } from '@kapstan/apiserver/internal';

const key = 'node.kubernetes.io/not-ready';
const effect = 'NoSchedule';

interface NodeFields {
  spec?: { taints?: { key?: string; effect?: string }[] };
}

export const taintNodesByCondition: AdmissionPlugin = {
  name: 'TaintNodesByCondition',
  admit: (attributes) => {
    if (!isAbout(attributes, '', 'nodes') || attributes.operation !== 'CREATE') return;
    const node = attributes.object as NodeFields | undefined;
    if (node === undefined) return;
    node.spec ??= {};
    const taints = node.spec.taints ?? [];
    if (taints.some((taint) => taint.key === key && taint.effect === effect)) return;
    node.spec.taints = [...taints, { key, effect }];
  },
};
