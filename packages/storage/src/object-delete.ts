// The compare-and-delete loop, and the unsafe deletion of what cannot be read: etcd3/store.go Delete. spec/storage.md §2.3.
import type { KubernetesObject } from '@kapstan/api';
import type { Engine, KeyValue } from './engine.ts';
import type { ObjectCoder } from './object-coder.ts';
import { checkPreconditions } from './preconditions.ts';
import type { StorageDeleteOptions } from './storage.ts';
import { isStorageError, StorageError } from './storage-error.ts';
import { Stored } from './stored.ts';

/** State that a deletion looks at. `stored` is absent for an object that cannot be read (unsafe deletion only). */
interface DeleteState<T extends KubernetesObject> {
  readonly stored?: Stored<T>;
  readonly revision: Stored<T>['revision'];
}

/** One deletion from its first read to its commit. */
export class DeleteLoop<T extends KubernetesObject> {
  readonly #engine: Engine;
  readonly #coder: ObjectCoder<T>;
  readonly #key: string;
  readonly #options: StorageDeleteOptions<T>;

  constructor(
    engine: Engine,
    coder: ObjectCoder<T>,
    call: { readonly key: string; readonly options: StorageDeleteOptions<T> },
  ) {
    this.#engine = engine;
    this.#coder = coder;
    this.#key = call.key;
    this.#options = call.options;
  }

  async run(): Promise<Stored<T>> {
    const { cachedExisting, ignoreDecodeErrors = false, signal } = this.#options;
    let isCurrent = cachedExisting === undefined || ignoreDecodeErrors;
    let state: DeleteState<T> =
      isCurrent || cachedExisting === undefined
        ? await this.#read()
        : { stored: cachedExisting, revision: cachedExisting.revision };
    for (;;) {
      signal?.throwIfAborted();
      const refusal = await this.#refusal(state);
      if (refusal !== undefined) {
        if (isCurrent) throw refusal.error;
        const fresh = await this.#read();
        // The state was not out of date after all, so the answer stands.
        if (fresh.revision === state.revision) throw refusal.error;
        state = fresh;
        isCurrent = true;
        continue;
      }
      const outcome = await this.#engine.commit({
        key: this.#key,
        expectedRevision: state.revision,
        change: { type: 'delete' },
      });
      if (outcome.succeeded) return this.#deleted(state, outcome.revision);
      state = await this.#stateOf(outcome.current);
      isCurrent = true;
    }
  }

  async #refusal(state: DeleteState<T>): Promise<{ readonly error: unknown } | undefined> {
    try {
      checkPreconditions(this.#key, this.#options.preconditions, state.stored?.object);
      await this.#options.validateDeletion?.(state.stored?.object);
      return undefined;
    } catch (error) {
      return { error };
    }
  }

  async #read(): Promise<DeleteState<T>> {
    const { signal } = this.#options;
    const read = await this.#engine.get(this.#key, signal === undefined ? {} : { signal });
    return this.#stateOf(read.kv);
  }

  async #stateOf(kv: KeyValue | undefined): Promise<DeleteState<T>> {
    if (kv === undefined) throw new StorageError({ code: 'KeyNotFound', key: this.#key });
    await this.#coder.prepare(kv);
    try {
      const stored = this.#coder.read(kv);
      if (this.#options.ignoreDecodeErrors !== true) return { stored, revision: kv.modRevision };
    } catch (error) {
      if (this.#options.ignoreDecodeErrors === true && isStorageError(error, 'Corrupt'))
        return { revision: kv.modRevision };
      throw error;
    }
    const message = 'unsafe deletion is not allowed because the object is decodable from storage';
    throw new StorageError({ code: 'InvalidObject', key: this.#key, message });
  }

  #deleted(state: DeleteState<T>, revision: Stored<T>['revision']): Stored<T> {
    // What nobody can read has no last state: only its version is known.
    const last = state.stored ?? new Stored<T>(this.#key, state.revision, {} as Stored<T>['object']);
    return last.atRevision(revision);
  }
}
