// The two columns of most tables: name and age.
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import { type Age, timeSince } from './age.ts';

export function nameOf(object: DeepReadonly<KubernetesObject>): string {
  return object.metadata?.name ?? '';
}

export function ageOf(object: DeepReadonly<KubernetesObject>): Age | string {
  return timeSince(object.metadata?.creationTimestamp);
}
