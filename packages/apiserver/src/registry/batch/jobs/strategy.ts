// Jobs. Source: pkg/registry/batch/job, pkg/apis/batch/validation ValidateJob.
import type { DeepReadonly } from '@kapstan/api';
import type { Job } from '@kapstan/kinds/batch/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import { hostNameWarnings, templateWarnings } from '../../core/pods/pod-warnings.ts';
import { jsonEqual } from '../../json-equality.ts';
import type { Field } from '../../validation/field.ts';
import { goLabelSelector, goStringMap, selectsLabels, validateLabelSelector } from '../../validation/label-rules.ts';
import { setJobSpecDefaults, validateJobSpec } from '../job-spec.ts';

const uidLabel = 'batch.kubernetes.io/controller-uid';
const nameLabel = 'batch.kubernetes.io/job-name';

export const jobs: BuiltinKind<Job> = {
  id: 'batch/v1/jobs',
  warnings: (next, old) => [
    ...(old === undefined ? hostNameWarnings(next, 'Pod names and hostnames') : []),
    ...templateWarnings('spec.template', next.spec?.template, { next, old }),
  ],
  strategy: { updateMetadata: 'both', defaultGarbageCollection: 'Orphan', canonicalize: takePodLabels },
  setDefaults: (object) => {
    if (object.spec !== undefined) setJobSpecDefaults(object.spec);
  },
  prepareForCreate: (object) => {
    if (object.spec?.manualSelector !== true) generateSelector(object);
  },
  validate: (root, object) => {
    const at = root.child('spec');
    validateGeneratedSelector(at.child('selector'), object);
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
  },
  validateChange: (root, next, old) => validateJobChange(root.child('spec'), next, old),
  fields: ({ status }) => ({ 'status.successful': String(status?.succeeded ?? 0) }),
};

/** A job without labels has those of its pods. Kubernetes defaults them when it reads the job back, after the validation. */
function takePodLabels(job: Job): void {
  const labels = job.spec?.template.metadata?.labels;
  if (labels === undefined || Object.keys(job.metadata?.labels ?? {}).length > 0) return;
  job.metadata = { ...job.metadata, labels: { ...labels } };
}

/** Labels that tie the pods to this job alone. Source: generateSelector. */
function generateSelector(job: Job): void {
  const spec = job.spec;
  if (spec === undefined) return;
  const uid = job.metadata?.uid ?? '';
  const name = job.metadata?.name ?? '';
  const labels = { [uidLabel]: uid, [nameLabel]: name, 'controller-uid': uid, 'job-name': name };
  const metadata = spec.template.metadata ?? {};
  spec.template.metadata = { ...metadata, labels: { ...metadata.labels, ...labels } };
  spec.selector = { ...spec.selector, matchLabels: { ...spec.selector?.matchLabels, [uidLabel]: uid } };
}

function validateGeneratedSelector(at: Field, job: DeepReadonly<Job>): void {
  const selector = job.spec?.selector;
  if (job.spec?.manualSelector === true || selector === undefined) return;
  const generated = { matchLabels: { [uidLabel]: job.metadata?.uid ?? '' } };
  const former = { matchLabels: { 'controller-uid': job.metadata?.uid ?? '' } };
  if (!jsonEqual(selector, generated) && !jsonEqual(selector, former))
    at.invalid(goLabelSelector(selector), '`selector` not auto-generated');
}

function validateJobChange(at: Field, next: DeepReadonly<Job>, old: DeepReadonly<Job>): void {
  const isElastic = next.spec?.completionMode === 'Indexed' && next.spec?.completions === next.spec?.parallelism;
  if (!isElastic)
    at.child('completions').immutable(next.spec?.completions, next.spec?.completions === old.spec?.completions);
  at.child('selector').immutable(
    goLabelSelector(next.spec?.selector),
    jsonEqual(next.spec?.selector, old.spec?.selector),
  );
  // A suspended job that never started may still be moved to other nodes. Source: validatePodTemplateUpdate.
  const isMovable = old.spec?.suspend === true && old.status?.startTime === undefined;
  if (!isMovable)
    at.child('template').immutable(next.spec?.template, jsonEqual(next.spec?.template, old.spec?.template));
  for (const name of [
    'completionMode',
    'podFailurePolicy',
    'backoffLimitPerIndex',
    'managedBy',
    'successPolicy',
  ] as const) {
    at.child(name).immutable(next.spec?.[name], jsonEqual(next.spec?.[name], old.spec?.[name]));
  }
}
