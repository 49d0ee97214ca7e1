// The few fields of pods and nodes that the built-in plug-ins read and set.
import type { KubernetesObject } from '@kapstan/api';

export interface Toleration {
  key?: string;
  operator?: string;
  effect?: string;
  tolerationSeconds?: number;
}

interface VolumeMount {
  name: string;
  readOnly?: boolean;
  mountPath: string;
}

export interface Container {
  name?: string;
  volumeMounts?: VolumeMount[];
}

export interface PodSpec {
  containers?: Container[];
  initContainers?: Container[];
  volumes?: { name?: string; [source: string]: unknown }[];
  tolerations?: Toleration[];
  priority?: number;
  priorityClassName?: string;
  preemptionPolicy?: string;
  serviceAccountName?: string;
  serviceAccount?: string;
  automountServiceAccountToken?: boolean;
  imagePullSecrets?: { name?: string }[];
}

/**
 * Returns the spec of a pod; creates it when absent, because validation comes later and will report that it is empty.
 */
export function podSpecOf(pod: KubernetesObject): PodSpec {
  const fields = pod as { spec?: PodSpec };
  fields.spec ??= {};
  return fields.spec;
}
