// Warnings about the spec of a job, alone or in a cron job. Source: pkg/api/job/warnings.go.
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import type { JobSpec } from '@kapstan/kinds/batch/v1';
import { templateWarnings } from '../core/pods/pod-warnings.ts';

const manyCompletions = 100_000;
const muchParallelism = 10_000;
const manyIndexes =
  'In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail';

/** Returns warnings for a create, and for an update that changed the spec. `path` is the path of the job's spec. */
export function jobSpecWarnings(
  path: string,
  spec: DeepReadonly<JobSpec> | undefined,
  change: { readonly next: DeepReadonly<KubernetesObject>; readonly old: DeepReadonly<KubernetesObject> | undefined },
): string[] {
  const { next, old } = change;
  if (old !== undefined && next.metadata?.generation === old.metadata?.generation) return [];
  const { completionMode, completions = 0, parallelism = 0 } = spec ?? {};
  const isHuge = completionMode === 'Indexed' && completions > manyCompletions && parallelism > muchParallelism;
  return [
    ...(isHuge ? [`${path}: ${manyIndexes}`] : []),
    ...templateWarnings(`${path}.template`, spec?.template, change),
  ];
}
