// Defaults and rules for the spec of a job, alone or in a cron job. Source: pkg/apis/batch/v1/defaults.go, batch/validation.
import type { DeepReadonly } from '@kapstan/api';
import type { JobSpec, PodFailurePolicyRule } from '@kapstan/kinds/batch/v1';
import { setPodTemplateDefaults } from '../core/pods/pod-spec-defaults.ts';
import { validatePodTemplate } from '../core/pods/pod-spec-validation.ts';
import type { Field } from '../validation/field.ts';

/** Source: SetDefaults_Job. Not those of a cron job's template, which are set when the job is made. */
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

const counts = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
] as const;

/** Source: validateJobSpec. */
export function validateJobSpec(at: Field, spec: DeepReadonly<JobSpec> | undefined): void {
  for (const name of counts) at.child(name).nonNegative(spec?.[name]);
  const mode = spec?.completionMode;
  if (mode !== undefined) {
    at.child('completionMode').oneOf(mode, ['NonIndexed', 'Indexed']);
    if (mode === 'Indexed' && spec?.completions === undefined)
      at.child('completions').required('when completion mode is Indexed');
  }
  at.child('podFailurePolicy', 'rules').each(spec?.podFailurePolicy?.rules, (rule, place) =>
    validateFailureRule(place, rule),
  );
  if (spec?.podReplacementPolicy !== undefined) {
    const supported = spec.podFailurePolicy === undefined ? ['Failed', 'TerminatingOrFailed'] : ['Failed'];
    at.child('podReplacementPolicy').oneOf(spec.podReplacementPolicy, supported);
  }
  validatePodTemplate(at.child('template'), spec?.template);
  validateRestartPolicy(at.child('template', 'spec', 'restartPolicy'), spec);
}

function validateRestartPolicy(at: Field, spec: DeepReadonly<JobSpec> | undefined): void {
  const policy = spec?.template?.spec?.restartPolicy ?? '';
  if (policy === '' || policy === 'Always') at.required('valid values: "OnFailure", "Never"');
  else if (spec?.podFailurePolicy !== undefined && policy !== 'Never') {
    at.invalid(policy, 'only "Never" is supported when podFailurePolicy is specified');
  }
}

const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore'];

function validateFailureRule(at: Field, rule: DeepReadonly<PodFailurePolicyRule>): void {
  if (rule.action === undefined || (rule.action as string) === '')
    at.child('action').required(`valid values: ${actions.map((a) => `"${a}"`).join(', ')}`);
  else at.child('action').oneOf(rule.action, actions);
  const hasConditions = (rule.onPodConditions?.length ?? 0) > 0;
  if (rule.onExitCodes !== undefined && hasConditions)
    at.invalid(undefined, 'specifying both OnExitCodes and OnPodConditions is not supported');
  if (rule.onExitCodes === undefined && !hasConditions)
    at.invalid(undefined, 'specifying one of OnExitCodes and OnPodConditions is required');
  if (rule.onExitCodes !== undefined)
    at.child('onExitCodes', 'operator').oneOf(rule.onExitCodes.operator, ['In', 'NotIn']);
  at.child('onPodConditions').each(rule.onPodConditions, (condition, place) => {
    place.child('status').oneOf(condition.status, ['False', 'True', 'Unknown']);
  });
}
