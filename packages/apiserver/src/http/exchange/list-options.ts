// Reads, defaults and checks the options of list, watch and deletecollection in the query. Source: apimachinery
// internalversion ListOptions, its defaults (WatchList on) and validation.
import { FieldSelector, parseFieldSelector, parseLabelSelector } from '@kapstan/api';
import { badRequest } from '@kapstan/api/errors';
import { requireValidListOptions } from '../../registry/client/list-validation.ts';
import type { SelectRequest, WatchRequest } from '../../registry/definition/resource-store.ts';
import { decodeBoolean, decodeInteger } from './query-parameters.ts';

export interface ParsedListOptions {
  readonly select: SelectRequest;
  readonly sendInitialEvents?: boolean | undefined;
  readonly allowWatchBookmarks: boolean;
  /** 0 = the server chooses. */
  readonly timeoutSeconds: number;
}

/**
 * Parses the options. Throws 400 for values that cannot be read and 422 for options that exclude each other. The store
 * checks which fields exist. `name` is the object's when a single object is watched.
 */
export function parseListOptions(
  query: URLSearchParams,
  request: { readonly isWatch: boolean; readonly name?: string },
): ParsedListOptions {
  // Watches by the old path (/watch/…) have no `watch` in the query, so Kubernetes reads their options as those of a list.
  const isWatch = request.isWatch && decodeBoolean(query.get('watch')) === true;
  const raw = applyDefaults(readOptions(query), isWatch);
  requireValidListOptions(raw, isWatch ? 'watch' : 'list');
  const fieldSelector = request.name === undefined ? raw.fields : selectName(raw.fields, request.name);
  const select: SelectRequest = {
    labelSelector: raw.labelSelector || undefined,
    fieldSelector: fieldSelector.isEmpty ? undefined : fieldSelector.toString(),
    resourceVersion: raw.resourceVersion || undefined,
    resourceVersionMatch: (raw.match as 'Exact' | 'NotOlderThan' | '') || undefined,
    limit: raw.limit > 0 ? raw.limit : undefined,
    continue: raw.continue || undefined,
  };
  return {
    select,
    sendInitialEvents: raw.sendInitialEvents,
    allowWatchBookmarks: raw.allowWatchBookmarks,
    timeoutSeconds: raw.timeoutSeconds,
  };
}

/** Returns the part of the options that the store's watch takes. */
export function watchRequestOf(options: ParsedListOptions, deadlineMs: number): WatchRequest {
  return {
    ...options.select,
    sendInitialEvents: options.sendInitialEvents,
    allowWatchBookmarks: options.allowWatchBookmarks,
    deadlineMs,
  };
}

interface RawOptions {
  readonly labelSelector: string;
  readonly fields: FieldSelector;
  readonly resourceVersion: string;
  readonly match: string;
  readonly limit: number;
  readonly continue: string;
  readonly sendInitialEvents: boolean | undefined;
  readonly allowWatchBookmarks: boolean;
  readonly timeoutSeconds: number;
}

function readOptions(query: URLSearchParams): RawOptions {
  const labelSelector = query.get('labelSelector') ?? '';
  readSelector(() => parseLabelSelector(labelSelector));
  return {
    labelSelector,
    fields: readSelector(() => parseFieldSelector(query.get('fieldSelector') ?? '')),
    resourceVersion: query.get('resourceVersion') ?? '',
    match: query.get('resourceVersionMatch') ?? '',
    limit: decodeInteger(query.get('limit')) ?? 0,
    continue: query.get('continue') ?? '',
    sendInitialEvents: decodeBoolean(query.get('sendInitialEvents')),
    allowWatchBookmarks: decodeBoolean(query.get('allowWatchBookmarks')) ?? false,
    timeoutSeconds: decodeInteger(query.get('timeoutSeconds')) ?? 0,
  };
}

function readSelector<S>(parse: () => S): S {
  try {
    return parse();
  } catch (error) {
    if (error instanceof TypeError) throw badRequest(error.message);
    throw error;
  }
}

/** A watch that names no resourceVersion becomes a streamed list. Source: SetListOptionsDefaults. */
function applyDefaults(raw: RawOptions, isWatch: boolean): RawOptions {
  const isLegacy = raw.resourceVersion === '' || raw.resourceVersion === '0';
  if (!isWatch || !isLegacy || raw.sendInitialEvents !== undefined || raw.match !== '') return raw;
  return { ...raw, sendInitialEvents: true, match: 'NotOlderThan' };
}

/** The old path of a watch of one object selects it by name. */
function selectName(fields: FieldSelector, name: string): FieldSelector {
  if (fields.isEmpty) return new FieldSelector([{ field: 'metadata.name', operator: '=', value: name }]);
  if (fields.exactValue('metadata.name') === name) return fields;
  throw badRequest("fieldSelector metadata.name doesn't match requested name");
}
