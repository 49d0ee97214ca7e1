// EnvelopeTransformer implements KMS v2: it encrypts data with its own key (data-key.ts) and stores that key next to
// the data, sealed by a key service. Keys from another server or from before a restart are opened by the key service
// once, then kept. Source: value/encrypt/envelope/kmsv2.
import { randomUUID } from 'node:crypto';
import type { Clock, Logger } from '@kapstan/api';
import { messageOf } from '@kapstan/api/internal';
import { type StoreTrace, StoreTracer, type TracedCall } from '../tracing/store-trace.ts';
import { aesGcmTransformer } from './aes-transformers.ts';
import type { DataKey } from './data-key.ts';
import {
  decodeEncryptedObject,
  dekSource,
  type EncryptedObject,
  encodeEncryptedObject,
  sealedKeyName,
} from './encrypted-object.ts';
import { ExpiringCache } from './expiring-cache.ts';
import type { KeyObserver } from './key-observer.ts';
import type { KeyService } from './key-service.ts';
import { seedTransformer } from './seed-transformer.ts';
import type { Transformed, Transformer } from './transformer.ts';

/** Options of an {@link EnvelopeTransformer}. */
export interface EnvelopeTransformerOptions {
  /** Name of the provider, for traces. */
  readonly providerName: string;
  readonly dataKey: Pick<DataKey, 'forReading' | 'forWriting'>;
  readonly service: Pick<KeyService, 'decrypt'>;
  readonly clock: Clock;
  /** Logs calls of the key service that take more than 500 ms. */
  readonly logger: Logger;
  readonly observer?: KeyObserver | undefined;
}

/**
 * Time for which an opened key is kept. Few are ever needed: one per start of a server and per key of the service.
 * Source: kmsv2 cacheTTL.
 */
const openedKeyTtlMs = 24 * 3_600_000;
/** Time for which a failure is kept. Only the caller that waited for the key reads it, in the next turn. */
const failureTtlMs = 60_000;

/** Encrypts each value with a data key, which a key service encrypts (KMS). */
export class EnvelopeTransformer implements Transformer {
  readonly #options: EnvelopeTransformerOptions;
  readonly #opened: ExpiringCache<Transformer>;
  /** Pending requests for keys, by name of the key. One request serves all callers that wait. */
  readonly #opening = new Map<string, Promise<void>>();
  readonly #failures: ExpiringCache<Error>;
  readonly #tracer: StoreTracer;
  readonly #reading: TracedCall;
  readonly #writing: TracedCall;

  constructor(options: EnvelopeTransformerOptions) {
    this.#options = options;
    this.#opened = new ExpiringCache(options.clock, openedKeyTtlMs);
    this.#failures = new ExpiringCache(options.clock, failureTtlMs);
    this.#tracer = new StoreTracer(options);
    const attributes = (): { readonly 'transformer.provider.name': string } => ({
      'transformer.provider.name': options.providerName,
    });
    this.#reading = { name: 'TransformFromStorage with envelopeTransformer', attributes };
    this.#writing = { name: 'TransformToStorage with envelopeTransformer', attributes };
  }

  fromStorage(bytes: Uint8Array, context: string): Transformed {
    return this.#tracer.runNow(this.#reading, (trace) => this.#read(bytes, context, trace));
  }

  toStorage(bytes: Uint8Array, context: string): Uint8Array {
    return this.#tracer.runNow(this.#writing, (trace) => {
      const { transformer, sealed, sourceType, name } = this.#options.dataKey.forWriting();
      // The key is kept, because data written with it will be read after the next key has replaced it.
      this.#keep(name, transformer);
      trace.step('About to encrypt data using DEK');
      const data = transformer.toStorage(bytes, context);
      trace.step('Data encryption succeeded');
      this.#options.observer?.onUse('to_storage', sealed.keyId);
      trace.step('About to encode encrypted object');
      const encoded = encodeEncryptedObject({ ...sealed, sourceType, data });
      trace.step('Encoded encrypted object');
      return encoded;
    });
  }

  prepare(bytes: Uint8Array): Promise<void> | undefined {
    const object = readable(bytes);
    if (object === undefined) return undefined;
    const name = sealedKeyName(object.sourceType, object);
    if (this.#opened.get(name) !== undefined) return undefined;
    let opening = this.#opening.get(name);
    if (opening === undefined) {
      opening = this.#open(name, object).finally(() => this.#opening.delete(name));
      this.#opening.set(name, opening);
    }
    return opening;
  }

  #read(bytes: Uint8Array, context: string, trace: StoreTrace): Transformed {
    trace.step('About to decode encrypted object');
    const object = decodeEncryptedObject(bytes);
    trace.step('Decoded encrypted object');
    const current = this.#options.dataKey.forReading();
    const name = sealedKeyName(object.sourceType, object);
    const transformer = this.#opened.get(name);
    if (transformer === undefined) throw this.#failures.get(name) ?? new Error('the data key has not been opened');
    const isOld = object.keyId !== current.sealed.keyId || object.sourceType !== current.sourceType;
    this.#options.observer?.onUse('from_storage', object.keyId);
    trace.step('About to decrypt data using DEK');
    const read = transformer.fromStorage(object.data, context);
    trace.step('Data decryption succeeded');
    return isOld ? { bytes: read.bytes, isStale: true } : read;
  }

  #keep(name: string, transformer: Transformer): void {
    this.#opened.set(name, transformer);
    this.#options.observer?.onKept(this.#opened.size);
  }

  async #open(name: string, object: EncryptedObject): Promise<void> {
    this.#failures.delete(name);
    try {
      const key = await this.#tracer.run(this.#reading, (trace) => this.#askFor(object, trace));
      const transformer = object.sourceType === dekSource.hkdfSeed ? seedTransformer(key) : aesGcmTransformer(key);
      this.#keep(name, transformer);
    } catch (error) {
      this.#failures.set(name, new Error(`failed to decrypt DEK, error: ${messageOf(error)}`, { cause: error }));
    }
  }

  async #askFor(object: EncryptedObject, trace: StoreTrace): Promise<Uint8Array> {
    trace.step('About to decrypt DEK using remote service');
    try {
      const key = await this.#options.service.decrypt(object, randomUUID());
      trace.step('DEK decryption succeeded');
      return key;
    } catch (error) {
      trace.step('DEK decryption failed');
      throw error;
    }
  }
}

/** Decodes the object. Undefined for bytes that {@link EnvelopeTransformer.fromStorage} refuses with the reason. */
function readable(bytes: Uint8Array): EncryptedObject | undefined {
  try {
    return decodeEncryptedObject(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
