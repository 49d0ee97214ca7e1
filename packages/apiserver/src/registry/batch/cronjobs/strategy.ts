// Cron jobs. Source: pkg/registry/batch/cronjob, pkg/apis/batch/validation ValidateCronJobCreate.
import type { DeepReadonly } from '@kapstan/api';
import type { CronJob, CronJobSpec } from '@kapstan/kinds/batch/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import { setPodTemplateDefaults } from '../../core/pods/pod-spec-defaults.ts';
import { templateWarnings } from '../../core/pods/pod-warnings.ts';
import type { Field } from '../../validation/field.ts';
import { validateJobSpec } from '../job-spec.ts';
import { cronScheduleError } from './cron-schedule.ts';

/** Jobs get the name and eleven more characters, and must stay a label. */
const maxNameLength = 52;

export const cronJobs: BuiltinKind<CronJob> = {
  id: 'batch/v1/cronjobs',
  warnings: (next, old) =>
    templateWarnings('spec.jobTemplate.spec.template', next.spec?.jobTemplate.spec?.template, { next, old }),
  setDefaults: ({ spec }) => {
    if (spec === undefined) return;
    spec.concurrencyPolicy ||= 'Allow';
    spec.suspend ??= false;
    spec.successfulJobsHistoryLimit ??= 3;
    spec.failedJobsHistoryLimit ??= 1;
    setPodTemplateDefaults(spec.jobTemplate?.spec?.template);
  },
  validateCreate: (root, { metadata }) => {
    const name = metadata?.name ?? '';
    if (name.length > maxNameLength)
      root.child('metadata', 'name').invalid(name, `must be no more than ${maxNameLength} characters`);
  },
  validate: (root, { spec }) => {
    const at = root.child('spec');
    validateSchedule(at, spec);
    at.child('startingDeadlineSeconds').nonNegative(spec?.startingDeadlineSeconds);
    if (!spec?.concurrencyPolicy) at.child('concurrencyPolicy').required();
    else at.child('concurrencyPolicy').oneOf(spec.concurrencyPolicy, ['Allow', 'Forbid', 'Replace']);
    validateJobSpec(at.child('jobTemplate', 'spec'), spec?.jobTemplate?.spec);
    if (spec?.jobTemplate?.spec?.manualSelector === true) {
      at.child('jobTemplate', 'spec', 'manualSelector').notSupported('true', ['nil', 'false']);
    }
    at.child('successfulJobsHistoryLimit').nonNegative(spec?.successfulJobsHistoryLimit);
    at.child('failedJobsHistoryLimit').nonNegative(spec?.failedJobsHistoryLimit);
  },
};

function validateSchedule(at: Field, spec: DeepReadonly<CronJobSpec> | undefined): void {
  const schedule = spec?.schedule ?? '';
  const place = at.child('schedule');
  if (schedule === '') return place.required();
  if (schedule.includes('TZ'))
    place.invalid(schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead');
  else {
    const error = cronScheduleError(schedule);
    if (error !== undefined) place.invalid(schedule, error);
  }
  if (spec?.timeZone !== undefined) validateTimeZone(at.child('timeZone'), spec.timeZone);
}

function validateTimeZone(at: Field, zone: string): void {
  if (zone === '') return at.invalid(zone, 'timeZone must be nil or non-empty string');
  if (zone.toLowerCase() === 'local')
    return at.invalid(zone, 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones');
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    at.invalid(zone, `unknown time zone ${zone}`);
  }
}
