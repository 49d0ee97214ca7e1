// Rules for the status of a job and its changes. A rule applies only when its fields have changed. Source:
// pkg/apis/batch/validation validateJobStatus, ValidateJobStatusUpdate, and pkg/registry/batch/job
// getStatusValidationOptions.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { Job } from '@kapstan/kinds/batch/v1';
import { commonIndex, countIndexes } from '../index-list.ts';

type ReadonlyJob = DeepReadonly<Job>;
type Status = NonNullable<ReadonlyJob['status']>;

/** True when the job has a condition of this type that is True. */
export function isTrue(job: ReadonlyJob, type: string): boolean {
  return job.status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true;
}

/** A job before and after. */
interface Change {
  readonly next: ReadonlyJob;
  readonly old: ReadonlyJob;
  readonly status: Status;
  readonly before: Status;
  /** Returns whether one of the members differs. */
  changed(...names: readonly (keyof Status)[]): boolean;
  /** Returns whether a condition of these types became or ceased to be true. */
  turned(...types: readonly string[]): boolean;
}

/** `at` is the status. */
export function validateJobStatus(at: Field, next: ReadonlyJob, old: ReadonlyJob): void {
  const status: Status = next.status ?? {};
  const before: Status = old.status ?? {};
  const change: Change = {
    next,
    old,
    status,
    before,
    changed: (...names) => names.some((name) => !jsonEqual(status[name], before[name])),
    turned: (...types) => types.some((type) => isTrue(next, type) !== isTrue(old, type)),
  };
  for (const name of ['active', 'succeeded', 'failed', 'ready', 'terminating'] as const)
    at.child(name).nonNegative(status[name]);
  validateUncounted(at.child('uncountedTerminatedPods'), status);
  validateJobConditions(at.child('conditions'), change);
  validateTimes(at, change);
  validateFinished(at, change);
  validateIndexes(at, change);
  validateProgress(at, change);
}

function validateUncounted(at: Field, { uncountedTerminatedPods: pods }: Status): void {
  const seen = new Set<string>();
  for (const name of ['succeeded', 'failed'] as const) {
    at.child(name).each(pods?.[name], (uid, place) => {
      if (uid === '') place.invalid(uid, 'must not be empty');
      else if (seen.has(uid)) place.duplicate(uid);
      seen.add(uid);
    });
  }
}

const terminal = ['Failed', 'Complete', 'FailureTarget'];

function validateJobConditions(at: Field, { next, old, turned, changed }: Change): void {
  const is = (type: string): boolean => isTrue(next, type);
  const was = (type: string): boolean => isTrue(old, type);
  const hasPolicy = next.spec?.successPolicy !== undefined;
  const rules: readonly (readonly [boolean, string])[] = [
    [
      turned('Complete', 'Failed') && is('Complete') && is('Failed'),
      'cannot set Complete=True and Failed=true conditions',
    ],
    [
      turned('Complete', 'FailureTarget') && is('Complete') && is('FailureTarget'),
      'cannot set Complete=True and FailureTarget=true conditions',
    ],
    [
      (turned('Failed') || changed('failedIndexes')) && is('Failed') && !is('FailureTarget'),
      'cannot set Failed=True condition without the FailureTarget=true condition',
    ],
    [
      turned('Complete', 'SuccessCriteriaMet') && is('Complete') && !is('SuccessCriteriaMet'),
      'cannot set Complete=True condition without the SuccessCriteriaMet=true condition',
    ],
    [is('SuccessCriteriaMet') && is('Failed'), 'cannot set SuccessCriteriaMet=True and Failed=true conditions'],
    [
      is('SuccessCriteriaMet') && is('FailureTarget'),
      'cannot set SuccessCriteriaMet=True and FailureTarget=true conditions',
    ],
    [
      hasPolicy && !is('SuccessCriteriaMet') && is('Complete'),
      'cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True',
    ],
    ...terminal.map((type) => [was(type) && !is(type), `cannot disable the terminal ${type}=True condition`] as const),
    [was('SuccessCriteriaMet') && !is('SuccessCriteriaMet'), 'cannot disable the SuccessCriteriaMet=True condition'],
    [
      was('Complete') && !was('SuccessCriteriaMet') && is('SuccessCriteriaMet'),
      'cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions',
    ],
  ];
  for (const [isBroken, text] of rules) if (isBroken) at.invalid(undefined, text);
}

function validateTimes(at: Field, change: Change): void {
  const { next, old, status, before, changed } = change;
  const { startTime } = status;
  validateCompletionTime(at.child('completionTime'), change);
  const isResumed =
    isTrue(old, 'Suspended') &&
    status.conditions?.some(({ type, status: is }) => type === 'Suspended' && is === 'False') === true;
  const isFixed = before.startTime !== undefined && next.spec?.suspend !== true;
  if (isFixed && changed('startTime') && !isResumed)
    at.child('startTime').invalid(startTime ?? null, 'field is immutable for unsuspended job once set');
}

function validateCompletionTime(at: Field, { next, status, before, changed, turned }: Change): void {
  const { startTime, completionTime: time } = status;
  const isComplete = isTrue(next, 'Complete');
  const isTouched = turned('Complete') || changed('completionTime');
  if (time === undefined) {
    if (isTouched && isComplete) at.required('completionTime is required for Complete jobs');
    return;
  }
  if (isTouched && !isComplete) at.invalid(time, 'cannot set completionTime when there is no Complete=True condition');
  if (changed('startTime', 'completionTime') && startTime !== undefined && time < startTime)
    at.invalid(time, 'must be equal to or after `startTime`');
  if (before.completionTime !== undefined && changed('completionTime')) at.invalid(time, 'field is immutable');
}

const isFinished = (job: ReadonlyJob): boolean => isTrue(job, 'Complete') || isTrue(job, 'Failed');

/** A finished job has no active pods. */
function validateFinished(at: Field, { next, old, status, changed }: Change): void {
  if (!isFinished(next)) return;
  const isNew = !isFinished(old);
  for (const name of ['active', 'terminating'] as const) {
    const count = isNew || changed(name) ? (status[name] ?? 0) : 0;
    if (count > 0) at.child(name).invalid(count, `${name}>0 is invalid for finished job`);
  }
  const neverRan = next.spec?.suspend === true && next.spec.completions === 0;
  if ((isNew || changed('startTime')) && status.startTime === undefined && !neverRan)
    at.child('startTime').required('startTime is required for finished job');
  if (isNew || changed('uncountedTerminatedPods')) validateNoneUncounted(at.child('uncountedTerminatedPods'), status);
}

function validateNoneUncounted(at: Field, { uncountedTerminatedPods: pods }: Status): void {
  const count = (pods?.failed?.length ?? 0) + (pods?.succeeded?.length ?? 0);
  if (count > 0) at.invalid(pods, 'must be empty for finished job');
}

function validateIndexes(at: Field, change: Change): void {
  const { completions } = change.next.spec ?? {};
  const { completedIndexes = '', failedIndexes } = change.status;
  if (change.changed('completedIndexes')) validateCompleted(at.child('completedIndexes'), change);
  if (failedIndexes === undefined) return;
  const place = at.child('failedIndexes');
  if (change.changed('failedIndexes')) validateFailed(place, failedIndexes, change);
  if (completions === undefined || !change.changed('failedIndexes', 'completedIndexes')) return;
  const common = commonIndex(completedIndexes, failedIndexes, completions);
  if (common !== undefined)
    place.invalid(failedIndexes, `failedIndexes and completedIndexes overlap at index: ${common}`);
}

function validateCompleted(at: Field, { next, status: { completedIndexes: text = '' } }: Change): void {
  const { completions, completionMode } = next.spec ?? {};
  const count = completions === undefined ? 0 : countIndexes(text, completions);
  if (typeof count === 'string') at.invalid(text, `error parsing completedIndexes: ${count}`);
  if (text !== '' && completionMode !== 'Indexed')
    at.invalid(text, 'cannot set non-empty completedIndexes when non-indexed completion mode');
}

function validateFailed(at: Field, text: string, { next }: Change): void {
  const { completions, backoffLimitPerIndex } = next.spec ?? {};
  if (backoffLimitPerIndex === undefined)
    return at.invalid(text, 'cannot set non-null failedIndexes when backoffLimitPerIndex is null');
  const count = completions === undefined ? 0 : countIndexes(text, completions);
  if (typeof count === 'string') at.invalid(text, `error parsing failedIndexes: ${count}`);
}

/** Counters never decrease. */
function validateProgress(at: Field, { next, status, before, changed }: Change): void {
  const { ready, active = 0, failed = 0, succeeded = 0 } = status;
  if (changed('ready', 'active') && ready !== undefined && ready > active)
    at.child('ready').invalid(ready, 'cannot set more ready pods than active');
  if (failed < (before.failed ?? 0)) at.child('failed').invalid(failed, 'cannot decrease the failed counter');
  const isElastic = next.spec?.completionMode === 'Indexed' && next.spec.completions === next.spec.parallelism;
  if (!isElastic && succeeded < (before.succeeded ?? 0))
    at.child('succeeded').invalid(succeeded, 'cannot decrease the succeeded counter');
}
