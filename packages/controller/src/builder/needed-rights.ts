// NeededRights: rights that a controller declares with needs(), beyond those that follow from its other declarations. Made by
// controller-builder.ts, read by rights.ts.
import { inspect } from 'node:util';
import type { Resource } from '@kapstan/api';
import { type OptionTable, optional, requireObject, requireOptions, requireResource } from '@kapstan/api/internal';
import { rbacVerbs } from './verb.ts';

/** A verb of the API, such as "get". "read" means get, list and watch; "apply" means create and patch. A verb that looks misspelt is refused. */
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
  | '*'
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
  subresource: optional(requireSubresource),
  names: optional(requireNames),
  namespace: optional(requireNamespace),
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
  return { ...options, resource, verbs: rbacVerbs(verbs) };
}

const label = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?';
const labelForm = new RegExp(`^${label}$`);
const subresourceForm = new RegExp(`^${label}(?:/${label})*$`);

/** RBAC compares the text, so "*" or another case would match nothing. */
function requireSubresource(value: unknown, name: string): void {
  if (typeof value === 'string' && subresourceForm.test(value)) return;
  throw new TypeError(`${name} must be the name of a subresource, such as "status", not ${inspect(value)}`);
}

/** Source: apimachinery IsDNS1123Label. */
function requireNamespace(value: unknown, name: string): void {
  if (typeof value === 'string' && labelForm.test(value)) return;
  throw new TypeError(`${name} must be the name of a namespace, not ${inspect(value)}`);
}

/** Names of signers, users and groups may be any text. */
function requireNames(value: unknown, name: string): void {
  requireTexts(value, name);
  if ((value as readonly string[]).includes('*'))
    throw new TypeError(`${name}: "*" is not a pattern here; leave names out for all objects`);
}

function requireTexts(value: unknown, name: string): void {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== '')) return;
  throw new TypeError(`${name} must be a list of texts, not ${inspect(value)}`);
}
