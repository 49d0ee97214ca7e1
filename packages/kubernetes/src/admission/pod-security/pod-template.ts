// podIn finds the pod in an object that pod security checks: a pod itself, or the template of a kind that makes pods.
// Used by pod-security.ts. Source: pod-security-admission DefaultPodSpecExtractor.

import type { DeepReadonly, GroupResource, KubernetesObject } from '@kapstan/api';
import { formatGroupResource } from '@kapstan/api/internal';
import type { Pod, PodTemplateSpec } from '@kapstan/kinds/core/v1';
import type { CheckedPod } from './pod-check.ts';

type Given = DeepReadonly<KubernetesObject>;
interface Holder {
  readonly spec?: {
    readonly template?: Template;
    readonly jobTemplate?: { readonly spec?: { readonly template?: Template } };
  };
  readonly template?: Template;
}
type Template = DeepReadonly<PodTemplateSpec>;

/** Finds the template in an object, by group resource. */
const templates: ReadonlyMap<string, (holder: Holder) => Template | undefined> = new Map([
  ['podtemplates', ({ template }: Holder) => template],
  ['cronjobs.batch', ({ spec }: Holder) => spec?.jobTemplate?.spec?.template],
  ...[
    'replicationcontrollers',
    'replicasets.apps',
    'deployments.apps',
    'statefulsets.apps',
    'daemonsets.apps',
    'jobs.batch',
  ].map((resource) => [resource, ({ spec }: Holder) => spec?.template] as const),
]);

/** Group resources of the kinds that make pods. */
export const templateResources: readonly string[] = [...templates.keys()];

/** Returns undefined for an object without a pod. */
export function podIn(resource: GroupResource, object: Given): CheckedPod | undefined {
  const find = templates.get(formatGroupResource(resource));
  if (find === undefined) return checkedPod(object as DeepReadonly<Pod>);
  const template = find(object as Holder);
  return template === undefined ? undefined : checkedPod(template);
}

export function checkedPod({ metadata, spec }: DeepReadonly<Pod | PodTemplateSpec>): CheckedPod {
  return { annotations: metadata?.annotations ?? {}, spec: spec ?? { containers: [] } };
}
