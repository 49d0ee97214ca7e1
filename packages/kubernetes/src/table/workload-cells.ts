// Rows of the workloads: apps, batch, autoscaling, policy. Source: pkg/printers/internalversion/printers.go.

import { type DeepReadonly, parseTime } from '@kapstan/api';
import { Age, timeSince } from '@kapstan/apiserver';
import { humanDuration } from '@kapstan/apiserver/internal';
import type { ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet } from '@kapstan/kinds/apps/v1';
import type {
  HorizontalPodAutoscaler,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from '@kapstan/kinds/autoscaling/v2';
import type { CronJob, Job } from '@kapstan/kinds/batch/v1';
import type { PodDisruptionBudget } from '@kapstan/kinds/policy/v1';
import { ageOf, type Cells, formatLabelSelector, formatLabels, nameOf, none, podContainerCells } from './cells.ts';

export const deploymentCells: Cells<Deployment> = (object) => [
  nameOf(object),
  `${object.status?.readyReplicas ?? 0}/${object.spec?.replicas ?? 0}`,
  object.status?.updatedReplicas ?? 0,
  object.status?.availableReplicas ?? 0,
  ageOf(object),
  ...podContainerCells(object.spec?.template.spec),
  formatLabelSelector(object.spec?.selector),
];

export const replicaSetCells: Cells<ReplicaSet> = (object) => [
  nameOf(object),
  object.spec?.replicas ?? 0,
  object.status?.replicas ?? 0,
  object.status?.readyReplicas ?? 0,
  ageOf(object),
  ...podContainerCells(object.spec?.template?.spec),
  formatLabelSelector(object.spec?.selector),
];

export const statefulSetCells: Cells<StatefulSet> = (object) => [
  nameOf(object),
  `${object.status?.readyReplicas ?? 0}/${object.spec?.replicas ?? 0}`,
  ageOf(object),
  ...podContainerCells(object.spec?.template.spec),
];

export const daemonSetCells: Cells<DaemonSet> = (object) => [
  nameOf(object),
  object.status?.desiredNumberScheduled ?? 0,
  object.status?.currentNumberScheduled ?? 0,
  object.status?.numberReady ?? 0,
  object.status?.updatedNumberScheduled ?? 0,
  object.status?.numberAvailable ?? 0,
  formatLabels(object.spec?.template.spec?.nodeSelector),
  ageOf(object),
  ...podContainerCells(object.spec?.template.spec),
  formatLabelSelector(object.spec?.selector),
];

export const controllerRevisionCells: Cells<ControllerRevision> = (object) => {
  const owner = object.metadata?.ownerReferences?.find((reference) => reference.controller === true);
  return [nameOf(object), owner === undefined ? none : formatOwner(owner), object.revision, ageOf(object)];
};

/** Returns "deployment.apps/web": the kind in lower case, its group, the name. */
function formatOwner(owner: { readonly apiVersion: string; readonly kind: string; readonly name: string }): string {
  const group = owner.apiVersion.includes('/') ? `.${owner.apiVersion.split('/')[0]}` : '';
  return `${owner.kind.toLowerCase()}${group}/${owner.name}`;
}

export const jobCells: Cells<Job> = (object) => [
  nameOf(object),
  jobStatus(object),
  jobCompletions(object),
  jobDuration(object),
  ageOf(object),
  ...podContainerCells(object.spec?.template.spec),
  formatLabelSelector(object.spec?.selector),
];

function jobStatus(job: DeepReadonly<Job>): string {
  const is = (type: string): boolean =>
    job.status?.conditions?.some((c) => c.type === type && c.status === 'True') ?? false;
  if (is('Complete')) return 'Complete';
  if (is('Failed')) return 'Failed';
  if (job.metadata?.deletionTimestamp !== undefined) return 'Terminating';
  if (is('Suspended')) return 'Suspended';
  if (is('FailureTarget')) return 'FailureTarget';
  return is('SuccessCriteriaMet') ? 'SuccessCriteriaMet' : 'Running';
}

function jobCompletions(job: DeepReadonly<Job>): string {
  const succeeded = job.status?.succeeded ?? 0;
  if (job.spec?.completions !== undefined) return `${succeeded}/${job.spec.completions}`;
  const parallelism = job.spec?.parallelism ?? 0;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function jobDuration(job: DeepReadonly<Job>): Age | string {
  const { startTime, completionTime } = job.status ?? {};
  if (startTime === undefined) return '';
  const startMs = parseTime(startTime);
  return completionTime === undefined ? new Age(startMs) : humanDuration(parseTime(completionTime) - startMs);
}

export const cronJobCells: Cells<CronJob> = (object) => [
  nameOf(object),
  object.spec?.schedule ?? '',
  object.spec?.timeZone ?? none,
  object.spec?.suspend === undefined ? '<unset>' : object.spec.suspend ? 'True' : 'False',
  object.status?.active?.length ?? 0,
  object.status?.lastScheduleTime === undefined ? none : timeSince(object.status.lastScheduleTime),
  ageOf(object),
  ...podContainerCells(object.spec?.jobTemplate.spec?.template.spec),
  formatLabelSelector(object.spec?.jobTemplate.spec?.selector),
];

export const disruptionBudgetCells: Cells<PodDisruptionBudget> = (object) => [
  nameOf(object),
  object.spec?.minAvailable === undefined ? 'N/A' : String(object.spec.minAvailable),
  object.spec?.maxUnavailable === undefined ? 'N/A' : String(object.spec.maxUnavailable),
  object.status?.disruptionsAllowed ?? 0,
  ageOf(object),
];

export const autoscalerCells: Cells<HorizontalPodAutoscaler> = (object) => [
  nameOf(object),
  `${object.spec?.scaleTargetRef.kind ?? ''}/${object.spec?.scaleTargetRef.name ?? ''}`,
  formatMetrics(object.spec?.metrics ?? [], object.status?.currentMetrics ?? []),
  object.spec?.minReplicas === undefined ? '<unset>' : String(object.spec.minReplicas),
  object.spec?.maxReplicas ?? 0,
  object.status?.currentReplicas ?? 0,
  ageOf(object),
];

const maxMetrics = 2;

/** Returns the first two metrics as current/target. Source: formatHPAMetrics. */
function formatMetrics(
  specs: readonly DeepReadonly<MetricSpec>[],
  statuses: readonly DeepReadonly<MetricStatus>[],
): string {
  if (specs.length === 0) return none;
  const list = specs.map((spec, index) => formatMetric(spec, statuses[index]));
  if (list.length <= maxMetrics) return list.join(', ');
  return `${list.slice(0, maxMetrics).join(', ')} + ${list.length - maxMetrics} more...`;
}

function formatMetric(spec: DeepReadonly<MetricSpec>, status: DeepReadonly<MetricStatus> | undefined): string {
  switch (spec.type) {
    case 'Resource':
      return `${spec.resource?.name ?? ''}: ${formatTarget(spec.resource?.target, status?.resource?.current)}`;
    case 'ContainerResource':
      return `${spec.containerResource?.name ?? ''}: ${formatTarget(spec.containerResource?.target, status?.containerResource?.current)}`;
    case 'Pods':
      return formatTarget(spec.pods?.target, status?.pods?.current);
    case 'Object':
      return averageSuffix(spec.object?.target, formatTarget(spec.object?.target, status?.object?.current));
    case 'External':
      return averageSuffix(spec.external?.target, formatTarget(spec.external?.target, status?.external?.current));
    default:
      return '<unknown type>';
  }
}

function averageSuffix(target: DeepReadonly<MetricTarget> | undefined, text: string): string {
  return target?.averageValue === undefined ? text : `${text} (avg)`;
}

function formatTarget(
  target: DeepReadonly<MetricTarget> | undefined,
  current: DeepReadonly<MetricValueStatus> | undefined,
): string {
  if (target?.averageValue !== undefined) return `${current?.averageValue ?? '<unknown>'}/${target.averageValue}`;
  if (target?.value !== undefined) return `${current?.value ?? '<unknown>'}/${target.value}`;
  const now = current?.averageUtilization === undefined ? '<unknown>' : `${current.averageUtilization}%`;
  return `${now}/${target?.averageUtilization === undefined ? '<auto>' : `${target.averageUtilization}%`}`;
}
