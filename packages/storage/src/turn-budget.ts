// TurnBudget tells long loops over objects when to yield to the event loop. It counts bytes, not time, so it needs no
// clock.

// JSON.parse runs at 100 to 200 MB/s, so this is about 3 ms of work.
const bytesPerTurn = 256 * 1024;
// Cost of an object apart from its bytes: selectors, allocation.
const bytesPerObject = 512;

/** Work done since the event loop last ran. Check {@link isSpent} after each object, then await {@link nextTurn}. */
export class TurnBudget {
  #spent = 0;

  spend(bytes: number): void {
    this.#spent += bytes + bytesPerObject;
  }

  get isSpent(): boolean {
    return this.#spent >= bytesPerTurn;
  }

  /** Resolves in the next turn of the event loop. */
  nextTurn(): Promise<void> {
    this.#spent = 0;
    return new Promise((resolve) => setImmediate(resolve));
  }
}
