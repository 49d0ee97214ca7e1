// A thing that happens once or never: "has synced", as a value and as a promise. Source: client-go DoneChecker.

/** Something to wait for with waitForCacheSync: an informer, or the registration of a handler. */
export interface Syncable {
  readonly hasSynced: boolean;
  /** Resolves to true when it has synced, to false when it was closed before. Never rejects. */
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

  /** It will not happen any more. Nothing when it has. */
  giveUp(): void {
    this.#resolve(false);
  }
}
