// The engine over etcd: the Engine port as gRPC calls. It connects range-reader (reads), watch-hub and compactor;
// caller.ts and endpoint-pool.ts hold the parts that all calls share.
import { randomBytes } from 'node:crypto';
import { delay, type Revision } from '@kapstan/api';
import {
  type Commit,
  type CommitResult,
  type Engine,
  type EngineRead,
  type EngineWatch,
  type EngineWatchOptions,
  type EngineWatchSink,
  isStorageError,
  type KeyRange,
  normalizePrefix,
  type RangeOptions,
  type RangeResult,
  rangeOfOne,
  StorageError,
} from '@kapstan/storage';
import { AuthToken } from './auth-token.ts';
import { Caller } from './caller.ts';
import { Compactor } from './compactor.ts';
import { parseEndpoints } from './endpoint.ts';
import { EndpointPool } from './endpoint-pool.ts';
import { type EtcdEngineOptions, type ResolvedOptions, resolveOptions } from './etcd-options.ts';
import { HealthCheck } from './health-check.ts';
import { RangeReader } from './range-reader.ts';
import { ServerFeatures } from './server-features.ts';
import { toCommitResult, toTxn } from './txn.ts';
import { WatchHub } from './watch-hub.ts';
import { loadWire } from './wire.ts';
import { checkKey } from './wire-key.ts';

/** Longest wait, when opening, for the versions of members that are not needed. */
const featuresWaitMs = 1_000;
const reasonWaitMs = 500;

/**
 * Connects to an etcd cluster, 3.4 or later. Rejects with `Unreachable` when no member answers within `dialTimeoutMs`,
 * and with TypeError for invalid options.
 */
export async function openEtcdEngine(options: EtcdEngineOptions): Promise<EtcdEngine> {
  const engine = new EtcdEngine(resolveOptions(options));
  try {
    await engine.connect();
    return engine;
  } catch (error) {
    await engine.close();
    throw error;
  }
}

export class EtcdEngine implements Engine {
  readonly #options: ResolvedOptions;
  readonly #callPool: EndpointPool;
  readonly #watchPool: EndpointPool;
  readonly #caller: Caller;
  readonly #reader: RangeReader;
  readonly #hub: WatchHub;
  readonly #features: ServerFeatures;
  readonly #health: HealthCheck;
  readonly #readiness: HealthCheck;
  readonly #compactor: Compactor;
  #compacted = 0 as Revision;
  #refusal: StorageError | undefined;
  #closing: Promise<void> | undefined;

  /** Call {@link openEtcdEngine} instead. */
  constructor(options: ResolvedOptions) {
    this.#options = options;
    const { clock, logger, prefix, maxMessageBytes, callTimeoutMs } = options;
    const endpoints = parseEndpoints(options.endpoints, options.tls !== undefined);
    const { keepAliveMs, keepAliveTimeoutMs } = options;
    const pool = { endpoints, tls: options.tls, keepAliveMs, keepAliveTimeoutMs };
    this.#callPool = new EndpointPool({ ...pool, maxReceiveBytes: maxMessageBytes, logger });
    // Watches have no limit, because an event with its previous state may be as large as the server allows values to
    // be.
    this.#watchPool = new EndpointPool({ ...pool, maxReceiveBytes: -1 });
    const token = new AuthToken(options.user);
    this.#caller = new Caller({ pool: this.#callPool, token, clock, callTimeoutMs });
    const quietKey = normalizePrefix(prefix);
    const onCompacted = (revision: Revision): void => this.#noteCompacted(revision);
    const compactRevision = (): Revision => this.#compacted;
    const caller = this.#caller;
    const pageBytes = Math.ceil(maxMessageBytes / 2);
    this.#reader = new RangeReader({ caller, quietKey, pageBytes, compactRevision, onCompacted });
    this.#hub = new WatchHub({ pool: this.#watchPool, token, clock, logger, quietKey, onCompacted });
    const { clients } = this.#callPool;
    this.#features = new ServerFeatures({ clients, token, clock, logger, timeoutMs: callTimeoutMs });
    const probe = (timeoutMs: number): Promise<unknown> => this.#probe(timeoutMs);
    this.#health = new HealthCheck({ clock, timeoutMs: options.healthTimeoutMs, probe });
    this.#readiness = new HealthCheck({ clock, timeoutMs: options.readinessTimeoutMs, probe });
    this.#compactor = new Compactor({
      engine: this,
      clock,
      logger,
      intervalMs: options.compactionIntervalMs,
      onCompacted,
    });
  }

  /** Part of {@link openEtcdEngine}. */
  async connect(): Promise<void> {
    await this.#dial();
    await Promise.all([this.#features.known(featuresWaitMs), this.#findCompactRevision()]);
    this.#compactor.start();
  }

  /** False when some member is older than 3.4.31, or 3.5 and older than 3.5.13, or has not reported its version yet. */
  get supportsProgressRequests(): boolean {
    return this.#features.supportsProgressRequests;
  }

  async get(key: string, options: RangeOptions = {}): Promise<EngineRead> {
    this.#refuseIfClosed();
    checkKey(key);
    return this.#reader.get(key, options);
  }

  async range(range: KeyRange, options: RangeOptions = {}): Promise<RangeResult> {
    this.#refuseIfClosed();
    return this.#reader.range(range, options);
  }

  async count(range: KeyRange): Promise<number> {
    this.#refuseIfClosed();
    return this.#reader.count(range);
  }

  async commit(commit: Commit): Promise<CommitResult> {
    this.#refuseIfClosed();
    checkKey(commit.key);
    this.#checkSize(commit);
    const { key, signal, span } = commit;
    const call = { key, signal, span };
    return toCommitResult(await this.#caller.write(loadWire().txn, toTxn(commit), call));
  }

  watch(range: KeyRange, options: EngineWatchOptions, sink: EngineWatchSink): EngineWatch {
    this.#refuseIfClosed();
    return this.#hub.watch(range, options, sink);
  }

  async currentRevision(): Promise<Revision> {
    this.#refuseIfClosed();
    return this.#reader.currentRevision();
  }

  /** Does nothing where progress requests are not supported: older members answer them too early. */
  async requestProgress(): Promise<void> {
    this.#refuseIfClosed();
    if (this.supportsProgressRequests) this.#hub.askProgress();
  }

  async grantLease(ttlSeconds: number, { span }: Pick<RangeOptions, 'span'> = {}): Promise<number> {
    this.#refuseIfClosed();
    if (!Number.isSafeInteger(ttlSeconds) || ttlSeconds < 1) {
      throw new TypeError(`ttlSeconds of a lease must be a whole number of at least 1, not ${ttlSeconds}`);
    }
    // We choose the id, since etcd's may be too large for a number. 48 random bits do not collide in practice; etcd
    // refuses if they do.
    const id = randomBytes(6).readUIntBE(0, 6) + 1;
    await this.#caller.write(loadWire().leaseGrant, { TTL: ttlSeconds, ID: id }, { span });
    return id;
  }

  async compact(revision: Revision): Promise<void> {
    this.#refuseIfClosed();
    await this.#caller.write(loadWire().compact, { revision });
    this.#noteCompacted(revision);
  }

  compactRevision(): Revision {
    return this.#compacted;
  }

  /**
   * Reads `<prefix>/health`, as kube-apiserver's etcd check does. Rejects with `Unreachable` when etcd does not answer
   * within `healthTimeoutMs`. Calls within half of that time get the last answer again.
   */
  async checkHealth(): Promise<void> {
    return this.#checked(this.#health);
  }

  /** Does what {@link checkHealth} does, within `readinessTimeoutMs`. */
  async checkReadiness(): Promise<void> {
    return this.#checked(this.#readiness);
  }

  /** Resolves to the size of one member's database on disk, in bytes. */
  async storedBytes(): Promise<number> {
    this.#refuseIfClosed();
    return (await this.#caller.read(loadWire().status, {})).dbSize;
  }

  /** Lets calls that are under way finish, ends the watches with `Closed`, closes the connections. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const refusal = new StorageError({ code: 'Closed' });
    this.#refusal = refusal;
    // A sink may close the engine, so the watches end in a later turn than its delivery.
    await Promise.resolve();
    this.#features.close();
    this.#compactor.close();
    this.#hub.end(refusal);
    await this.#caller.idle();
    this.#callPool.close();
    this.#watchPool.close();
  }

  async #checked(health: HealthCheck): Promise<void> {
    if (this.#refusal !== undefined) throw new StorageError({ code: 'Closed', message: 'server is shutting down' });
    return health.check();
  }

  #refuseIfClosed(): void {
    if (this.#refusal !== undefined) throw this.#refusal;
  }

  #noteCompacted(revision: Revision): void {
    if (revision > this.#compacted) this.#compacted = revision;
  }

  #checkSize({ key, change }: Commit): void {
    const { maxRequestBytes } = this.#options;
    if (change.type !== 'put' || change.value.length + key.length <= maxRequestBytes) return;
    const message = `value of ${change.value.length} bytes makes a request of more than ${maxRequestBytes}`;
    throw new StorageError({ code: 'TooLarge', key, message });
  }

  #probe(timeoutMs: number): Promise<unknown> {
    const key = Buffer.from(`${normalizePrefix(this.#options.prefix)}health`);
    return this.#caller.read(loadWire().range, { key }, { timeoutMs });
  }

  async #dial(): Promise<void> {
    const { clock, dialTimeoutMs } = this.#options;
    const refused = await this.#probe(dialTimeoutMs).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (refused === undefined) return;
    if (!isStorageError(refused, 'Unreachable') || this.#callPool.trouble !== '') throw refused;
    const scope = new AbortController();
    const cancelTimer = clock.setTimer(() => scope.abort(), reasonWaitMs);
    const reason = await this.#callPool.whyNot(scope.signal);
    cancelTimer();
    if (reason === '') throw refused;
    throw new StorageError({ code: 'Unreachable', message: `${refused.detail}: ${reason}`, cause: refused });
  }

  /** Finds the compact revision, which etcd reveals only to a watch that starts too late. */
  async #findCompactRevision(): Promise<void> {
    const quietKey = normalizePrefix(this.#options.prefix);
    try {
      await this.#reader.get(quietKey, { revision: 1 as Revision });
    } catch (error) {
      if (!isStorageError(error, 'Compacted')) throw error;
      await this.#compactedAsWatchesSee(quietKey);
    }
  }

  async #compactedAsWatchesSee(quietKey: string): Promise<void> {
    const isTold = new AbortController();
    const done = (): void => isTold.abort();
    const range = rangeOfOne(quietKey);
    const after = 0 as Revision;
    // The hub records the revision.
    const watch = this.#hub.watch(range, { after }, { onEvents: done, onProgress: done, onError: done });
    await delay(this.#options.clock, this.#options.callTimeoutMs, isTold.signal).catch(() => undefined);
    watch.close();
  }
}
