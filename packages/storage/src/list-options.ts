// Decides which revision a list reads and where it starts, for the object store and the cacher alike. Source: apiserver
// storage (ValidateListOptions).
import type { KubernetesObject, Revision } from '@kapstan/api';
import { badRequest } from '@kapstan/api/errors';
import { parseRevision } from '@kapstan/api/internal';
import { decodeContinue } from './continue-token.ts';
import type { StorageListOptions } from './storage.ts';
import { plainStatusError, resourceVersionProblem } from './versioner.ts';

/** The place where a list continues: the position in a continue token. */
export interface ListPosition {
  /** The exact revision to read at. 0 = the newest. */
  readonly pinned: Revision;
  /** The pinned revision as the client or the token wrote it, which may be too long for a number. */
  readonly asked: string;
  /** First key to read, when a token names one. */
  readonly fromKey?: string;
}

/**
 * Reads the position from the options. Throws a 400 StatusError when they contradict each other. `prefix` ends with a
 * slash.
 */
export function validateListOptions<T extends KubernetesObject>(
  prefix: string,
  options: StorageListOptions<T>,
): ListPosition {
  const { resourceVersion = '', predicate, recursive } = options;
  if (recursive && predicate.continue !== '') {
    const position = decodeContinue(predicate.continue, prefix);
    if (resourceVersion !== '' && resourceVersion !== '0') {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    const { revision, asked, fromKey } = position;
    return { pinned: revision, asked, fromKey };
  }
  if (resourceVersion === '') return { pinned: 0 as Revision, asked: '0' };
  const revision = parseRevision(resourceVersion);
  if (revision === undefined) {
    throw badRequest(`invalid resource version: ${resourceVersionProblem(resourceVersion)}`);
  }
  return isPinned(options, revision)
    ? { pinned: revision, asked: resourceVersion }
    : { pinned: 0 as Revision, asked: '0' };
}

function isPinned<T extends KubernetesObject>(options: StorageListOptions<T>, revision: Revision): boolean {
  const match = options.resourceVersionMatch ?? '';
  switch (match) {
    case 'NotOlderThan':
      return false;
    case 'Exact':
      return true;
    case '':
      return options.recursive && options.predicate.limit > 0 && revision > 0;
    default:
      throw plainStatusError(`unknown ResourceVersionMatch value: ${String(match)}`);
  }
}
