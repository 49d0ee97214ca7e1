// EndpointPool holds the connections to a cluster's members. It finds a working one, keeps using it, and moves on when
// it stops working. caller.ts uses one for calls; watch-hub.ts has its own, so that large answers do not delay events.
import { Client, type ClientOptions, connectivityState, Metadata, status } from '@grpc/grpc-js';
import { type Logger, silentLogger } from '@kapstan/api';
import { StorageError } from '@kapstan/storage';
import type { Endpoint } from './endpoint.ts';
import { endpointSecurity } from './endpoint-security.ts';
import { isGrpcError } from './etcd-error.ts';
import type { EtcdTls } from './etcd-options.ts';
import { unary } from './unary.ts';
import { loadWire } from './wire.ts';

export interface EndpointPoolOptions {
  readonly endpoints: readonly [Endpoint, ...Endpoint[]];
  /** Authorities and certificate for the members whose addresses have the scheme https. */
  readonly tls: EtcdTls | undefined;
  /** Largest message accepted, in bytes. -1 = any size. */
  readonly maxReceiveBytes: number;
  readonly keepAliveMs: number;
  readonly keepAliveTimeoutMs: number;
  /**
   * Logs once that a member cannot be reached, with the reason, and once that it can be reached again. Default: nothing
   * is logged.
   */
  readonly logger?: Logger;
}

/** Reconnects are quick, because members are few and near. */
const channelOptions: ClientOptions = {
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 3_000,
  'grpc.max_send_message_length': -1,
  // gRPC must not send anything twice on its own.
  'grpc.enable_retries': 0,
  // Connections must not outlive their engine.
  'grpc.use_local_subchannel_pool': 1,
};

export class EndpointPool {
  readonly endpoints: readonly Endpoint[];
  readonly #clients: readonly Client[];
  readonly #observed: Set<Client> = new Set();
  readonly #waiters: Set<() => void> = new Set();
  readonly #logger: Logger;
  /** Members that cannot be reached, with the reason. */
  readonly #troubles: Map<Client, string> = new Map();
  #preferred = 0;
  #isClosed = false;

  constructor(poolOptions: EndpointPoolOptions) {
    const { endpoints, tls, maxReceiveBytes, keepAliveMs, keepAliveTimeoutMs, logger } = poolOptions;
    this.endpoints = endpoints;
    this.#logger = logger ?? silentLogger;
    const options = {
      ...channelOptions,
      'grpc.max_receive_message_length': maxReceiveBytes,
      'grpc.keepalive_time_ms': keepAliveMs,
      'grpc.keepalive_timeout_ms': keepAliveTimeoutMs,
    };
    this.#clients = endpoints.map((endpoint) => {
      const { credentials, serverName } = endpointSecurity(endpoint, tls);
      return new Client(endpoint.address, credentials, { ...options, ...serverName });
    });
  }

  /** The client of each member, in the order of the endpoints, whether or not it is connected. */
  get clients(): readonly Client[] {
    return this.#clients;
  }

  /**
   * Resolves to a connected member: the preferred one if possible, otherwise the first that is connected. Rejects with
   * the signal's reason.
   */
  async ready(signal: AbortSignal): Promise<Client> {
    for (;;) {
      if (this.#isClosed) throw new StorageError({ code: 'Closed' });
      signal.throwIfAborted();
      const client = this.#connected();
      if (client !== undefined) return client;
      await this.#change(signal);
    }
  }

  /** Prefers another member from now on, if this one was preferred. */
  demote(client: Client): void {
    if (this.#clients[this.#preferred] !== client) return;
    this.#preferred = (this.#preferred + 1) % this.#clients.length;
  }

  /** The reason why no member can be reached, one for each member. "" when one can be, or the reason is unknown. */
  get trouble(): string {
    return this.#troubles.size < this.#clients.length ? '' : [...this.#troubles.values()].join('; ');
  }

  /**
   * Asks gRPC why members cannot be reached, without waiting for a connection. Resolves to "" when there is no reason.
   */
  async whyNot(signal: AbortSignal): Promise<string> {
    const call = { metadata: new Metadata(), signal };
    const asked = this.#clients.map((client) => unary(loadWire().status, {}, { client, ...call }));
    const errors = (await Promise.allSettled(asked)).map((result) =>
      result.status === 'rejected' ? result.reason : '',
    );
    return errors.find(isGrpcError)?.details ?? '';
  }

  close(): void {
    this.#isClosed = true;
    for (const client of this.#clients) client.close();
    this.#wake();
  }

  #connected(): Client | undefined {
    const count = this.#clients.length;
    for (let step = 0; step < count; step += 1) {
      const index = (this.#preferred + step) % count;
      const client = this.#clients[index];
      if (client?.getChannel().getConnectivityState(true) !== connectivityState.READY) continue;
      this.#preferred = index;
      this.#noteReached(client);
      return client;
    }
    return undefined;
  }

  #change(signal: AbortSignal): Promise<void> {
    for (const client of this.#clients) this.#observe(client);
    return new Promise((resolve) => {
      const done = (): void => {
        this.#waiters.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#waiters.add(done);
      signal.addEventListener('abort', done);
    });
  }

  #observe(client: Client): void {
    if (this.#observed.has(client)) return;
    this.#observed.add(client);
    const channel = client.getChannel();
    channel.watchConnectivityState(channel.getConnectivityState(true), Number.POSITIVE_INFINITY, () => {
      this.#observed.delete(client);
      if (channel.getConnectivityState(false) === connectivityState.TRANSIENT_FAILURE) void this.#noteTrouble(client);
      this.#wake();
    });
  }

  /** Finds out why a member cannot be reached: gRPC tells this only to a call that does not wait for a connection. */
  async #noteTrouble(client: Client): Promise<void> {
    if (this.#troubles.has(client) || this.#isClosed) return;
    const url = this.#urlOf(client);
    this.#troubles.set(client, url);
    const call = { client, metadata: new Metadata(), signal: new AbortController().signal };
    const error: unknown = await unary(loadWire().status, {}, call).catch((refused: unknown) => refused);
    // The member may be back already, and an old server refuses the call in any case.
    if (!isGrpcError(error) || error.code !== status.UNAVAILABLE || !this.#troubles.has(client) || this.#isClosed)
      return;
    const reason = error.details.replace(/\.? *Resolution note: *$/, '');
    this.#troubles.set(client, `${url}: ${reason}`);
    this.#logger.warn('etcd cannot be reached', { endpoint: url, reason });
  }

  #noteReached(client: Client): void {
    if (!this.#troubles.delete(client)) return;
    this.#logger.info('etcd can be reached again', { endpoint: this.#urlOf(client) });
  }

  #urlOf(client: Client): string {
    return this.endpoints[this.#clients.indexOf(client)]?.url ?? '';
  }

  #wake(): void {
    for (const waiter of [...this.#waiters]) waiter();
  }
}
