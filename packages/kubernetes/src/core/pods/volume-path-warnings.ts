// Warnings about files in one volume whose paths overlap. Part of pod-warnings.ts. Source: pkg/api/pod/warnings.go
// warningsForOverlappingVirtualPaths (1.36).
import type { DeepReadonly } from '@kapstan/api';
import type { KeyToPath, PodSpec, Volume, VolumeProjection } from '@kapstan/kinds/core/v1';

/** A file, with its source if there are several. */
interface PlacedFile {
  readonly path: string;
  readonly source: string;
}

export function volumePathWarnings({ volumes }: DeepReadonly<PodSpec>): string[] {
  return (volumes ?? []).flatMap((volume) => {
    const { name, configMap, secret, downwardAPI, projected } = volume;
    return [
      ...overlaps(volume, `ConfigMap ${quoted(configMap?.name)}`, files(configMap?.items)),
      ...overlaps(volume, `Secret ${quoted(secret?.secretName)}`, files(secret?.items)),
      ...overlaps(volume, 'DownwardAPI', files(downwardAPI?.items)),
      ...(projected?.sources ?? [])
        .filter((source) => Object.keys(source).length === 0)
        .map(() => `volume ${quoted(name)} (Projected) has no sources provided`),
      ...overlaps(volume, 'Projected', (projected?.sources ?? []).flatMap(projectedFiles)),
    ];
  });
}

const quoted = (text = ''): string => JSON.stringify(text);

function files(items: readonly DeepReadonly<Pick<KeyToPath, 'path'>>[] | undefined, source = ''): PlacedFile[] {
  return (items ?? []).map(({ path }) => ({ path, source }));
}

/** If there are several kinds, the first counts. */
function projectedFiles(source: DeepReadonly<VolumeProjection>): PlacedFile[] {
  const { configMap, secret, downwardAPI, serviceAccountToken: token } = source;
  if (configMap?.items !== undefined) return files(configMap.items, `ConfigMap ${quoted(configMap.name)}`);
  if (secret?.items !== undefined) return files(secret.items, `Secret ${quoted(secret.name)}`);
  if (downwardAPI?.items !== undefined) return files(downwardAPI.items, 'DownwardAPI');
  return token === undefined ? [] : [{ path: token.path, source: 'ServiceAccountToken' }];
}

function overlaps({ name }: DeepReadonly<Volume>, what: string, given: readonly PlacedFile[]): string[] {
  const placed = given.map(({ path, source }) => ({ path: withoutTrailingSlashes(path), source }));
  return overlappingPairs(placed).map(
    ([file, earlier]) => `volume ${quoted(name)} (${what}): overlapping paths: ${shown(file)} with ${shown(earlier)}`,
  );
}

/**
 * The headers of an answer cannot hold more warnings, and there can be nearly as many pairs as the square of the number of files.
 */
const maxWarnings = 1_000;

/**
 * Returns pairs of equal paths, or of a path and a directory on the way to it, each with an earlier file. Sorted as
 * texts, paths below a path follow it directly, so a stack of the paths above suffices.
 */
function overlappingPairs(files: readonly PlacedFile[]): (readonly [PlacedFile, PlacedFile])[] {
  const sorted = files
    .map((file, index) => ({ file, index, text: `${file.path}/` }))
    .filter(({ file }) => file.path !== '')
    .sort((a, b) => (a.text === b.text ? a.index - b.index : a.text < b.text ? -1 : 1));
  const above: typeof sorted = [];
  const pairs: { readonly file: (typeof sorted)[number]; readonly earlier: (typeof sorted)[number] }[] = [];
  for (const next of sorted) {
    while (above.length > 0 && !next.text.startsWith(above.at(-1)?.text ?? '')) above.pop();
    for (const other of above) {
      if (pairs.length >= maxWarnings) break;
      pairs.push(next.index > other.index ? { file: next, earlier: other } : { file: other, earlier: next });
    }
    if (pairs.length >= maxWarnings) break;
    above.push(next);
  }
  pairs.sort((a, b) => a.file.index - b.file.index || a.earlier.index - b.earlier.index);
  return pairs.map(({ file, earlier }) => [file.file, earlier.file]);
}

/** A loop, because patterns that end in `+$` take quadratic time. */
function withoutTrailingSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

const shown = ({ path, source }: PlacedFile): string => (source === '' ? quoted(path) : `${quoted(path)} (${source})`);
