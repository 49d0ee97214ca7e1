// Rules for projected volumes, which put several sources in one directory; each path may occur once. Source:
// pkg/apis/core/validation validateProjectionSources.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { DownwardAPIVolumeFile, KeyToPath, ProjectedVolumeSource, VolumeProjection } from '@kapstan/kinds/core/v1';
import { validateLocalPath } from './volume-source-validation.ts';

/** Rules that plain volumes have too. */
interface FileRules {
  validateItems(at: Field, items: readonly DeepReadonly<KeyToPath>[] | undefined): void;
  validateDownwardItems(at: Field, items: readonly DeepReadonly<DownwardAPIVolumeFile>[] | undefined): void;
}

/** Paths already used; a conflict is reported at the volume. */
interface Paths {
  take(path: string, shown: string): void;
}

const kinds = ['secret', 'configMap', 'downwardAPI', 'serviceAccountToken'] as const;

/** `at` is the volume source. */
export function validateProjected(
  at: Field,
  projected: DeepReadonly<ProjectedVolumeSource> | undefined,
  rules: FileRules,
): void {
  const taken = new Set<string>();
  const paths: Paths = {
    take: (path, shown) => {
      if (taken.has(path)) at.invalid(shown, 'conflicting duplicate paths');
      taken.add(path);
    },
  };
  at.child('sources').each(projected?.sources, (source, place) => {
    validateNamed(place, source, { rules, paths });
    if (source.serviceAccountToken !== undefined) validateToken(at, place.child('serviceAccountToken'), source);
    if (kinds.filter((name) => source[name] !== undefined).length > 1)
      place.forbidden('may not specify more than 1 volume type per source');
  });
}

function validateNamed(
  at: Field,
  source: DeepReadonly<VolumeProjection>,
  { rules, paths }: { readonly rules: FileRules; readonly paths: Paths },
): void {
  for (const name of ['secret', 'configMap'] as const) {
    const reference = source[name];
    if (reference === undefined) continue;
    at.child(name, 'name').present(reference.name);
    rules.validateItems(at.child(name), reference.items);
    for (const { path } of reference.items ?? []) if (path !== '') paths.take(path, reference.name ?? '');
  }
  rules.validateDownwardItems(at.child('downwardAPI'), source.downwardAPI?.items);
  for (const { path } of source.downwardAPI?.items ?? []) if (path !== '') paths.take(path, path);
}

const minTokenSeconds = 600;
const maxTokenSeconds = 2 ** 32;

/** Errors of the path are reported at the volume. */
function validateToken(volume: Field, at: Field, { serviceAccountToken: token }: DeepReadonly<VolumeProjection>): void {
  const seconds = token?.expirationSeconds ?? 0;
  const place = at.child('expirationSeconds');
  if (seconds < minTokenSeconds) place.invalid(seconds, 'may not specify a duration less than 10 minutes');
  if (seconds > maxTokenSeconds) place.invalid(seconds, 'may not specify a duration larger than 2^32 seconds');
  if (!token?.path) volume.child('path').required();
  else validateLocalPath(volume.child('path'), token.path);
}
