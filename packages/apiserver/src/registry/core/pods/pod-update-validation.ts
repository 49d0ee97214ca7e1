// What may change in a pod that exists. Source: pkg/apis/core/validation ValidatePodUpdate.
import { type DeepReadonly, deepCopy } from '@kapstan/api';
import type { Container, Pod, PodSpec, Toleration } from '@kapstan/kinds/core/v1';
import { jsonEqual } from '../../json-equality.ts';
import type { Field } from '../../validation/field.ts';
import { jsonDiff } from '../../validation/json-diff.ts';

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
    if ((next[name]?.length ?? 0) === (old[name]?.length ?? 0)) continue;
    const what = name === 'containers' ? 'containers' : 'init containers';
    // The rest would only repeat it.
    return at.child(name).forbidden(`pod updates may not add or remove ${what}`);
  }
  validateDeadline(at.child('activeDeadlineSeconds'), next.activeDeadlineSeconds, old.activeDeadlineSeconds);
  validateAddedTolerations(at.child('tolerations'), next.tolerations, old.tolerations);
  const masked = withChangeable(next, old);
  if (!jsonEqual(masked, old))
    at.forbidden(`pod updates may not change fields other than ${mayChange}\n${jsonDiff(old, masked)}`);
}

function validateDeadline(at: Field, next: number | undefined, old: number | undefined): void {
  if (old === undefined) return;
  if (next === undefined) at.invalid(null, 'must not update from a positive integer to nil value');
  else if (next > old) at.invalid(next, 'must be less than or equal to previous value');
}

/** Source: validateOnlyAddedTolerations. */
function validateAddedTolerations(
  at: Field,
  next: readonly DeepReadonly<Toleration>[] | undefined,
  old: readonly DeepReadonly<Toleration>[] | undefined,
): void {
  const identity = ({ tolerationSeconds, ...rest }: DeepReadonly<Toleration>): unknown => rest;
  for (const toleration of old ?? []) {
    const isKept = next?.some((other) => jsonEqual(identity(other), identity(toleration)));
    if (isKept !== true) return at.forbidden('existing toleration can not be modified except its tolerationSeconds');
  }
}

/** The new spec with what may change taken from the old one: what then differs may not. */
function withChangeable(next: ReadonlySpec, old: ReadonlySpec): ReadonlySpec {
  const masked = deepCopy(next) as PodSpec;
  takeImages(masked.containers, old.containers);
  takeImages(masked.initContainers, old.initContainers);
  take(masked, old, 'activeDeadlineSeconds');
  take(masked, old, 'tolerations');
  const isRescued = (old.terminationGracePeriodSeconds ?? 0) < 0 && next.terminationGracePeriodSeconds === 1;
  if (isRescued) take(masked, old, 'terminationGracePeriodSeconds');
  takeGates(masked, old);
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

/** Gates may be removed; while there were some, the place may also be narrowed. Source: validateSchedulingGates, validateNodeAffinityMutation. */
function takeGates(next: PodSpec, old: ReadonlySpec): void {
  const before = new Set((old.schedulingGates ?? []).map((gate) => gate.name));
  if (before.size === 0) return;
  const onlyRemoved = (next.schedulingGates ?? []).every((gate) => before.has(gate.name));
  if (onlyRemoved) take(next, old, 'schedulingGates');
  const selector = next.nodeSelector ?? {};
  const onlyAdded = Object.entries(old.nodeSelector ?? {}).every(([key, value]) => selector[key] === value);
  if (onlyAdded) take(next, old, 'nodeSelector');
}
