// application/merge-patch+json: RFC 7386 on own keys, with kube-apiserver's one deviation: nulls of objects inside what is
// new are dropped, in lists too; items of lists stay. Used by apply-patch.ts.
import { getOwn, isJsonObject, setOwn } from '@kapstan/api';

/**
 * The document with the patch merged in. Changes `document` and may share parts of `patch`. Objects that both have, and
 * those of the patch, come out with their members in order, which decides whose fault is told: Go writes them from maps.
 */
export function applyMergePatch(document: unknown, patch: unknown): unknown {
  if (!isJsonObject(document)) return withoutNulls(patch);
  if (!isJsonObject(patch)) return patch;
  for (const name of Object.keys(patch)) {
    const value = getOwn(patch, name);
    const present = getOwn(document, name);
    if (value === null) delete document[name];
    else if (present === undefined || present === null) setOwn(document, name, withoutNulls(value));
    else setOwn(document, name, applyMergePatch(present, value));
  }
  return sortedMembers(document);
}

function sortedMembers(object: Record<string, unknown>): Record<string, unknown> {
  const sorted: Record<string, unknown> = {};
  for (const name of Object.keys(object).sort()) setOwn(sorted, name, getOwn(object, name));
  return sorted;
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const result: Record<string, unknown> = {};
  for (const name of Object.keys(value).sort()) {
    const member = getOwn(value, name);
    if (member !== null) setOwn(result, name, withoutNulls(member));
  }
  return result;
}
