// Resource versions as storage reads and writes them: parsing with Go's texts, blanking before encoding.
// Source: apiserver storage/api_object_versioner.go.

import { type KubernetesObject, type Revision, StatusError } from '@kapstan/api';
import { tooLargeResourceVersion } from '@kapstan/api/errors';
import { formatRevision, parseRevision } from '@kapstan/api/internal';

/** `""` and `"0"` give 0. Throws a StatusError (500 without a reason, as kube-apiserver answers) for what is no uint64. */
export function parseResourceVersion(text: string): Revision {
  const revision = parseRevision(text);
  if (revision !== undefined) return revision;
  throw plainStatusError(resourceVersionProblem(text));
}

/** Why a text is no version, in the words of the Go library; undefined when it is one. */
export function resourceVersionProblem(text: string): string {
  const why = /^[0-9]+$/.test(text) ? 'value out of range' : 'invalid syntax';
  const quoted = JSON.stringify(text);
  return `resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: ${why}`;
}

/** An error that the Go library leaves untyped: HTTP 500, its own text, no reason. */
export function plainStatusError(message: string): StatusError {
  return new StatusError({ code: 500, reason: '', message });
}

/** Version of an object as a number; 0 when it has none. Throws as {@link parseResourceVersion}. */
export function revisionOf(object: KubernetesObject): Revision {
  return parseResourceVersion(object.metadata?.resourceVersion ?? '');
}

/** The object as it is stored: without resourceVersion and selfLink. Shares everything below `metadata`. */
export function withoutVersion<T extends KubernetesObject>(object: T): T {
  const meta = object.metadata;
  if (meta === undefined || (meta.resourceVersion === undefined && meta.selfLink === undefined)) return object;
  const { resourceVersion: _version, selfLink: _link, ...rest } = meta;
  return { ...object, metadata: rest };
}

/** Throws 504 when a read that must not be older than `asked` found the store at `current`. */
export function requireNotOlder(asked: string | undefined, current: Revision, retrySeconds = 0): void {
  if (asked === undefined || asked === '') return;
  const minimum = parseResourceVersion(asked);
  if (minimum > current) throw tooLargeResourceVersion(plainNumber(asked), current, retrySeconds);
}

/** A uint64 as Go prints it: all digits, no leading zeros. */
export function plainNumber(asked: string): string {
  return BigInt(asked).toString();
}

/** The version text of a list. A store never issues revision 0. */
export function listVersion(revision: Revision): ReturnType<typeof formatRevision> {
  if (revision === 0) throw new TypeError(`illegal resource version from storage: ${revision}`);
  return formatRevision(revision);
}
