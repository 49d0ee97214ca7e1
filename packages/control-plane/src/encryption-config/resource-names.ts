// Parses and formats resource names of an EncryptionConfiguration: "secrets", "deployments.apps", "*.apps", "*.", "*.*".
import type { GroupResource } from '@kapstan/api';
import { formatGroupResource } from '@kapstan/api/internal';

/** Splits at the first dot. Source: schema.ParseGroupResource. */
export function parseGroupResource(name: string): GroupResource {
  const dot = name.indexOf('.');
  return dot < 0 ? { group: '', resource: name } : { group: name.slice(dot + 1), resource: name.slice(0, dot) };
}

/** Formats a name; the whole core group is "*.", where the general form would give "*". */
export function shownName(resource: GroupResource): string {
  return resource.group === '' && resource.resource === '*' ? '*.' : formatGroupResource(resource);
}

export function sameGroupResource(one: GroupResource, other: GroupResource): boolean {
  return one.group === other.group && one.resource === other.resource;
}

export const anyGroupAndResource: GroupResource = { group: '*', resource: '*' };

export function isAnyGroupAndResource(resource: GroupResource): boolean {
  return sameGroupResource(resource, anyGroupAndResource);
}
