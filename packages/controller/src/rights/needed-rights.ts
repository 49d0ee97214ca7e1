// NeededRights: rights that a controller declares with needs(), beyond those that follow from its other declarations. Made by
// controller-builder.ts, read by rights.ts.
import { inspect } from 'node:util';
import type { Resource } from '@kapstan/api';
import {
  type OptionTable,
  optional,
  requireObject,
  requireOptions,
  requireResource,
  requireString,
} from '@kapstan/api/internal';

/** A verb of the API, such as "get". "read" means get, list and watch; "apply" means create and patch. */
export type NeededVerb =
  | 'read'
  | 'apply'
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'deletecollection'
  // Keeps the names above as suggestions of editors.
  | (string & Record<never, never>);

/** Options of `needs()`: a subresource, the only names, the namespace. */
export interface NeedsOptions {
  /** For example "status" or "scale". Default: the objects themselves. */
  readonly subresource?: string;
  /** Names of the only objects that are needed. Default: all. */
  readonly names?: readonly string[];
  /** The only namespace in which they are needed. Default: the manager's namespaces. */
  readonly namespace?: string;
}

/** Rights that `needs()` declares. */
export interface NeededRights extends NeedsOptions {
  readonly resource: Resource;
  readonly verbs: readonly string[];
}

const table: OptionTable<NeedsOptions> = {
  subresource: optional(requireString),
  names: optional(requireTexts),
  namespace: optional(requireString),
};

/** Throws TypeError for a wrong argument of needs(). */
export function neededRights(resource: Resource, verbs: readonly NeededVerb[], options: NeedsOptions): NeededRights {
  requireResource(resource, 'needs()');
  requireTexts(verbs, 'the verbs of needs()');
  if (verbs.length === 0) throw new TypeError('needs() takes at least one verb, such as ["get"]');
  requireObject(options, 'options of needs()');
  requireOptions(options, table, 'needs()');
  // A rule with an empty list of names allows all objects.
  if (options.names?.length === 0)
    throw new TypeError('needs(): names must have at least one name; leave it out for all objects');
  return { ...options, resource, verbs: verbs.flatMap((verb) => expanded[verb] ?? [verb]) };
}

const expanded: Readonly<Record<string, readonly string[]>> = {
  read: ['get', 'list', 'watch'],
  apply: ['create', 'patch'],
};

function requireTexts(value: unknown, name: string): void {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== '')) return;
  throw new TypeError(`${name} must be a list of texts, not ${inspect(value)}`);
}
