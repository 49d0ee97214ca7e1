// OrderedSteps runs the steps of a watch in the order of its events, although some must wait until a key is fetched. If
// nothing waits, a step runs at once. Used by object-watch.ts.
import { StorageError } from './errors/storage-error.ts';

/**
 * Maximum number of steps that may wait. Keys are few and arrive within seconds, so more than this means that the key
 * service is lost.
 */
const maxWaiting = 10_000;

export class OrderedSteps {
  readonly #onError: (error: unknown) => void;
  #tail: Promise<unknown> | undefined;
  #waiting = 0;

  /** `onError` receives the error of a step that had to wait, and an error for each step beyond 10,000 waiting ones. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** Returns whether a step with this need comes at once, so that its caller can take it without `run`. */
  mayRunNow(need: Promise<unknown> | undefined): boolean {
    return need === undefined && this.#tail === undefined;
  }

  /** Runs a step after all steps before it, once its need is met. */
  run(need: Promise<unknown> | undefined, step: () => void): void {
    if (this.mayRunNow(need)) return step();
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
