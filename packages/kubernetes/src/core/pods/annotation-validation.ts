// Rules for annotations of a pod: the marker of static pods, the deletion cost, and the profiles that were annotations
// before they became fields. security-validation.ts has the rules for the fields. Source: pkg/apis/core/validation
// ValidatePodSpecificAnnotations, validateSeccompAnnotationsAndFields,
// validateAppArmorAnnotationsAndFieldsMatchOnCreate.

import type { DeepReadonly } from '@kapstan/api';
import { getOwn, JsonSyntaxError } from '@kapstan/api/internal';
import type { Field } from '@kapstan/apiserver/internal';
import { DecodeError, decodeTyped, readJson, StrictErrors } from '@kapstan/apiserver/internal';
import type { Pod, PodSpec, Toleration } from '@kapstan/kinds/core/v1';
import { kubernetesTypes } from '../../builtin/kubernetes-types.ts';
import { placedContainers } from './container-warnings.ts';
import { validateTolerations } from './scheduling-validation.ts';
import { validateDescendingPath } from './volume-source-validation.ts';

type Annotations = Readonly<Record<string, string>>;
type ReadonlySpec = DeepReadonly<PodSpec>;

const mirrorAnnotation = 'kubernetes.io/config.mirror';
export const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/';
export const seccompPrefix = 'container.seccomp.security.alpha.kubernetes.io/';
export const seccompAnnotation = 'seccomp.security.alpha.kubernetes.io/pod';
const tolerationsAnnotation = 'scheduler.alpha.kubernetes.io/tolerations';
const deletionCostAnnotation = 'controller.kubernetes.io/pod-deletion-cost';

export const annotationOf = (annotations: Annotations | undefined, key: string): string | undefined =>
  getOwn(annotations ?? {}, key) as string | undefined;

/** True for a mirror pod, which shows a static pod of a node. */
export const isMirror = ({ metadata }: DeepReadonly<Pod>): boolean =>
  annotationOf(metadata?.annotations, mirrorAnnotation) !== undefined;

/** `at` is the annotations. */
export function validatePodAnnotations(
  at: Field,
  annotations: Annotations | undefined,
  spec: ReadonlySpec | undefined,
): void {
  const mirror = annotationOf(annotations, mirrorAnnotation);
  if (mirror !== undefined && !spec?.nodeName)
    at.key(mirrorAnnotation).invalid(mirror, 'must set spec.nodeName if mirror pod annotation is set');
  validateTolerationsText(at, annotationOf(annotations, tolerationsAnnotation));
  const cost = annotationOf(annotations, deletionCostAnnotation);
  if (cost !== undefined && !isInt32(cost)) at.key(deletionCostAnnotation).invalid(cost, 'must be a 32bit integer');
  let names: ReadonlySet<string> | undefined;
  for (const [key, profile] of Object.entries(annotations ?? {})) {
    if (key === seccompAnnotation || key.startsWith(seccompPrefix)) validateSeccomp(at.child(key), profile);
    if (!key.startsWith(appArmorPrefix)) continue;
    names ??= new Set(spec === undefined ? [] : placedContainers(spec, '').map((placed) => placed.container.name));
    validateAppArmor(at.key(key), { container: key.slice(appArmorPrefix.length), profile }, names);
  }
}

function validateTolerationsText(at: Field, text: string | undefined): void {
  if (!text) return;
  try {
    validateTolerations(at.child(tolerationsAnnotation), decodeTolerations(text));
  } catch (error) {
    if (!(error instanceof JsonSyntaxError || error instanceof DecodeError)) throw error;
    at.invalid(tolerationsAnnotation, error.message);
  }
}

function decodeTolerations(text: string): readonly Toleration[] {
  const { value, repeats } = readJson(text);
  const schema = {
    type: 'array',
    items: kubernetesTypes.schema('core.v1.Toleration'),
    goType: '[]core.Toleration',
  } as const;
  const decoded = decodeTyped(value, { schema, strict: new StrictErrors(), repeats, words: 'json' });
  return ((decoded ?? []) as readonly (Toleration | null)[]).map((toleration) => toleration ?? {});
}

/** Accepts neither a plus sign nor leading zeros. Source: GetDeletionCostFromPodAnnotations. */
function isInt32(text: string): boolean {
  if (text.length > 11 || !/^(-\d+|0|[1-9]\d*)$/.test(text)) return false;
  const number = BigInt(text);
  return number >= -(2n ** 31n) && number < 2n ** 31n;
}

const localhost = 'localhost/';
const seccompNames: readonly string[] = ['runtime/default', 'docker/default', 'unconfined'];
const appArmorNames: readonly string[] = ['', 'runtime/default', 'unconfined'];

function validateSeccomp(at: Field, profile: string): void {
  if (profile.startsWith(localhost)) validateDescendingPath(at, profile.slice(localhost.length));
  else if (!seccompNames.includes(profile)) at.invalid(profile, 'must be a valid seccomp profile');
}

function validateAppArmor(
  at: Field,
  { container, profile }: { readonly container: string; readonly profile: string },
  names: ReadonlySet<string>,
): void {
  if (!names.has(container)) at.invalid(container, 'container not found');
  if (!appArmorNames.includes(profile) && !profile.startsWith(localhost))
    at.invalid(profile, `invalid AppArmor profile name: ${JSON.stringify(profile)}`);
}

/** A pod's profiles may not change. `at` is the annotations. Source: ValidatePodSpecificAnnotationUpdates. */
export function validateAnnotationChange(at: Field, next: Annotations = {}, old: Annotations = {}): void {
  const isKept = (key: string): boolean => annotationOf(next, key) === annotationOf(old, key);
  for (const key of Object.keys(old).filter((name) => !isKept(name))) {
    if (key.startsWith(appArmorPrefix)) at.key(key).forbidden('may not remove or update AppArmor annotations');
    if (key === mirrorAnnotation) at.key(key).forbidden('may not remove or update mirror pod annotation');
  }
  for (const key of Object.keys(next).filter((name) => !Object.hasOwn(old, name))) {
    if (key.startsWith(appArmorPrefix)) at.key(key).forbidden('may not add AppArmor annotations');
    if (key === mirrorAnnotation) at.key(key).forbidden('may not add mirror pod annotation');
  }
}

interface Profile {
  readonly type: string;
  readonly localhostProfile?: string;
}

/** A kind of profile that may be in a field and in an annotation. */
interface ProfileKind {
  readonly field: 'seccompProfile' | 'appArmorProfile';
  readonly word: string;
  readonly names: Readonly<Record<string, readonly string[]>>;
}

const seccomp: ProfileKind = {
  field: 'seccompProfile',
  word: 'seccomp',
  names: { Unconfined: ['unconfined'], RuntimeDefault: ['runtime/default', 'docker/default'] },
};
const appArmor: ProfileKind = {
  field: 'appArmorProfile',
  word: 'apparmor',
  names: { Unconfined: ['unconfined'], RuntimeDefault: ['runtime/default'] },
};

/** A profile in a field and in an annotation must be the same. `at` is the spec; for creates and templates. */
export function validateProfileMatches(
  at: Field,
  annotations: Annotations | undefined,
  spec: ReadonlySpec | undefined,
): void {
  if (spec === undefined) return;
  const pod = spec.securityContext;
  const check = (
    place: Field,
    key: string,
    { kind, profile }: { kind: ProfileKind; profile?: Profile | undefined },
  ) => {
    const annotation = annotationOf(annotations, key);
    const where = place.child('securityContext', kind.field);
    if (profile !== undefined && annotation !== undefined) validateMatch(where, kind, { profile, annotation });
  };
  check(at, seccompAnnotation, { kind: seccomp, profile: pod?.seccompProfile });
  for (const { container, path } of placedContainers(spec, '')) {
    const place = at.child(path);
    const own = container.securityContext;
    check(place, `${seccompPrefix}${container.name}`, { kind: seccomp, profile: own?.seccompProfile });
    if (spec.os?.name === 'windows') continue;
    const profile = own?.appArmorProfile ?? pod?.appArmorProfile;
    check(place, `${appArmorPrefix}${container.name}`, { kind: appArmor, profile });
  }
}

function validateMatch(
  at: Field,
  { word, names }: ProfileKind,
  { profile, annotation }: { readonly profile: Profile; readonly annotation: string },
): void {
  const isLocal = profile.type === 'Localhost';
  const isSameType = isLocal ? annotation.startsWith(localhost) : (names[profile.type]?.includes(annotation) ?? true);
  if (!isSameType) at.child('type').forbidden(`${word} type in annotation and field must match`);
  else if (isLocal && annotation.slice(localhost.length) !== profile.localhostProfile)
    at.child('localhostProfile').forbidden(`${word} profile in annotation and field must match`);
}
