// ServerIdentity keeps the objects in kube-system that describe this server: a Lease that shows that it is running, the authorities of its
// clients, and the day since which legacy tokens are tracked. It also keeps the initial namespaces. Started and ended by control-plane.ts.
// Source: pkg/controlplane/apiserver/server.go.
import { type Clock, delay, type Logger, type ResourceClient } from '@kapstan/api';
import { keepFirstNamespaces } from '../first-objects/first-objects.ts';
import { repeatEvery } from '../lifetime/repeat-every.ts';
import { keepClientAuthorities, type TrustedClients } from './client-authorities.ts';
import { IdentityLease, removeExpiredIdentities } from './identity-lease.ts';
import { keepTokenTracking } from './token-tracking.ts';

export interface ServerIdentityOptions {
  readonly client: ResourceClient;
  /** Name of the machine. */
  readonly hostname: string;
  readonly port: number;
  /** Returns the authorities and proxies that this server trusts now. */
  readonly trusted: () => TrustedClients;
  /** False: no Lease shows that this server is running. */
  readonly hasLease: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** An object to keep correct, and how often to check it, in milliseconds. */
interface Kept {
  readonly name: string;
  readonly intervalMs: number;
  readonly keep: () => Promise<void>;
}

/** Maximum wait of a stop for the store, in milliseconds. Source: component-helpers lease shutdownTimeout. */
const leaveTimeoutMs = 10_000;

const authorities = 'client authorities';

export class ServerIdentity {
  readonly #options: ServerIdentityOptions;
  readonly #lease: IdentityLease;
  readonly #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: ServerIdentityOptions) {
    this.#options = options;
    this.#lease = new IdentityLease(options);
  }

  /** Resolves when everything has been checked once. Never rejects: a failure is logged and retried. Call it once. */
  async start(): Promise<void> {
    await this.#removeLease();
    const all = this.#kept();
    await Promise.all(all.map(({ name, keep }) => this.#told(name, keep)));
    this.#running = Promise.all(all.map((kept) => this.#run(kept)));
  }

  /** Publishes at once the authorities and proxies that this server trusts now. Never rejects. */
  publishTrusted(): Promise<void> {
    return this.#told(authorities, () => this.#keepAuthorities());
  }

  /** Deletes the lease. Takes at most 10 s, whatever the store does. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #kept(): readonly Kept[] {
    const { client, clock, hasLease } = this.#options;
    const leases: readonly Kept[] = [
      { name: 'lease', intervalMs: 10_000, keep: () => this.#lease.renew() },
      { name: 'leases of others', intervalMs: 3_600_000, keep: () => removeExpiredIdentities(client, clock) },
    ];
    return [
      ...(hasLease ? leases : []),
      { name: authorities, intervalMs: 60_000, keep: () => this.#keepAuthorities() },
      { name: 'token tracking', intervalMs: 60_000, keep: () => keepTokenTracking(client, clock) },
      { name: 'first namespaces', intervalMs: 60_000, keep: () => keepFirstNamespaces(client) },
    ];
  }

  #keepAuthorities(): Promise<void> {
    const { client, trusted, clock } = this.#options;
    return keepClientAuthorities(client, trusted(), clock);
  }

  #run({ name, intervalMs, keep }: Kept): Promise<void> {
    const { clock } = this.#options;
    return repeatEvery({ clock, intervalMs, signal: this.#stop.signal }, () => this.#told(name, keep));
  }

  async #close(): Promise<void> {
    this.#stop.abort(new Error('the server is stopping'));
    const over = new AbortController();
    const late = delay(this.#options.clock, leaveTimeoutMs, over.signal).catch(() => undefined);
    const leave = async (): Promise<void> => {
      await this.#running;
      await this.#removeLease();
    };
    await Promise.race([leave(), late]);
    over.abort();
  }

  async #removeLease(): Promise<void> {
    if (this.#options.hasLease) await this.#told('lease', () => this.#lease.remove());
  }

  async #told(kept: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.logger.error('could not update the identity objects of this server; retrying', {
        kept,
        error: String(error),
      });
    }
  }
}
