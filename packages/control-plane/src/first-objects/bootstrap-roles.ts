// BootstrapRoles creates and updates the default roles and bindings when a server starts. If the store cannot be read then, it retries
// until it can. Between control-plane.ts and /readyz. Source: pkg/registry/rbac/rest/storage_rbac.go (PostStartHook).
import type { Clock, Logger, ResourceClient } from '@kapstan/api';
import type { HealthCheck } from '@kapstan/apiserver';
import { type ObjectCreator, reconcileBootstrapPolicy } from '@kapstan/kubernetes';

export interface BootstrapRolesPorts {
  readonly client: ResourceClient;
  /** Creates missing roles and bindings at the first attempt; the client does so later. */
  readonly creator: ObjectCreator;
  /** Returns false while the store cannot be read. */
  readonly isReady: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

const retryMs = 1_000;

export class BootstrapRoles {
  readonly #ports: BootstrapRolesPorts;
  #isDone = false;
  #isClosed = false;
  #cancel: () => void = () => undefined;
  #trying: Promise<void> = Promise.resolve();

  constructor(ports: BootstrapRolesPorts) {
    this.#ports = ports;
  }

  get healthCheck(): HealthCheck {
    return {
      name: 'poststarthook/rbac/bootstrap-roles',
      isPartOfStart: true,
      check: () => (this.#isDone ? undefined : new Error('not finished')),
    };
  }

  /** Rejects when it fails although the store can be read. When the store cannot be read, it keeps retrying in the background. */
  async start(): Promise<void> {
    try {
      await this.#reconcile(this.#ports.creator);
    } catch (error) {
      if (this.#ports.isReady()) throw error;
      // The server must stay up, so that an admin, who needs no roles, can make the store readable again.
      const fields = { error: String(error) };
      this.#ports.logger.error('could not update the default roles and bindings; retrying', fields);
      this.#retryLater();
    }
  }

  /** Resolves when no attempt is in progress. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    await this.#trying;
  }

  async #reconcile(creator: ObjectCreator): Promise<void> {
    await reconcileBootstrapPolicy(this.#ports.client, creator);
    this.#isDone = true;
  }

  #retryLater(): void {
    if (this.#isClosed) return;
    const { client, clock, logger } = this.#ports;
    this.#cancel = clock.setBackgroundTimer(() => {
      this.#trying = this.#reconcile(client).then(
        () => logger.info('the default roles and bindings are up to date'),
        () => this.#retryLater(),
      );
    }, retryMs);
  }
}
