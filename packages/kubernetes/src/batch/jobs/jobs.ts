// Jobs. Source: pkg/registry/batch/job, pkg/apis/batch/validation ValidateJob.
import type { DeepReadonly } from '@kapstan/api';
import { dnsLabelErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { Job } from '@kapstan/kinds/batch/v1';
import type { Container, PodSpec } from '@kapstan/kinds/core/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { hostNameWarnings } from '../../core/pods/pod-warnings.ts';
import { internalForm } from '../../validation/internal-form.ts';
import { goLabelSelector, goStringMap, selectsLabels, validateLabelSelector } from '../../validation/label-rules.ts';
import { setJobSpecDefaults, validateJobSpec } from '../job-spec.ts';
import { jobSpecWarnings } from '../job-warnings.ts';
import { isTrue, validateJobStatus } from './job-status-validation.ts';

const uidLabel = 'batch.kubernetes.io/controller-uid';
const nameLabel = 'batch.kubernetes.io/job-name';

export const jobs: BuiltinKind<Job> = {
  id: 'batch/v1/jobs',
  warnings: (next, old) => [
    ...(old === undefined ? hostNameWarnings(next, 'Pod names and hostnames') : []),
    ...jobSpecWarnings('spec', next.spec, { next, old }),
  ],
  strategy: {
    updateMetadata: 'both',
    defaultGarbageCollection: 'Orphan',
    deletionWarning:
      'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
    canonicalize: takePodLabels,
  },
  repeatsValidation: true,
  setDefaults: (object) => {
    if (object.spec !== undefined) setJobSpecDefaults(object.spec);
    takePodLabels(object);
  },
  prepareForCreate: (object) => {
    if (object.spec?.manualSelector !== true) generateSelector(object);
  },
  validate: (root, object, old) => {
    const at = root.child('spec');
    validateJobSpec(at, object.spec);
    const selector = object.spec?.selector;
    if (selector === undefined) at.child('selector').required();
    validateLabelSelector(at.child('selector'), selector);
    const labels = object.spec?.template?.metadata?.labels;
    if (selectsLabels(selector, labels) === false) {
      at.child('template', 'metadata', 'labels').invalid(
        goStringMap(labels),
        '`selector` does not match template `labels`',
      );
    }
    if (old === undefined) validatePodNames(root, object);
  },
  validateCreate: (root, job) => validateGenerated(root.child('spec'), job),
  validateChange: (root, next, old) => {
    // Updates repeat these checks.
    validateGenerated(root.child('spec'), next, old);
    validatePodNames(root, next);
    validateJobChange(root.child('spec'), next, old);
  },
  status: { validate: (root, next, old) => validateJobStatus(root.child('status'), next, old) },
  fields: ({ status }) => ({ 'status.successful': String(status?.succeeded ?? 0) }),
};

/**
 * A job without labels gets the labels of its pod template: when it is read from a request, and when it is read back. As in
 * Go, both are the same map, so labels that are generated later become labels of both.
 */
function takePodLabels(job: Job): void {
  const labels = job.spec?.template?.metadata?.labels;
  if (labels === undefined || Object.keys(labels).length === 0) return;
  if (Object.keys(job.metadata?.labels ?? {}).length > 0) return;
  job.metadata = { ...job.metadata, labels };
}

/** Adds labels that tie the pods to this job alone. Source: generateSelector. */
function generateSelector(job: Job): void {
  const spec = job.spec;
  if (spec === undefined) return;
  const uid = job.metadata?.uid ?? '';
  const name = job.metadata?.name ?? '';
  const labels = { [uidLabel]: uid, [nameLabel]: name, 'controller-uid': uid, 'job-name': name };
  const metadata = spec.template.metadata ?? {};
  const isShared = metadata.labels !== undefined && job.metadata?.labels === metadata.labels;
  // The client's labels stay, for validation to judge.
  spec.template.metadata = { ...metadata, labels: { ...labels, ...metadata.labels } };
  if (isShared) job.metadata = { ...job.metadata, labels: { ...spec.template.metadata.labels } };
  spec.selector = { ...spec.selector, matchLabels: { [uidLabel]: uid, ...spec.selector?.matchLabels } };
}

/** The names of indexed pods must be valid. Source: ValidateJob. */
function validatePodNames(root: Field, job: DeepReadonly<Job>): void {
  const { completions, completionMode } = job.spec ?? {};
  if (completionMode !== 'Indexed' || completions === undefined || completions <= 0) return;
  const name = job.metadata?.name ?? '';
  const lastPod = `${name}-${completions - 1}`;
  if (dnsLabelErrors(lastPod).length > 0)
    root.child('metadata', 'name').invalid(name, `will not able to create pod with invalid DNS label: ${lastPod}`);
}

/** Source: validateGeneratedSelector, ValidateHasLabel. */
function validateGenerated(at: Field, job: DeepReadonly<Job>, old?: DeepReadonly<Job>): void {
  const selector = job.spec?.selector;
  if (job.spec?.manualSelector === true || selector === undefined) return;
  const uid = job.metadata?.uid ?? '';
  const name = job.metadata?.name ?? '';
  const expected: Record<string, string> = { 'controller-uid': uid, 'job-name': name };
  if (hasPrefixedLabels(old)) Object.assign(expected, { [uidLabel]: uid, [nameLabel]: name });
  const labels = job.spec?.template?.metadata?.labels;
  const place = at.child('template', 'metadata', 'labels');
  for (const [key, value] of Object.entries(expected)) {
    const actual = labels?.[key];
    if (actual === undefined) place.key(key).required(`must be '${value}'`);
    else if (actual !== value) place.key(key).invalid(goStringMap(labels), `must be '${value}'`);
  }
  if (selectsLabels(selector, expected) === false)
    at.child('selector').invalid(goLabelSelector(selector), '`selector` not auto-generated');
}

/** Old jobs may lack the labels with a prefix; a new job always gets them. */
function hasPrefixedLabels(old: DeepReadonly<Job> | undefined): boolean {
  const labels = old?.spec?.template.metadata?.labels ?? {};
  return old === undefined || (uidLabel in labels && nameLabel in labels);
}

/** Source: ValidateJobSpecUpdate. */
function validateJobChange(at: Field, next: DeepReadonly<Job>, old: DeepReadonly<Job>): void {
  validateCompletions(at.child('completions'), next, old);
  at.child('selector').immutable(
    goLabelSelector(next.spec?.selector),
    jsonEqual(next.spec?.selector, old.spec?.selector),
  );
  validateTemplateChange(at, next, old);
  for (const name of fixedMembers)
    at.child(name).immutable(shownMember(next, name), jsonEqual(next.spec?.[name], old.spec?.[name]));
}

const fixedMembers = [
  'completionMode',
  'podFailurePolicy',
  'backoffLimitPerIndex',
  'managedBy',
  'successPolicy',
] as const;

function shownMember({ spec }: DeepReadonly<Job>, name: (typeof fixedMembers)[number]): unknown {
  if (name === 'podFailurePolicy') return internalForm('batch.PodFailurePolicy', spec?.podFailurePolicy);
  if (name === 'successPolicy') return internalForm('batch.SuccessPolicy', spec?.successPolicy);
  return spec?.[name];
}

function validateCompletions(at: Field, { spec: next }: DeepReadonly<Job>, { spec: old }: DeepReadonly<Job>): void {
  const isSame = next?.completions === old?.completions;
  if (next?.completionMode !== 'Indexed') return at.immutable(next?.completions, isSame);
  if (isSame || next.completions === undefined || next.completions === next.parallelism) return;
  at.invalid(next.completions, 'can only be modified in tandem with spec.parallelism');
}

/**
 * A suspended job without pods may get other nodes and amounts. Source: shouldAllowMutablePodTemplate,
 * validatePodTemplateUpdate.
 */
function validateTemplateChange(at: Field, next: DeepReadonly<Job>, old: DeepReadonly<Job>): void {
  const isSuspended = old.spec?.suspend === true;
  const wasStopped = old.status?.startTime === undefined || isTrue(old, 'Suspended');
  const isOpen = isSuspended && wasStopped && (old.status?.active ?? 0) === 0;
  const template = next.spec?.template;
  if (!isOpen)
    return at
      .child('template')
      .immutable(internalForm('core.PodTemplateSpec', template), jsonEqual(template, old.spec?.template));
  const allowed = withChangeable(old.spec?.template?.spec, template?.spec);
  at.child('template.spec').immutable(internalForm('core.PodSpec', template?.spec), jsonEqual(template?.spec, allowed));
}

type ReadonlyPod = DeepReadonly<PodSpec> | undefined;

/** Returns the old pod with the changeable fields taken from the new one. */
function withChangeable(old: ReadonlyPod, next: ReadonlyPod): ReadonlyPod {
  if (old === undefined || next === undefined) return old;
  const { nodeSelector: _selector, tolerations: _tolerations, schedulingGates: _gates, affinity, ...rest } = old;
  const { nodeAffinity: _node, ...pods } = affinity ?? {};
  const node = next.affinity?.nodeAffinity;
  const moved = { ...pods, ...(node === undefined ? {} : { nodeAffinity: node }) };
  const hasAffinity = Object.keys(moved).length > 0 || next.affinity !== undefined;
  const { nodeSelector, tolerations, schedulingGates } = next;
  return {
    ...rest,
    ...Object.fromEntries(
      Object.entries({ nodeSelector, tolerations, schedulingGates }).filter(([, value]) => value !== undefined),
    ),
    ...(hasAffinity ? { affinity: moved } : {}),
    containers: withResources(old.containers, next.containers ?? []),
    ...(old.initContainers === undefined
      ? {}
      : { initContainers: withResources(old.initContainers, next.initContainers ?? []) }),
  };
}

function withResources(
  old: readonly DeepReadonly<Container>[],
  next: readonly DeepReadonly<Container>[],
): readonly DeepReadonly<Container>[] {
  if (old.length !== next.length) return old;
  return old.map((container, index) => {
    const { resources: _old, ...rest } = container;
    const other = next[index];
    if (other?.name !== container.name) return container;
    return other.resources === undefined ? rest : { ...rest, resources: other.resources };
  });
}
