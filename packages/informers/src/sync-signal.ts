// A thing that happens once: "has synced", as a value and as a promise. Source: client-go DoneChecker.

/** Something to wait for with waitForCacheSync: an informer, or the registration of a handler. */
export interface Syncable {
  readonly hasSynced: boolean;
  /** Resolves when it has synced; never rejects. Never resolves when it is closed before. */
  whenSynced(): Promise<void>;
}

export class SyncSignal {
  #isDone = false;
  #resolve: () => void = () => undefined;
  readonly #promise: Promise<void>;

  constructor() {
    this.#promise = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  get promise(): Promise<void> {
    return this.#promise;
  }

  finish(): void {
    this.#isDone = true;
    this.#resolve();
  }
}
