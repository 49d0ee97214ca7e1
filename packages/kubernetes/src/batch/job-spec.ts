// Defaults and rules for the spec of a job, alone or in a cron job. Source: pkg/apis/batch/v1/defaults.go, batch/validation.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { JobSpec } from '@kapstan/kinds/batch/v1';
import { setPodTemplateDefaults } from '../core/pods/pod-spec-defaults.ts';
import { validatePodTemplate } from '../core/pods/pod-spec-validation.ts';
import { domainPathErrors } from '../validation/value-rules.ts';
import { validatePodFailurePolicy, validateSuccessPolicy } from './job-policies.ts';

/**
 * Sets the defaults of a job, but not of a cron job's template, which gets them when the job is made. Source:
 * SetDefaults_Job.
 */
export function setJobSpecDefaults(spec: JobSpec): void {
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : 2_147_483_647;
  spec.completionMode ??= 'NonIndexed';
  spec.suspend ??= false;
  spec.manualSelector ??= false;
  spec.podReplacementPolicy ??= spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed';
  for (const rule of spec.podFailurePolicy?.rules ?? []) {
    for (const condition of rule.onPodConditions ?? []) condition.status ||= 'True';
  }
  setPodTemplateDefaults(spec.template);
}

type ReadonlySpec = DeepReadonly<JobSpec>;

const counts = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
] as const;

const maxManagedByBytes = 63;

/** Source: validateJobSpec. */
export function validateJobSpec(at: Field, spec: ReadonlySpec | undefined): void {
  for (const name of counts) at.child(name).nonNegative(spec?.[name]);
  if (spec?.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined)
    at.child('backoffLimitPerIndex').required('when maxFailedIndexes is specified');
  if (spec?.managedBy !== undefined) {
    if (at.child('managedBy').present(spec.managedBy))
      at.child('managedBy').invalidAll(spec.managedBy, domainPathErrors(spec.managedBy));
    if (Buffer.byteLength(spec.managedBy) > maxManagedByBytes) at.child('managedBy').tooLong(maxManagedByBytes);
  }
  validateCompletionMode(at, spec ?? {});
  if (spec?.podFailurePolicy !== undefined) validatePodFailurePolicy(at.child('podFailurePolicy'), spec);
  if (spec?.successPolicy !== undefined) validateSuccessPolicy(at.child('successPolicy'), spec);
  if (spec?.podReplacementPolicy !== undefined) {
    const supported = spec.podFailurePolicy === undefined ? ['Failed', 'TerminatingOrFailed'] : ['Failed'];
    at.child('podReplacementPolicy').oneOf(spec.podReplacementPolicy, supported);
  }
  validatePodTemplate(at.child('template'), spec?.template);
  validateRestartPolicy(at.child('template', 'spec', 'restartPolicy'), spec);
}

function validateCompletionMode(at: Field, spec: DeepReadonly<Partial<JobSpec>>): void {
  const mode = spec.completionMode;
  if (mode !== undefined) at.child('completionMode').oneOf(mode, ['NonIndexed', 'Indexed']);
  if (mode === 'Indexed') validateIndexed(at, spec);
  if (mode !== undefined && mode !== 'NonIndexed') return;
  for (const name of ['backoffLimitPerIndex', 'maxFailedIndexes'] as const)
    if (spec[name] !== undefined) at.child(name).invalid(spec[name], 'requires indexed completion mode');
}

const maxIndexedParallelism = 100_000;
const maxFailedIndexes = 100_000;
/** Number of completions from which jobs with a backoff limit per index have tighter limits. */
const manyCompletions = 100_000;
const maxOfMany = 10_000;

function validateIndexed(at: Field, spec: DeepReadonly<Partial<JobSpec>>): void {
  const { completions, parallelism, maxFailedIndexes: failed } = spec;
  if (completions === undefined) at.child('completions').required('when completion mode is Indexed');
  if (parallelism !== undefined && parallelism > maxIndexedParallelism) {
    at.child('parallelism').invalid(
      parallelism,
      `must be less than or equal to ${maxIndexedParallelism} when completion mode is Indexed`,
    );
  }
  const place = at.child('maxFailedIndexes');
  if (completions !== undefined && failed !== undefined && failed > completions)
    place.invalid(failed, 'must be less than or equal to completions');
  if (failed !== undefined && failed > maxFailedIndexes)
    place.invalid(failed, `must be less than or equal to ${maxFailedIndexes}`);
  if (completions === undefined || completions <= manyCompletions || spec.backoffLimitPerIndex === undefined) return;
  if (failed === undefined) place.required(`must be specified when completions is above ${manyCompletions}`);
  const text = `must be less than or equal to ${maxOfMany} when completions are above ${manyCompletions} and used with backoff limit per index`;
  if (parallelism !== undefined && parallelism > maxOfMany) at.child('parallelism').invalid(parallelism, text);
  if (failed !== undefined && failed > maxOfMany) place.invalid(failed, text);
}

function validateRestartPolicy(at: Field, spec: ReadonlySpec | undefined): void {
  const policy = spec?.template?.spec?.restartPolicy ?? '';
  if (policy === '' || policy === 'Always') at.required('valid values: "OnFailure", "Never"');
  else if (policy !== 'OnFailure' && policy !== 'Never') at.notSupported(policy, ['OnFailure', 'Never']);
  else if (spec?.podFailurePolicy !== undefined && policy !== 'Never') {
    at.invalid(policy, 'only "Never" is supported when podFailurePolicy is specified');
  }
}
