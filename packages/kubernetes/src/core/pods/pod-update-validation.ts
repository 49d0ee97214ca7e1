// Checks changes of an existing pod. Source: pkg/apis/core/validation ValidatePodUpdate.
import { type DeepReadonly, deepCopy } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { Container, Pod, PodSpec, Toleration } from '@kapstan/kinds/core/v1';
import { internalDiff } from '../../validation/json-diff.ts';
import { rangeErrors } from '../../validation/value-rules.ts';
import { isEqualWhenStored } from '../stored-equality.ts';
import { takeNodeChoice } from './gated-pod-validation.ts';
import { validateTolerations } from './scheduling-validation.ts';

const mayChange = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',');

type ReadonlySpec = DeepReadonly<PodSpec>;
const emptySpec: ReadonlySpec = { containers: [] };

/** `at` is the spec. */
export function validatePodChange(
  at: Field,
  { spec: next = emptySpec }: DeepReadonly<Pod>,
  { spec: old = emptySpec }: DeepReadonly<Pod>,
): void {
  for (const name of ['containers', 'initContainers'] as const) {
    // Further errors would only repeat this one.
    if ((next[name]?.length ?? 0) !== (old[name]?.length ?? 0))
      return at.child(name).forbidden('pod updates may not add or remove containers');
    at.child(name).each(next[name], ({ image = '' }, place) => validateImage(place.child('image'), image));
  }
  if (!validateDeadline(at.child('activeDeadlineSeconds'), next, old)) return;
  validateAddedTolerations(at.child('tolerations'), next.tolerations, old.tolerations);
  validateRemovedGates(at.child('schedulingGates'), next, old);
  const masked = withChangeable(next, old);
  if ((old.schedulingGates?.length ?? 0) > 0) takeNodeChoice(at, masked, old);
  if (!isEqualWhenStored('core.v1.PodSpec', masked, old))
    at.forbidden(
      `pod updates may not change fields other than ${mayChange}\n${internalDiff('core.PodSpec', old, masked)}`,
    );
}

function validateImage(at: Field, image: string): void {
  if (image === '') at.required();
  if (image !== image.trim()) at.invalid(image, 'must not have leading or trailing whitespace');
}

/** Returns false when no further errors should be reported. */
function validateDeadline(
  at: Field,
  { activeDeadlineSeconds: next }: ReadonlySpec,
  { activeDeadlineSeconds: old }: ReadonlySpec,
): boolean {
  if (next === undefined) {
    if (old !== undefined) at.invalid(null, 'must not update from a positive integer to nil value');
    return true;
  }
  const errorCount = at.errorCount;
  at.invalidAll(next, rangeErrors(next, 0, 2_147_483_647));
  if (at.errorCount === errorCount && old !== undefined && next > old)
    at.invalid(next, 'must be less than or equal to previous value');
  return at.errorCount === errorCount;
}

/** Source: validateOnlyDeletedSchedulingGates. */
function validateRemovedGates(at: Field, next: ReadonlySpec, old: ReadonlySpec): void {
  const before = new Set((old.schedulingGates ?? []).map((gate) => gate.name));
  at.each(next.schedulingGates, ({ name }, place) => {
    if (!before.has(name))
      place.child('name').forbidden(`only deletion is allowed, but found new scheduling gate '${name}'`);
  });
}

/** Source: validateOnlyAddedTolerations. */
function validateAddedTolerations(
  at: Field,
  next: readonly DeepReadonly<Toleration>[] | undefined,
  old: readonly DeepReadonly<Toleration>[] | undefined,
): void {
  const identity = ({ key, operator, value, effect }: DeepReadonly<Toleration>): string =>
    JSON.stringify([key ?? null, operator ?? null, value ?? null, effect ?? null]);
  const kept = new Set(next?.map(identity));
  for (const toleration of old ?? []) {
    if (!kept.has(identity(toleration)))
      return at.forbidden('existing toleration can not be modified except its tolerationSeconds');
  }
  validateTolerations(at, next);
}

/** Returns the new spec with the changeable fields taken from the old one; remaining differences are forbidden. */
function withChangeable(next: ReadonlySpec, old: ReadonlySpec): PodSpec {
  const masked = deepCopy(next) as PodSpec;
  takeImages(masked.containers, old.containers);
  takeImages(masked.initContainers, old.initContainers);
  take(masked, old, 'activeDeadlineSeconds');
  take(masked, old, 'tolerations');
  const isRescued = (old.terminationGracePeriodSeconds ?? 0) < 0 && next.terminationGracePeriodSeconds === 1;
  if (isRescued) take(masked, old, 'terminationGracePeriodSeconds');
  take(masked, old, 'schedulingGates');
  return masked;
}

function takeImages(next: Container[] | undefined, old: ReadonlySpec['containers'] | undefined): void {
  next?.forEach((container, index) => {
    const image = old?.[index]?.image;
    if (image !== undefined) container.image = image;
  });
}

function take(next: PodSpec, old: ReadonlySpec, name: keyof PodSpec): void {
  if (old[name] === undefined) delete next[name];
  else Object.assign(next, { [name]: old[name] });
}
