// Resource versions in storage: parsed with Go's error texts, removed before an object is encoded. Source: apiserver
// storage/api_object_versioner.go.
import { type KubernetesObject, type Revision, StatusError } from '@kapstan/api';
import { tooLargeResourceVersion } from '@kapstan/api/errors';
import { formatRevision, parseRevision, readDecimal } from '@kapstan/api/internal';

/**
 * Parses a version. `""` and `"0"` give 0. Throws a StatusError (500 without a reason, as kube-apiserver answers) for
 * text that is not a uint64.
 */
export function parseResourceVersion(text: string): Revision {
  const revision = parseRevision(text);
  if (revision !== undefined) return revision;
  throw plainStatusError(resourceVersionProblem(text));
}

/** Returns the reason why a text is not a version, in the words of the Go library. */
export function resourceVersionProblem(text: string): string {
  const why = /^[0-9]+$/.test(text) ? 'value out of range' : 'invalid syntax';
  const quoted = JSON.stringify(text);
  return `resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: ${why}`;
}

/** Returns an error that the Go library leaves untyped: HTTP 500 with its own text and no reason. */
export function plainStatusError(message: string): StatusError {
  return new StatusError({ code: 500, reason: '', message });
}

/** Returns an object's version as a number, 0 when it has none. Throws like {@link parseResourceVersion}. */
export function revisionOf(object: KubernetesObject): Revision {
  return parseResourceVersion(object.metadata?.resourceVersion ?? '');
}

/** Returns the object without resourceVersion and selfLink, as it is stored. Shares everything below `metadata`. */
export function withoutVersion<T extends KubernetesObject>(object: T): T {
  const meta = object.metadata;
  if (meta === undefined || (meta.resourceVersion === undefined && meta.selfLink === undefined)) return object;
  const { resourceVersion: _version, selfLink: _link, ...rest } = meta;
  return { ...object, metadata: rest };
}

/** Throws a 504 when the store is at `current`, which is older than the `asked` version. */
export function requireNotOlder(asked: string | undefined, current: Revision, retrySeconds = 0): void {
  if (asked === undefined || asked === '') return;
  const minimum = parseResourceVersion(asked);
  if (minimum > current) throw tooLargeResourceVersion(plainNumber(asked), current, retrySeconds);
}

/** Writes a uint64 as Go prints it: all digits, no leading zeros. */
export function plainNumber(asked: string): string {
  return String(readDecimal(asked));
}

/** Returns the version text of a list. A store never issues revision 0. */
export function listVersion(revision: Revision): ReturnType<typeof formatRevision> {
  if (revision === 0) throw new TypeError(`illegal resource version from storage: ${revision}`);
  return formatRevision(revision);
}
