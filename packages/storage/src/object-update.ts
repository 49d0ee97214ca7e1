// The compare-and-set loop of updates. Source: etcd3/store.go GuaranteedUpdate.
import { deepCopy, isConflict, type KubernetesObject, type Revision } from '@kapstan/api';
import { copyInSlices } from '@kapstan/api/internal';
import type { Engine, KeyValue } from './engine.ts';
import { StorageError } from './errors/storage-error.ts';
import type { ObjectCoder, ReadState } from './object-coder.ts';
import { checkPreconditions } from './preconditions.ts';
import type { PutCommitter } from './put-committer.ts';
import { surelyDiffer } from './same-content.ts';
import type { GuaranteedUpdateOptions, TryUpdate, UpdateResult } from './storage.ts';
import type { StoreCounters } from './store-counters.ts';
import type { Stored } from './stored.ts';
import type { StoreTrace } from './tracing/store-trace.ts';
import { withoutVersion } from './versioner.ts';
import { largeObjectBytes, runInTurns } from './work-turns.ts';
import type { WriteTurns } from './write-turns.ts';

export interface UpdateContext<T extends KubernetesObject> {
  readonly engine: Engine;
  readonly puts: PutCommitter;
  readonly coder: ObjectCoder<T>;
  readonly counters: StoreCounters;
  readonly trace: StoreTrace;
  readonly turns: WriteTurns;
}

export interface ObjectUpdate<T extends KubernetesObject> {
  readonly key: string;
  readonly tryUpdate: TryUpdate<T>;
  readonly options: GuaranteedUpdateOptions<T>;
}

/** One update from its first read to its write. */
export class UpdateLoop<T extends KubernetesObject> {
  readonly #engine: Engine;
  readonly #puts: PutCommitter;
  readonly #coder: ObjectCoder<T>;
  readonly #counters: StoreCounters;
  readonly #trace: StoreTrace;
  readonly #turns: WriteTurns;
  readonly #update: ObjectUpdate<T>;
  #state: ReadState<T>;
  /** False while the state comes from a cache and may be out of date. */
  #isCurrent: boolean;

  constructor({ engine, puts, coder, counters, trace, turns }: UpdateContext<T>, update: ObjectUpdate<T>) {
    this.#engine = engine;
    this.#puts = puts;
    this.#coder = coder;
    this.#counters = counters;
    this.#trace = trace;
    this.#turns = turns;
    this.#update = update;
    const cached = update.options.cachedExisting;
    this.#isCurrent = false;
    this.#state = cached === undefined ? absent : coder.stateOf(cached);
  }

  async run(): Promise<Stored<T>> {
    const { options } = this.#update;
    if (options.cachedExisting === undefined) await this.#read();
    this.#trace.step('initial value restored');
    for (;;) {
      options.signal?.throwIfAborted();
      if (!(await this.#preconditionsHold())) continue;
      const result = await this.#call();
      if (result === undefined) continue;
      this.#trace.step('About to Encode');
      const { object, isLarge } = result;
      const plain = isLarge === true ? await this.#coder.encodeLarge(object) : this.#coder.encode(object);
      this.#trace.step('Encode succeeded', plain.length);
      const unchanged = await this.#unchanged(plain, object);
      if (unchanged === 'retry') continue;
      if (unchanged !== 'changed') return unchanged;
      const written = await this.#write(plain, result.ttlSeconds);
      if (written !== undefined) return written;
    }
  }

  async #preconditionsHold(): Promise<boolean> {
    try {
      checkPreconditions(this.#update.key, this.#update.options.preconditions, this.#state.stored?.object);
      return true;
    } catch (error) {
      if (this.#isCurrent) throw error;
      await this.#refresh();
      return false;
    }
  }

  /** Calls the callback. Undefined: it refused a state that was out of date, so the update is tried again. */
  async #call(): Promise<UpdateResult<T> | undefined> {
    const { stored, revision } = this.#state;
    const isLarge = stored !== undefined && stored.storedBytes >= largeObjectBytes;
    if (isLarge) await stored.restore();
    try {
      if (!isLarge) {
        const copy = stored === undefined ? undefined : (deepCopy(stored.object) as T);
        return await this.#update.tryUpdate(copy, { ttlSeconds: 0, revision });
      }
      const copy = (await runInTurns(copyInSlices(stored.object), this.#update.options.signal)) as T;
      return await this.#update.tryUpdate(copy, { ttlSeconds: 0, revision, isLarge });
    } catch (error) {
      if (this.#isCurrent) throw this.#refusal(error);
      await this.#refresh();
      if (this.#state.revision === revision) throw this.#refusal(error);
      return undefined;
    }
  }

  #refusal(error: unknown): unknown {
    if (isConflict(error)) this.#turns.contended(this.#update.key);
    return error;
  }

  /** Returns the stored object when the update changes nothing in the state that is stored now. */
  async #unchanged(plain: Uint8Array, object: T): Promise<Stored<T> | 'changed' | 'retry'> {
    if (this.#state.isStale || !(await this.#hasContent(plain, object))) return 'changed';
    if (!this.#isCurrent) {
      await this.#refresh();
      if (!(await this.#hasContent(plain, object))) return 'retry';
    }
    return this.#state.isStale || this.#state.stored === undefined ? 'changed' : this.#state.stored;
  }

  #hasContent(plain: Uint8Array, object: T): boolean | Promise<boolean> {
    const { stored, plain: present } = this.#state;
    if (stored === undefined) return false;
    // Equal content has equal length, so the length alone reveals most changes.
    if (stored.storedBytes !== 0 && stored.storedBytes !== plain.length) return false;
    if (plain.length >= largeObjectBytes) return this.#isSameLarge(plain);
    // Comparing the objects costs less than encoding the present one, which is needed only if they seem equal.
    if (present === undefined && surelyDiffer(withoutVersion(stored.object as T), withoutVersion(object))) return false;
    return this.#coder.isSameContent(plain, this.#coder.plainOf(this.#state));
  }

  async #isSameLarge(plain: Uint8Array): Promise<boolean> {
    const { plain: known, stored } = this.#state;
    const present = known ?? (await this.#coder.encodeLarge((stored as Stored<T>).object as T));
    return this.#coder.isSameLargeContent(plain, present);
  }

  /** Returns undefined when another writer was first; that writer's state is now the one to update. */
  async #write(plain: Uint8Array, ttlSeconds: number | undefined): Promise<Stored<T> | undefined> {
    const { key, options } = this.#update;
    const { signal } = options;
    const value = this.#coder.transform(key, plain);
    this.#trace.step('TransformToStorage succeeded');
    const expectedRevision = this.#state.revision;
    const put = { key, expectedRevision, value, ttlSeconds, signal, span: this.#trace.part };
    this.#trace.step('Transaction prepared');
    const outcome = await this.#puts.commit('update', put);
    this.#trace.step('Txn call completed');
    if (!outcome.succeeded) {
      await this.#adopt(outcome.current);
      this.#trace.step('Retry value restored');
      return undefined;
    }
    this.#trace.step('Transaction committed');
    const isLarge = plain.length >= largeObjectBytes;
    const stored = isLarge
      ? await this.#coder.writtenLarge(key, plain, outcome.revision)
      : this.#coder.written(key, plain, outcome.revision);
    this.#trace.step('decode succeeded', plain.length);
    return stored;
  }

  /** Reads the state again, because it was or may have been out of date. */
  async #refresh(): Promise<void> {
    await this.#read();
    this.#trace.step('Retry value restored');
  }

  async #read(): Promise<void> {
    const { key, options } = this.#update;
    const { signal } = options;
    const read = await this.#counters.request('get', () => this.#engine.get(key, { signal, span: this.#trace.part }));
    await this.#adopt(read.kv);
  }

  async #adopt(kv: KeyValue | undefined): Promise<void> {
    const { key, options } = this.#update;
    this.#isCurrent = true;
    if (kv !== undefined) {
      await this.#coder.prepare(kv);
      this.#state = this.#coder.readState(kv);
    } else if (options.ignoreNotFound === true) this.#state = absent;
    else throw new StorageError({ code: 'KeyNotFound', key });
  }
}

/** The state of an absent object, which fits every type. */
const absent: ReadState<never> = { revision: 0 as Revision, isStale: false };
