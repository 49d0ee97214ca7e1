// BootstrapRoles: the roles and bindings that a server has to have, brought up to date at its start; where the store cannot be read
// then, as soon as it can. Between control-plane.ts and /readyz. Source: pkg/registry/rbac/rest/storage_rbac.go (PostStartHook).
import type { Clock, Logger, ResourceClient } from '@kapstan/api';
import type { HealthCheck } from '@kapstan/apiserver';
import { reconcileBootstrapPolicy } from '@kapstan/kubernetes';

export interface BootstrapRolesPorts {
  readonly client: ResourceClient;
  /** False while the store cannot be read. */
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

  /** Rejects when it fails on a store that can be read. Else it goes on trying. */
  async start(): Promise<void> {
    try {
      await this.#reconcile();
    } catch (error) {
      if (this.#ports.isReady()) throw error;
      // The server is there for those who make it readable: admins need no roles.
      const fields = { error: String(error) };
      this.#ports.logger.error('The default roles and bindings could not be brought up to date', fields);
      this.#retryLater();
    }
  }

  /** Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    await this.#trying;
  }

  async #reconcile(): Promise<void> {
    await reconcileBootstrapPolicy(this.#ports.client);
    this.#isDone = true;
  }

  #retryLater(): void {
    if (this.#isClosed) return;
    const { clock, logger } = this.#ports;
    this.#cancel = clock.setBackgroundTimer(() => {
      this.#trying = this.#reconcile().then(
        () => logger.info('The default roles and bindings are up to date'),
        () => this.#retryLater(),
      );
    }, retryMs);
  }
}
