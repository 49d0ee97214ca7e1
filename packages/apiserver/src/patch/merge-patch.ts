// Applies application/merge-patch+json: RFC 7386 on own keys. As in kube-apiserver, nulls in objects inside new values
// are dropped, even within lists; null items of lists stay. Used by apply-patch.ts.
import {
  getOwn,
  isJsonObject,
  namesInSlices,
  rememberSize,
  type SlicedWork,
  SlicePace,
  setOwn,
  sortInSlices,
} from '@kapstan/api/internal';
import { MemberCount } from '../schema/body-limits.ts';

/**
 * Merges the patch into `document`, which it changes, and returns the result, which may share parts of `patch`. Objects
 * that are in the patch get sorted members as Go writes maps, which decides the error that is reported first.
 */
export function applyMergePatch(document: unknown, patch: unknown): SlicedWork<unknown> {
  return merge(document, patch, new SlicePace());
}

function* merge(document: unknown, patch: unknown, pace: SlicePace): SlicedWork<unknown> {
  if (!isJsonObject(document)) return yield* withoutNulls(patch, pace);
  if (!isJsonObject(patch)) return patch;
  const members = new MemberCount(document);
  for (const name of yield* namesInSlices(patch)) {
    if (pace.isDue()) yield;
    const value = getOwn(patch, name);
    const present = getOwn(document, name);
    members.changed(present !== undefined, value !== null);
    if (value === null) delete document[name];
    else setOwn(document, name, yield* mergedMember(present, value, pace));
  }
  members.check();
  const sorted: Record<string, unknown> = {};
  const names = yield* sortInSlices(yield* namesInSlices(document));
  for (const name of names) {
    setOwn(sorted, name, getOwn(document, name));
    if (pace.isDue()) yield;
  }
  rememberSize(sorted, names.length);
  return sorted;
}

function* mergedMember(present: unknown, value: unknown, pace: SlicePace): SlicedWork<unknown> {
  if (typeof value !== 'object') return value;
  return present === undefined || present === null
    ? yield* withoutNulls(value, pace)
    : yield* merge(present, value, pace);
}

function* withoutNulls(value: unknown, pace: SlicePace): SlicedWork<unknown> {
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) return yield* itemsWithoutNulls(value, pace);
  if (!isJsonObject(value)) return value;
  const result: Record<string, unknown> = {};
  let count = 0;
  for (const name of yield* sortInSlices(yield* namesInSlices(value))) {
    if (pace.isDue()) yield;
    const member = getOwn(value, name);
    if (member === null) continue;
    setOwn(result, name, yield* withoutNulls(member, pace));
    count++;
  }
  rememberSize(result, count);
  return result;
}

function* itemsWithoutNulls(list: readonly unknown[], pace: SlicePace): SlicedWork<unknown[]> {
  const items: unknown[] = [];
  for (const item of list) {
    items.push(yield* withoutNulls(item, pace));
    if (pace.isDue()) yield;
  }
  return items;
}
