// Copies AppArmor profiles of a new pod's containers from annotations to fields. Rules of both:
// annotation-validation.ts. Source: pkg/registry/core/pod/strategy.go applyAppArmorVersionSkew, pkg/api/pod
// ApparmorFieldForAnnotation.

import { collectFieldErrors, jsonEqual } from '@kapstan/apiserver/internal';
import type { AppArmorProfile, Pod } from '@kapstan/kinds/core/v1';
import { annotationOf, appArmorPrefix } from './annotation-validation.ts';
import { validateAppArmor } from './security-validation.ts';

const localhost = 'localhost/';

/** Returns the field's value for an annotation; undefined for an annotation without a profile. */
export function appArmorOf(annotation: string): AppArmorProfile | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' };
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' };
  const localhostProfile = annotation.startsWith(localhost) ? annotation.slice(localhost.length) : '';
  return localhostProfile === '' ? undefined : { type: 'Localhost', localhostProfile };
}

/** Sets the fields in place and returns the annotations without a matching field, which deserve a warning. */
export function syncAppArmor({ metadata, spec }: Pod): string[] {
  const annotations = metadata?.annotations;
  if (annotations === undefined || spec === undefined || spec.os?.name === 'windows') return [];
  const ofPod = spec.securityContext?.appArmorProfile;
  const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])];
  return containers.flatMap((container) => {
    const key = `${appArmorPrefix}${container.name}`;
    const annotation = annotationOf(annotations, key);
    if (annotation === undefined || container.securityContext?.appArmorProfile !== undefined) return [];
    const profile = validProfile(annotation);
    if (profile !== undefined && jsonEqual(profile, ofPod)) return [];
    if (profile !== undefined) container.securityContext = { ...container.securityContext, appArmorProfile: profile };
    return [key];
  });
}

function validProfile(annotation: string): AppArmorProfile | undefined {
  const profile = appArmorOf(annotation);
  return collectFieldErrors((root) => validateAppArmor(root, profile)).length === 0 ? profile : undefined;
}
