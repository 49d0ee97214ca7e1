// DefaultTolerationSeconds lets pods stay five minutes on a node that is not ready or unreachable. Source:
// plugin/pkg/admission/defaulttolerationseconds.
import type { AdmissionAttributes, AdmissionPlugin } from '@kapstan/apiserver';
import { isAbout } from '@kapstan/apiserver/internal';
import { podSpecOf, type Toleration } from './pod-fields.ts';

const conditions: readonly string[] = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];
const tolerationSeconds = 300;

export const defaultTolerationSeconds: AdmissionPlugin = {
  name: 'DefaultTolerationSeconds',
  admit: (attributes: AdmissionAttributes) => {
    const { object, operation } = attributes;
    if (!isAbout(attributes, '', 'pods') || object === undefined || operation === 'DELETE') return;
    const spec = podSpecOf(object);
    const present = spec.tolerations ?? [];
    const added = conditions
      .filter((key) => !present.some((toleration) => covers(toleration, key)))
      .map((key): Toleration => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds }));
    if (added.length > 0) spec.tolerations = [...present, ...added];
  },
};

/** An empty key or effect matches all. */
function covers({ key = '', effect = '' }: Toleration, wanted: string): boolean {
  return (key === '' || key === wanted) && (effect === '' || effect === 'NoExecute');
}
