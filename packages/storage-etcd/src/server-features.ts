// ServerFeatures determines from their versions which features the cluster's members have. Part of etcd-engine.ts.
// Source: apiserver storage/feature/feature_support_checker.go.
import { type Client, Metadata } from '@grpc/grpc-js';
import { type Clock, delay, type Logger } from '@kapstan/api';
import type { AuthToken } from './auth-token.ts';
import { isStaleToken } from './etcd-error.ts';
import { unary } from './unary.ts';
import { loadWire } from './wire.ts';

export interface ServerFeaturesOptions {
  readonly clients: readonly Client[];
  readonly token: AuthToken;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Time for one question to a member, in ms. */
  readonly timeoutMs: number;
}

const firstPauseMs = 10;
const longestPauseMs = 15_000;

/** Returns true for versions that answer progress requests correctly: 3.4.31 and later 3.4, 3.5.13 and later. */
export function hasProgressRequests(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.\-+]/, 3).map(Number);
  if (major !== 3) return major > 3;
  if (minor === 4) return patch >= 31;
  if (minor === 5) return patch >= 13;
  return minor > 5;
}

/** Asks every member until it has answered. */
export class ServerFeatures {
  readonly #options: ServerFeaturesOptions;
  readonly #versions: (string | undefined)[];
  readonly #closing: AbortController = new AbortController();
  readonly #isKnown: Promise<unknown>;

  constructor(options: ServerFeaturesOptions) {
    this.#options = options;
    this.#versions = options.clients.map(() => undefined);
    this.#isKnown = Promise.all(options.clients.map((client, index) => this.#ask(client, index)));
  }

  /** Resolves when all members have answered, or after this time. */
  async known(atMostMs: number): Promise<void> {
    const waiting = new AbortController();
    const timeout = delay(this.#options.clock, atMostMs, waiting.signal).catch(() => undefined);
    await Promise.race([this.#isKnown, timeout]);
    waiting.abort();
  }

  /** False until all members are known to support them. */
  get supportsProgressRequests(): boolean {
    return this.#versions.every((version) => version !== undefined && hasProgressRequests(version));
  }

  close(): void {
    this.#closing.abort();
  }

  async #ask(client: Client, index: number): Promise<void> {
    const { clock, logger } = this.#options;
    const { signal } = this.#closing;
    for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      try {
        this.#versions[index] = await this.#version(client);
        return;
      } catch (error) {
        if (signal.aborted) return;
        logger.debug('an etcd member did not report its version; trying again', { error });
        await delay(clock, pauseMs, signal).catch(() => undefined);
      }
    }
  }

  async #version(client: Client): Promise<string> {
    const { clock, timeoutMs, token } = this.#options;
    const scope = new AbortController();
    const abort = (): void => scope.abort(new Error(`no answer within ${timeoutMs} ms`));
    const cancelTimer = clock.setBackgroundTimer(abort, timeoutMs);
    this.#closing.signal.addEventListener('abort', abort);
    let metadata = new Metadata();
    try {
      metadata = await token.metadata(client, scope.signal);
      metadata.setOptions({ waitForReady: true });
      return (await unary(loadWire().status, {}, { client, metadata, signal: scope.signal })).version;
    } catch (error) {
      if (isStaleToken(error)) token.reject(metadata);
      throw error;
    } finally {
      cancelTimer();
      this.#closing.signal.removeEventListener('abort', abort);
    }
  }
}
