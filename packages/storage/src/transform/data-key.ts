// DataKey holds the seed that encrypts new data, sealed by a key service, and replaces it when the key service changes
// its own key. It sits between key-service.ts and envelope-transformer.ts. Source: encryptionconfig kmsv2PluginProbe.

import { randomBytes, randomUUID } from 'node:crypto';
import { type CancelTimer, type Clock, formatTime, type Logger } from '@kapstan/api';
import { messageOf } from '@kapstan/api/internal';
import { dekSource, keyIdError, keyIdHash, sealedKeyName, validateSealedKey } from './encrypted-object.ts';
import type { KeyObserver } from './key-observer.ts';
import type { KeyService, KeyServiceStatus, SealedKey } from './key-service.ts';
import { seedBytes, seedTransformer } from './seed-transformer.ts';
import type { Transformer } from './transformer.ts';

/** The present key. Reading with it is always allowed, writing only until it expires. */
export interface WriteKey {
  readonly transformer: Transformer;
  readonly sealed: SealedKey;
  readonly sourceType: number;
  /** The key's {@link sealedKeyName}. */
  readonly name: string;
  /** Expiry on the monotonic clock, and on the wall clock for the error message. */
  readonly expiresAtMs: number;
  readonly expiresAt: number;
}

/** Options of a {@link DataKey}. */
export interface DataKeyOptions {
  /** Name of the provider, for errors. */
  readonly providerName: string;
  readonly service: KeyService;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer?: KeyObserver | undefined;
}

const healthyPollMs = 60_000;
const unhealthyPollMs = 10_000;
/**
 * Time for which writes continue while the key service fails: three healthy polls, so that one lost poll does no harm.
 */
const writeTtlMs = 180_000;
const healthyTtlMs = 20_000;
const unhealthyTtlMs = 3_000;
const versions = ['v2', 'v2beta1'];

/** A key that encrypts data, renewed by a key service (KMS v2). */
export class DataKey {
  readonly #options: DataKeyOptions;
  #writeKey: WriteKey | undefined;
  #version = '';
  #checking: Promise<Error | undefined> | undefined;
  #lastCheck: { readonly error: Error | undefined; readonly atMs: number } | undefined;
  #cancelPoll: CancelTimer = () => undefined;
  #isClosed = false;

  constructor(options: DataKeyOptions) {
    this.#options = options;
  }

  /**
   * Fetches the first key, then polls once a minute. Resolves after the first attempt even if it failed, because a key
   * service may come up later.
   */
  async start(): Promise<void> {
    const error = await this.check();
    if (error !== undefined) {
      const { logger, providerName } = this.#options;
      logger.warn('key service is not healthy', { provider: providerName, error: error.message });
    }
    if (this.#isClosed) return;
    const { clock } = this.#options;
    const pauseMs = error === undefined ? healthyPollMs : unhealthyPollMs;
    this.#cancelPoll = clock.setBackgroundTimer(() => void this.start(), pauseMs);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelPoll();
  }

  /**
   * Resolves to undefined when the key service is healthy and a key exists, otherwise to the error. Asks the service at
   * most every 20 s, or every 3 s while it fails.
   */
  check(): Promise<Error | undefined> {
    const { clock } = this.#options;
    const last = this.#lastCheck;
    const ttlMs = last?.error === undefined ? healthyTtlMs : unhealthyTtlMs;
    if (last !== undefined && clock.monotonicNow() - last.atMs < ttlMs) return Promise.resolve(last.error);
    this.#checking ??= this.#ask().then((error) => {
      this.#lastCheck = { error, atMs: clock.monotonicNow() };
      this.#checking = undefined;
      return error;
    });
    return this.#checking;
  }

  /**
   * Returns the latest key; throws if there has never been one. Reads only compare against it, so it may be expired.
   */
  forReading(): WriteKey {
    // This is kube-apiserver's text for a key service that has not answered yet.
    if (this.#writeKey === undefined) throw new TypeError('got unexpected nil transformer');
    return this.#writeKey;
  }

  /**
   * Returns the key for new data. Throws like {@link forReading}, and when the key service has failed for three
   * minutes.
   */
  forWriting(): WriteKey {
    const key = this.forReading();
    const { clock } = this.#options;
    if (clock.monotonicNow() <= key.expiresAtMs) return key;
    const times = `expired at ${formatTime(key.expiresAt)} (current time is ${formatTime(clock.now())})`;
    throw new TypeError(`encryptedDEKSource with keyID hash "${keyIdHash(key.sealed.keyId)}" ${times}`);
  }

  /** Asks the key service for its status. Never rejects. */
  async #ask(): Promise<Error | undefined> {
    const { service, providerName, observer } = this.#options;
    let status: KeyServiceStatus;
    try {
      status = await service.status();
    } catch (error) {
      const what = 'failed to perform status section of the healthz check for KMS Provider';
      return new Error(`${what} ${providerName}, error: ${messageOf(error)}`, { cause: error });
    }
    const errors = this.#statusErrors(status);
    const badKeyId = keyIdError(status.keyId);
    if (badKeyId !== undefined) {
      observer?.onInvalidKeyId(status.keyId === '' ? 'empty' : 'too_long');
      errors.push(`got invalid KMSv2 KeyID hash "${keyIdHash(status.keyId)}": ${badKeyId}`);
    } else {
      observer?.onStatus(status.keyId);
      errors.push(...(await this.#follow(status.keyId)));
    }
    if (errors.length === 0) return undefined;
    const text = errors.length === 1 ? errors[0] : `[${errors.join(', ')}]`;
    return new Error(`kmsv2 Provider ${providerName} is not healthy, error: ${text}`);
  }

  #statusErrors({ healthz, version }: KeyServiceStatus): string[] {
    const errors: string[] = [];
    if (healthz !== 'ok') errors.push(`got unexpected healthz status: ${healthz}`);
    if (!versions.includes(version)) return [...errors, `expected KMSv2 API version v2, got ${version}`];
    if (this.#version === '') this.#version = version;
    if (this.#version !== version) {
      const rule = 'KMSv2 API version should not change after the initial status response version';
      errors.push(`${rule} ${this.#version}, got ${version}`);
    }
    return errors;
  }

  /**
   * Extends the key's life while its name stays the same, otherwise creates a new one. After a failure the old key is
   * kept until it expires.
   */
  async #follow(statusKeyId: string): Promise<string[]> {
    const { clock } = this.#options;
    const old = this.#writeKey;
    // The clock is read before the call, because the time for writes counts from a status that is known.
    const expiry = { expiresAtMs: clock.monotonicNow() + writeTtlMs, expiresAt: clock.now() + writeTtlMs };
    if (old?.sealed.keyId === statusKeyId) {
      this.#writeKey = { ...old, ...expiry };
      return [];
    }
    const uid = randomUUID();
    let sealedId = '';
    let failure = '<nil>';
    try {
      const next = await this.#generate(uid, expiry);
      sealedId = next.sealed.keyId;
      if (sealedId === statusKeyId) {
        this.#writeKey = next;
        return [];
      }
    } catch (error) {
      failure = messageOf(error);
    }
    const hashes = `statusKeyIDHash="${keyIdHash(statusKeyId)}", encryptKeyIDHash="${keyIdHash(sealedId)}", stateKeyIDHash="${keyIdHash(old?.sealed.keyId ?? '')}"`;
    const until = old === undefined ? '0001-01-01T00:00:00Z' : formatTime(old.expiresAt);
    const state = old === undefined ? 'got unexpected nil transformer' : '<nil>';
    return [
      `failed to rotate DEK uid="${uid}", useSeed=true, errState=${state}, errGen=${failure}, ${hashes}, expirationTimestamp=${until}`,
    ];
  }

  async #generate(uid: string, expiry: Pick<WriteKey, 'expiresAtMs' | 'expiresAt'>): Promise<WriteKey> {
    const seed = randomBytes(seedBytes);
    const sourceType = dekSource.hkdfSeed;
    let sealed: SealedKey;
    try {
      sealed = await this.#options.service.encrypt(seed, uid);
    } catch (error) {
      throw new Error(`failed to encrypt DEK, error: ${messageOf(error)}`, { cause: error });
    }
    validateSealedKey(sealed);
    return {
      transformer: seedTransformer(seed),
      sealed,
      sourceType,
      name: sealedKeyName(sourceType, sealed),
      ...expiry,
    };
  }
}
