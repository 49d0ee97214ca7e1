// OrderedSteps: what a watch does with its events, in the order in which they came, though some must wait for a key to be
// fetched. Nothing waits while nothing needs to: then a step runs at once. Used by object-watch.ts.
import { StorageError } from './storage-error.ts';

/** Steps that may wait. Keys are few and come within seconds, so more than this means that the key service is lost. */
const maxWaiting = 10_000;

export class OrderedSteps {
  readonly #onError: (error: unknown) => void;
  #tail: Promise<unknown> | undefined;
  #waiting = 0;

  /** Told of what a step threw that had to wait, and once more than 10,000 do. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** Runs a step when its need is met and all steps before it have run. */
  run(need: Promise<unknown> | undefined, step: () => void): void {
    if (need === undefined && this.#tail === undefined) return step();
    if (this.#waiting >= maxWaiting) {
      return this.#onError(new StorageError({ code: 'NotReady', message: 'too many events wait for a key service' }));
    }
    this.#waiting++;
    this.#tail = Promise.all([this.#tail, need])
      .then(step)
      .catch(this.#onError)
      .finally(() => {
        if (--this.#waiting === 0) this.#tail = undefined;
      });
  }
}
