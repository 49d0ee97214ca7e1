// Walks over large JSON values as SlicedWork: copying, sorting, and the pace at which long walks yield.

import { namesInSlices, rememberCopy, type SlicedWork } from '../time/sliced-work.ts';
import { type DeepWritable, ExactNumber, setOwn } from './json.ts';

/** Members of maps and lists between two yields of a walk that takes about a third of a microsecond for each. */
const stepsPerSlice = 1024;

/**
 * Counts the steps of one walk across everything that it walks, because many short lists take as long as one long list.
 */
export class SlicePace {
  #left: number = stepsPerSlice;

  /**
   * Returns true once every 1024 steps, when the walk must yield. Call it once per member or item, or with their
   * number.
   */
  isDue(steps = 1): boolean {
    this.#left -= steps;
    if (this.#left > 0) return false;
    this.#left = stepsPerSlice;
    return true;
  }
}

/** Makes the copy of {@link deepCopy} at the pace of the surrounding walk. */
export function* copyAtPace<T>(value: T, pace: SlicePace): SlicedWork<DeepWritable<T>> {
  return (isContainer(value) ? yield* copyContainer(value, pace) : value) as DeepWritable<T>;
}

function* copyContainer(value: unknown, pace: SlicePace): SlicedWork<unknown> {
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const item of value) {
      list.push(isContainer(item) ? yield* copyContainer(item, pace) : item);
      if (pace.isDue()) yield;
    }
    return list;
  }
  const map = value as Record<string, unknown>;
  const copy: Record<string, unknown> = {};
  const names = yield* namesInSlices(map);
  for (const name of names) {
    const member = map[name];
    setOwn(copy, name, isContainer(member) ? yield* copyContainer(member, pace) : member);
    if (pace.isDue()) yield;
  }
  rememberCopy(copy, map, names.length);
  return copy;
}

function isContainer(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !(value instanceof ExactNumber);
}

type Compare<T> = (a: T, b: T) => number;

/** Number of items sorted in one step. */
const itemsPerRun = 1024;

/**
 * Sorts the list in place and returns it. The sort is stable, like Array.prototype.sort; without `compare`, items are ordered by their texts.
 */
export function* sortInSlices<T>(items: T[], compare?: Compare<T>): SlicedWork<T[]> {
  if (items.length <= itemsPerRun) return items.sort(compare);
  const order = compare ?? ((a: T, b: T) => (a < b ? -1 : a > b ? 1 : 0));
  let runs: T[][] = [];
  for (let start = 0; start < items.length; start += itemsPerRun) {
    runs.push(items.slice(start, start + itemsPerRun).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      const [left, right] = [runs[at] as T[], runs[at + 1]];
      merged.push(right === undefined ? left : yield* mergeRuns(left, right, order));
    }
    runs = merged;
  }
  const [sorted = []] = runs;
  for (let index = 0; index < sorted.length; index++) items[index] = sorted[index] as T;
  return items;
}

function* mergeRuns<T>(left: readonly T[], right: readonly T[], compare: Compare<T>): SlicedWork<T[]> {
  const merged: T[] = [];
  let at = 0;
  for (const item of left) {
    while (at < right.length && compare(right[at] as T, item) < 0) {
      merged.push(right[at++] as T);
      if (merged.length % itemsPerRun === 0) yield;
    }
    merged.push(item);
    if (merged.length % itemsPerRun === 0) yield;
  }
  while (at < right.length) merged.push(right[at++] as T);
  return merged;
}
