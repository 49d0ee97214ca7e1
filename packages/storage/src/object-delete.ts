// The compare-and-delete loop, and the unsafe deletion of objects that cannot be read. Source: etcd3/store.go Delete.
import type { KubernetesObject, Revision } from '@kapstan/api';
import type { CallSignal } from '@kapstan/api/internal';
import type { Commit, CommitResult, Engine, KeyValue } from './engine.ts';
import { isStorageError, StorageError } from './errors/storage-error.ts';
import type { ObjectCoder } from './object-coder.ts';
import { checkPreconditions } from './preconditions.ts';
import type { StorageDeleteOptions, UnreadableDeleteOptions } from './storage.ts';
import type { StoreCounters } from './store-counters.ts';
import type { Stored } from './stored.ts';
import type { StoreTrace } from './tracing/store-trace.ts';
import type { WriteTurns } from './write-turns.ts';

export interface DeleteContext<T extends KubernetesObject> {
  readonly engine: Engine;
  readonly coder: ObjectCoder<T>;
  readonly counters: StoreCounters;
  readonly trace: StoreTrace;
  readonly turns: WriteTurns;
}

export interface ObjectDelete<T extends KubernetesObject> {
  readonly key: string;
  readonly options: StorageDeleteOptions<T>;
}

/** One deletion from its first read to its commit. */
export class DeleteLoop<T extends KubernetesObject> {
  readonly #context: DeleteContext<T>;
  readonly #key: string;
  readonly #options: StorageDeleteOptions<T>;

  constructor(context: DeleteContext<T>, call: ObjectDelete<T>) {
    this.#context = context;
    this.#key = call.key;
    this.#options = call.options;
  }

  async run(): Promise<Stored<T>> {
    const { cachedExisting, signal } = this.#options;
    const { trace } = this.#context;
    let isCurrent = cachedExisting === undefined;
    let stored = cachedExisting ?? (await this.#read());
    trace.step('initial value restored');
    for (;;) {
      signal?.throwIfAborted();
      const refusal = await this.#refusal(stored);
      if (refusal !== undefined) {
        if (isCurrent) throw refusal.error;
        const fresh = await this.#read();
        // The state was up to date after all, so the refusal stands.
        if (fresh.revision === stored.revision) throw refusal.error;
        stored = fresh;
      } else {
        const outcome = await commitDelete(this.#context, {
          key: this.#key,
          expectedRevision: stored.revision,
          signal,
        });
        if (outcome.succeeded) return stored.atRevision(outcome.revision);
        stored = await this.#decoded(outcome.current);
      }
      trace.step('Retry value restored');
      isCurrent = true;
    }
  }

  async #refusal(stored: Stored<T>): Promise<{ readonly error: unknown } | undefined> {
    try {
      checkPreconditions(this.#key, this.#options.preconditions, stored.object);
      await this.#options.validateDeletion?.(stored.object);
      return undefined;
    } catch (error) {
      return { error };
    }
  }

  async #read(): Promise<Stored<T>> {
    return this.#decoded(await readKey(this.#context, this.#key, this.#options.signal));
  }

  async #decoded(kv: KeyValue | undefined): Promise<Stored<T>> {
    if (kv === undefined) throw new StorageError({ code: 'KeyNotFound', key: this.#key });
    await this.#context.coder.prepare(kv);
    return this.#context.coder.read(kv);
  }
}

/** Removes an object that cannot be decoded, and refuses to remove any other. */
export async function deleteUnreadable<T extends KubernetesObject>(
  context: DeleteContext<T>,
  call: { readonly key: string; readonly options: UnreadableDeleteOptions },
): Promise<Revision> {
  const { key, options } = call;
  let kv = await readKey(context, key, options.signal);
  for (;;) {
    options.signal?.throwIfAborted();
    const revision = await requireUnreadable(context.coder, key, kv);
    await options.validateDeletion?.();
    const outcome = await commitDelete(context, { key, expectedRevision: revision, signal: options.signal });
    if (outcome.succeeded) return outcome.revision;
    kv = outcome.current;
  }
}

async function requireUnreadable<T extends KubernetesObject>(
  coder: ObjectCoder<T>,
  key: string,
  kv: KeyValue | undefined,
): Promise<Revision> {
  if (kv === undefined) throw new StorageError({ code: 'KeyNotFound', key });
  await coder.prepare(kv);
  try {
    coder.read(kv);
  } catch (error) {
    if (isStorageError(error, 'Corrupt')) return kv.modRevision;
    throw error;
  }
  const message = 'unsafe deletion is not allowed because the object is decodable from storage';
  throw new StorageError({ code: 'InvalidObject', key, message });
}

type DeleteParts = Pick<DeleteContext<never>, 'engine' | 'counters' | 'trace' | 'turns'>;

async function readKey(
  { engine, counters, trace }: DeleteParts,
  key: string,
  signal?: CallSignal,
): Promise<KeyValue | undefined> {
  return (await counters.request('get', () => engine.get(key, { signal, span: trace.part }))).kv;
}

async function commitDelete(
  { engine, counters, trace, turns }: DeleteParts,
  call: Pick<Commit, 'key' | 'expectedRevision'> & { readonly signal: CallSignal | undefined },
): Promise<CommitResult> {
  const commit: Commit = { ...call, change: { type: 'delete' }, span: trace.part };
  const begun = turns.begin(call.key);
  try {
    const outcome = await counters.request('delete', () => engine.commit(commit));
    trace.step('Txn call completed');
    return outcome;
  } finally {
    turns.end(call.key, begun);
  }
}
