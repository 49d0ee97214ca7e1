// Finds consumers that change cached objects, which are shared (invariant I6). Meant for tests and debugging. Source: client-go
// tools/cache/mutation_detector.go.

import { type CancelTimer, type Clock, type DeepReadonly, deepCopy, type KubernetesObject } from '@kapstan/api';
import { deepFreeze } from '@kapstan/api/internal';
import { deletionHandlingKey } from '../fifo/deleted-final-state-unknown.ts';
import { changedPath } from './changed-path.ts';

/**
 * `off`: nothing is checked. `freeze`: cached objects are frozen, so a change throws where it happens; the objects must belong to the
 * informer alone. `compare`: each object is compared with a copy every second, for two minutes or more; this costs memory and time.
 */
export type MutationDetection = 'off' | 'freeze' | 'compare';

const checkMs = 1000;
const rotateMs = 120_000;

interface Sample {
  readonly object: unknown;
  readonly copy: DeepReadonly<KubernetesObject>;
}

export class MutationDetector {
  readonly #name: string;
  readonly #mode: MutationDetection;
  readonly #clock: Clock;
  readonly #onMutation: (error: Error) => void;
  #samples: Sample[] = [];
  #older: Sample[] = [];
  #rotatedAtMs: number;
  #cancel: CancelTimer | undefined;
  #isClosed = false;

  constructor(options: {
    readonly name: string;
    readonly mode: MutationDetection;
    readonly clock: Clock;
    readonly onMutation: (error: Error) => void;
  }) {
    this.#name = options.name;
    this.#mode = options.mode;
    this.#clock = options.clock;
    this.#onMutation = options.onMutation;
    this.#rotatedAtMs = options.clock.monotonicNow();
  }

  /** Call this with each object that goes into the cache. */
  watch<T extends KubernetesObject>(object: DeepReadonly<T>): void {
    if (this.#mode === 'freeze') deepFreeze(object);
    else if (this.#mode === 'compare' && !this.#isClosed) this.#samples.push({ object, copy: deepCopy(object) });
  }

  start(): void {
    if (this.#mode === 'compare') this.#arm();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
    this.#samples = [];
    this.#older = [];
  }

  #arm(): void {
    this.#cancel = this.#clock.setBackgroundTimer(() => {
      this.#check();
      // The callback may have closed the detector.
      if (!this.#isClosed) this.#arm();
    }, checkMs);
  }

  #check(): void {
    for (const list of [this.#samples, this.#older]) {
      for (const [i, sample] of [...list.entries()].reverse()) {
        const path = changedPath(sample.copy, sample.object);
        if (path === undefined) continue;
        list.splice(i, 1);
        this.#onMutation(new Error(`cache ${this.#name} modified: ${nameOf(sample.copy)} changed at ${path}`));
      }
    }
    if (this.#clock.monotonicNow() - this.#rotatedAtMs < rotateMs) return;
    this.#older = this.#samples;
    this.#samples = [];
    this.#rotatedAtMs = this.#clock.monotonicNow();
  }
}

/** Returns kind and key, never contents, because the object may be a secret. Items of lists have no kind. */
function nameOf(object: DeepReadonly<KubernetesObject>): string {
  const key = deletionHandlingKey(object);
  return object.kind === undefined ? key : `${object.kind} ${key}`;
}
