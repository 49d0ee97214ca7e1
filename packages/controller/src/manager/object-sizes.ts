// ObjectSizes estimates how large the objects of an informer are, from a few of them. Used by manager-inspection.ts.
import type { Clock, KubernetesObject } from '@kapstan/api';
import type { SharedInformer } from '@kapstan/informers';

const sampled = 8;
/** Maximum number of parts of objects that one estimate reads; a larger object counts only as far as it was read. */
const maxParts = 2000;
const freshMs = 10_000;

interface Estimate {
  readonly atMs: number;
  readonly bytesOfOne: number;
}

export class ObjectSizes {
  readonly #clock: Clock;
  readonly #estimates = new WeakMap<SharedInformer<KubernetesObject>, Estimate>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the estimated size of all objects as JSON, in bytes. The average is measured again after 10 s. */
  of(informer: SharedInformer<KubernetesObject>): number {
    const { size } = informer.indexer;
    if (size === 0) return 0;
    const now = this.#clock.monotonicNow();
    const known = this.#estimates.get(informer);
    if (known !== undefined && now - known.atMs < freshMs) return Math.round(known.bytesOfOne * size);
    const bytesOfOne = averageOf(informer.indexer.list());
    this.#estimates.set(informer, { atMs: now, bytesOfOne });
    return Math.round(bytesOfOne * size);
  }
}

function averageOf(objects: readonly unknown[]): number {
  const count = Math.min(sampled, objects.length);
  let sum = 0;
  for (let index = 0; index < count; index++)
    sum += sizeOf(objects[Math.floor((index * objects.length) / count)], maxParts / sampled);
  return count === 0 ? 0 : sum / count;
}

/** Counts the letters of the JSON, up to a number of parts. */
function sizeOf(value: unknown, most: number): number {
  const waiting: unknown[] = [value];
  let bytes = 0;
  for (let parts = 0; waiting.length > 0 && parts < most; parts++) {
    const part = waiting.pop();
    if (typeof part === 'string') bytes += part.length + 2;
    else if (typeof part !== 'object' || part === null) bytes += 4;
    else bytes += 2 + addMembers(part, waiting, most);
  }
  return bytes;
}

/** Adds the members to those that wait, up to a number of them, and returns the length of their names. */
function addMembers(part: object, waiting: unknown[], most: number): number {
  let bytes = 0;
  for (const name in part) {
    if (waiting.length >= most) break;
    bytes += Array.isArray(part) ? 1 : name.length + 4;
    waiting.push((part as Readonly<Record<string, unknown>>)[name]);
  }
  return bytes;
}
