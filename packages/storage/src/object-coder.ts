// ObjectCoder combines codec and transformer. It sits between object-store.ts and the bytes of its engine.
import type { DeepReadonly, KubernetesObject, Revision } from '@kapstan/api';
import { deepFreeze, messageOf, onNextTurn } from '@kapstan/api/internal';
import type { Codec } from './codec.ts';

import type { KeyValue } from './engine.ts';
import { StorageError } from './errors/storage-error.ts';
import { jsonEncoding, Stored } from './stored.ts';
import { identityTransformer, type Transformer } from './transform/transformer.ts';
import { withoutVersion } from './versioner.ts';
import { largeObjectBytes, runFirstInTurns, runInTurns } from './work-turns.ts';

/** An object as read for an update, with its plain bytes, which show whether an update changes anything. */
export interface ReadState<T extends KubernetesObject> {
  /** Absent: the key does not exist. */
  readonly stored?: Stored<T>;
  /** The encoded object before it is transformed. Absent: {@link ObjectCoder.plainOf} encodes it when needed. */
  readonly plain?: Uint8Array;
  /** 0 = the key does not exist. */
  readonly revision: Revision;
  /** True when the stored bytes should be rewritten even if the object does not change. */
  readonly isStale: boolean;
}

export interface ObjectCoderOptions<T extends KubernetesObject> {
  readonly codec: Codec<T>;
  readonly transformer: Transformer;
  readonly freeze: boolean;
  readonly onDecodeError?: () => void;
}

/** Turns objects into stored bytes and back. Every failure to read is a `Corrupt` error that names the key. */
export class ObjectCoder<T extends KubernetesObject> {
  readonly #codec: Codec<T>;
  readonly #transformer: Transformer;
  readonly #freeze: boolean;
  readonly #onDecodeError: (() => void) | undefined;
  /**
   * Objects read from the engine in this turn, by revision. A watch receives a write just before its writer gets the
   * answer, so both share one object.
   */
  readonly #fresh = new Map<Revision, Stored<T>>();
  /**
   * Large values being decoded, or decoded in this turn, by revision and key. A writer and all watches share one
   * decoding.
   */
  readonly #decoding = new Map<string, Promise<Stored<T> | undefined>>();
  /** Large values that {@link prepare} has decoded. */
  readonly #prepared = new WeakMap<KeyValue, Stored<T>>();

  constructor(options: ObjectCoderOptions<T>) {
    this.#codec = options.codec;
    this.#transformer = options.transformer;
    this.#freeze = options.freeze;
    this.#onDecodeError = options.onDecodeError;
  }

  /** Returns whether values are stored as the codec encodes them, without encryption. */
  get isPlain(): boolean {
    return this.#transformer === identityTransformer;
  }

  /**
   * Fetches everything needed to read a value, and decodes a large one. Returns undefined when there is nothing to do.
   * Callers await it before {@link read} and similar methods, and read in the same turn. Never rejects.
   */
  prepare(kv: KeyValue): Promise<void> | undefined {
    const fetching = this.#transformer.prepare?.(kv.value);
    if (kv.value.length < largeObjectBytes) return fetching;
    return this.#prepareLarge(kv, fetching);
  }

  async #prepareLarge(kv: KeyValue, fetching: Promise<void> | undefined): Promise<void> {
    await fetching;
    let bytes: Uint8Array;
    try {
      ({ bytes } = this.#transformer.fromStorage(kv.value, kv.key));
    } catch (error) {
      if (error instanceof Error) return; // The read that follows reports the error.
      throw error;
    }
    const stored = await this.#decodeLarge(kv.key, kv.modRevision, bytes);
    if (stored !== undefined) this.#prepared.set(kv, stored);
  }

  /** Resolves to undefined for a value that cannot be decoded; the read that follows reports why. */
  #decodeLarge(key: string, revision: Revision, plain: Uint8Array): Promise<Stored<T> | undefined> {
    const id = `${revision} ${key}`;
    let decoding = this.#decoding.get(id);
    if (decoding === undefined) {
      decoding = this.#decodeInTurns(key, revision, plain);
      this.#decoding.set(id, decoding);
      void decoding.then(() => onNextTurn(() => this.#decoding.delete(id)));
    }
    return decoding;
  }

  async #decodeInTurns(key: string, revision: Revision, plain: Uint8Array): Promise<Stored<T> | undefined> {
    const { decodeInSlices } = this.#codec;
    if (decodeInSlices === undefined) return undefined;
    try {
      const object = await runFirstInTurns(decodeInSlices(plain, revision));
      return this.#storedOf({ key, revision, plain }, this.#shared(object));
    } catch (error) {
      if (error instanceof Error) return undefined;
      throw error;
    }
  }

  read(kv: KeyValue): Stored<T> {
    const prepared = this.#prepared.get(kv);
    if (prepared !== undefined) return prepared;
    const { bytes } = this.#plain(kv);
    return this.#decode(kv.key, kv.modRevision, bytes);
  }

  /** Reads a value that was just written. Its writer and all watches receive it in one turn and share one decoding. */
  readChange(kv: KeyValue): Stored<T> {
    const fresh = this.#fresh.get(kv.modRevision);
    if (fresh?.key === kv.key) return fresh;
    const stored = this.read(kv);
    if (this.#fresh.size === 0) onNextTurn(() => this.#fresh.clear());
    this.#fresh.set(kv.modRevision, stored);
    return stored;
  }

  readState(kv: KeyValue): ReadState<T> {
    const { bytes, isStale } = this.#plain(kv);
    const stored = this.#prepared.get(kv) ?? this.#decode(kv.key, kv.modRevision, bytes);
    return { stored, plain: bytes, revision: kv.modRevision, isStale };
  }

  /** Returns the state to try first, from an object that may be out of date. */
  stateOf(stored: Stored<T>): ReadState<T> {
    return { stored, revision: stored.revision, isStale: false };
  }

  /** Returns the plain bytes of a state that has an object. */
  plainOf({ plain, stored }: ReadState<T>): Uint8Array {
    return plain ?? this.encode((stored as Stored<T>).object as T);
  }

  /** Encodes an object without its version. Throws TypeError when it cannot be encoded. */
  encode(object: T): Uint8Array {
    return this.#codec.encode(withoutVersion(object));
  }

  /** Does what {@link encode} does for an object of any size. Returns a promise only if it takes several turns. */
  encodeLarge(object: T): Uint8Array | Promise<Uint8Array> {
    const { encodeInSlices } = this.#codec;
    return encodeInSlices === undefined ? this.encode(object) : runInTurns(encodeInSlices(withoutVersion(object)));
  }

  isSameContent(a: Uint8Array, b: Uint8Array): boolean {
    return Buffer.compare(a, b) === 0 || (this.#codec.isSameContent?.(a, b) ?? false);
  }

  /**
   * Does what {@link isSameContent} does for values of any length. Returns a promise only if it takes several turns.
   */
  isSameLargeContent(a: Uint8Array, b: Uint8Array): boolean | Promise<boolean> {
    const { isSameContentInSlices } = this.#codec;
    if (isSameContentInSlices === undefined) return this.isSameContent(a, b);
    return Buffer.compare(a, b) === 0 || runInTurns(isSameContentInSlices(a, b));
  }

  transform(key: string, plain: Uint8Array): Uint8Array {
    return this.#transformer.toStorage(plain, key);
  }

  /**
   * Returns the object with which a write answers: the one a watch has decoded, or else a newly decoded one, so that
   * nobody shares state with the writer (I6).
   */
  written(key: string, plain: Uint8Array, revision: Revision): Stored<T> {
    const fresh = this.#fresh.get(revision);
    return fresh?.key === key ? fresh : this.#decode(key, revision, plain);
  }

  /** Does what {@link written} does for an object of any size. */
  async writtenLarge(key: string, plain: Uint8Array, revision: Revision): Promise<Stored<T>> {
    return (await this.#decodeLarge(key, revision, plain)) ?? this.written(key, plain, revision);
  }

  #plain(kv: KeyValue): { readonly bytes: Uint8Array; readonly isStale: boolean } {
    try {
      return this.#transformer.fromStorage(kv.value, kv.key);
    } catch (error) {
      throw corrupt(kv.key, `data from the storage is not transformable revision=${kv.modRevision}`, error);
    }
  }

  #decode(key: string, revision: Revision, plain: Uint8Array): Stored<T> {
    let object: DeepReadonly<T>;
    try {
      object = this.#parse(plain, revision);
    } catch (error) {
      this.#onDecodeError?.();
      throw corrupt(key, `object not decodable revision=${revision}`, error);
    }
    return this.#storedOf({ key, revision, plain }, object);
  }

  #storedOf({ key, revision, plain }: Written, object: DeepReadonly<T>): Stored<T> {
    const wire = this.#codec.wireJson?.(plain, revision);
    // Bytes that were decoded once can be decoded again, so only one of the two forms is kept.
    const kept = wire ?? withoutNeighbours(plain);
    const stored = new Stored<T>(key, revision, object);
    const { decodeInSlices } = this.#codec;
    const isLarge = plain.length >= largeObjectBytes && decodeInSlices !== undefined;
    const inTurns = isLarge
      ? async () => this.#shared(await runFirstInTurns(decodeInSlices(kept, revision)))
      : undefined;
    stored.rememberParser(() => this.#parse(kept, revision), inTurns);
    stored.storedBytes = plain.length;
    if (wire !== undefined) stored.rememberEncoded(jsonEncoding.name, wire);
    return stored;
  }

  #parse(plain: Uint8Array, revision: Revision): DeepReadonly<T> {
    return this.#shared(this.#codec.decode(plain, revision));
  }

  #shared(object: T): DeepReadonly<T> {
    return this.#freeze ? deepFreeze(object) : (object as DeepReadonly<T>);
  }
}

interface Written {
  readonly key: string;
  readonly revision: Revision;
  readonly plain: Uint8Array;
}

/** Copies bytes that would keep a much larger buffer in memory: an engine may read a whole page into one. */
function withoutNeighbours(bytes: Uint8Array): Uint8Array {
  return bytes.buffer.byteLength > 4 * bytes.length ? new Uint8Array(bytes) : bytes;
}

function corrupt(key: string, what: string, cause: unknown): StorageError {
  const why = messageOf(cause);
  return new StorageError({ code: 'Corrupt', key, message: `${what}: ${why}`, cause });
}
