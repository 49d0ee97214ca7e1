// Cron jobs. Source: pkg/registry/batch/cronjob, pkg/apis/batch/validation ValidateCronJobCreate.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { CronJob, CronJobSpec } from '@kapstan/kinds/batch/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { setPodTemplateDefaults } from '../../core/pods/pod-spec-defaults.ts';
import { hostNameWarnings } from '../../core/pods/pod-warnings.ts';
import { goLabelSelector } from '../../validation/label-rules.ts';
import { validateJobSpec } from '../job-spec.ts';
import { jobSpecWarnings } from '../job-warnings.ts';
import { cronScheduleError } from './cron-schedule.ts';

/** Maximum length of a name, because jobs get it with eleven more characters, and their names must be valid labels. */
const maxNameLength = 52;

// The path is wrong in Kubernetes, too.
const zoneWarning =
  'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details';

export const cronJobs: BuiltinKind<CronJob> = {
  id: 'batch/v1/cronjobs',
  warnings: (next, old) => [
    ...(old === undefined ? hostNameWarnings(next, 'Pod names and hostnames') : []),
    ...jobSpecWarnings('spec.jobTemplate.spec', next.spec?.jobTemplate?.spec, { next, old }),
    ...(old !== undefined && next.spec?.schedule.includes('TZ') ? [zoneWarning] : []),
  ],
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
  validate: (root, { spec }, old) => {
    const at = root.child('spec');
    validateSchedule(at, spec, old?.spec);
    at.child('startingDeadlineSeconds').nonNegative(spec?.startingDeadlineSeconds);
    if (!spec?.concurrencyPolicy) at.child('concurrencyPolicy').required();
    else at.child('concurrencyPolicy').oneOf(spec.concurrencyPolicy, ['Allow', 'Forbid', 'Replace']);
    validateJobSpec(at.child('jobTemplate', 'spec'), spec?.jobTemplate?.spec);
    const selector = spec?.jobTemplate?.spec?.selector;
    if (selector !== undefined)
      at.child('jobTemplate', 'spec', 'selector').invalid(
        goLabelSelector(selector),
        '`selector` will be auto-generated',
      );
    if (spec?.jobTemplate?.spec?.manualSelector === true) {
      at.child('jobTemplate', 'spec', 'manualSelector').notSupported(true, ['nil', 'false']);
    }
    at.child('successfulJobsHistoryLimit').nonNegative(spec?.successfulJobsHistoryLimit);
    at.child('failedJobsHistoryLimit').nonNegative(spec?.failedJobsHistoryLimit);
  },
};

type ReadonlySpec = DeepReadonly<CronJobSpec> | undefined;

function validateSchedule(at: Field, spec: ReadonlySpec, old: ReadonlySpec): void {
  const schedule = spec?.schedule ?? '';
  const place = at.child('schedule');
  if (spec?.timeZone !== undefined && spec.timeZone !== old?.timeZone)
    validateTimeZone(at.child('timeZone'), spec.timeZone);
  if (schedule === '') return place.required();
  // A time zone before the schedule is checked separately.
  const error = cronScheduleError(schedule.replace(/^(CRON_)?TZ=\S* /, ''));
  if (error !== undefined) place.invalid(schedule, error);
  if (!schedule.includes('TZ')) return;
  // Only cron jobs that had TZ before the field existed may keep it.
  if (old?.schedule.includes('TZ') !== true)
    place.invalid(schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead');
  else if (spec?.timeZone !== undefined)
    place.invalid(schedule, 'cannot use both timeZone field and TZ or CRON_TZ in schedule');
}

const zonePart = /^(?!-)(?!\.{1,2}$)[A-Za-z.\-_0-9+]{1,14}$/;

function validateTimeZone(at: Field, zone: string): void {
  if (zone === '') return at.invalid(zone, 'timeZone must be nil or non-empty string');
  if (!zone.split('/').every((part) => zonePart.test(part))) return at.invalid(zone, `unknown time zone ${zone}`);
  if (zone.toLowerCase() === 'local')
    at.invalid(zone, 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones');
  // Go reads "Local" as the zone of the machine.
  if (zone !== 'Local' && !isKnownZone(zone)) at.invalid(zone, `unknown time zone ${zone}`);
}

function isKnownZone(zone: string): boolean {
  // Offsets are not names of zones.
  if (/^[+-]?\d/.test(zone)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return false;
  }
}
