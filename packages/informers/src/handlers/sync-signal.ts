// An event that happens once or never: "has synced", as a value and as a promise. Source: client-go DoneChecker.

/** Something that waitForCacheSync can wait for: an informer, or the registration of a handler. */
export interface Syncable {
  readonly hasSynced: boolean;
  /** Resolves to true once it has synced, to false if it was closed first. Never rejects. */
  whenSynced(): Promise<boolean>;
}

export class SyncSignal {
  #isDone = false;
  #resolve: (isDone: boolean) => void = () => undefined;
  readonly #promise: Promise<boolean>;

  constructor() {
    this.#promise = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  get promise(): Promise<boolean> {
    return this.#promise;
  }

  finish(): void {
    this.#isDone = true;
    this.#resolve(true);
  }

  /** Settles with false; has no effect once it is done. */
  giveUp(): void {
    this.#resolve(false);
  }
}
