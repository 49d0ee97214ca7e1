// ManagerHooks makes the hooks of a manager's controllers available to the API server: as functions to one in the same process, over HTTPS
// to all others. Used by manager.ts.
import type { Clock, DefinedResource, Logger, ResourceClient } from '@kapstan/api';
import { isHookHost, type ProgramHooks } from '@kapstan/api/internal';
import type { Registry } from 'prom-client';
import type { Controller } from '../builder/controller-builder.ts';
import { convertedDefinitions } from '../webhooks/converted-definitions.ts';
import { programHooks } from '../webhooks/program-hooks.ts';
import { removeLeftovers } from '../webhooks/webhook-leftovers.ts';
import type { WebhookOptions } from '../webhooks/webhook-options.ts';
import type { WebhookRunner } from '../webhooks/webhook-runner.ts';
import type { Runnable } from './runnables.ts';

export interface ManagerHooksPorts {
  /** False = others serve them. Undefined = an API server in this process calls them. */
  readonly webhooks: WebhookOptions | false | undefined;
  /** Default name of the configurations. */
  readonly name: string;
  readonly client: ResourceClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly isLeader: () => boolean;
}

export class ManagerHooks {
  readonly #controllers: readonly Controller[];
  readonly #ports: ManagerHooksPorts;
  readonly #hooks: ProgramHooks;
  #runner: WebhookRunner | undefined;
  #unhost: () => void = () => undefined;
  #isStarted = false;

  /** Throws TypeError when the options do not say how the API server reaches the hooks. */
  constructor(controllers: readonly Controller[], ports: ManagerHooksPorts) {
    this.#controllers = controllers;
    this.#ports = ports;
    this.#hooks = programHooks(controllers, ports);
    if (ports.webhooks === undefined && this.#hasHooks && !isHookHost(ports.client))
      throw new TypeError(
        'a controller declares webhooks: the option webhooks says how API servers reach this program, such as { service: { name, namespace } }, or false = not this program',
      );
  }

  get #hasHooks(): boolean {
    return this.#hooks.admission.length + this.#hooks.conversions.length > 0;
  }

  /** The port of the webhooks; undefined while there is no server. */
  get port(): number | undefined {
    return this.#runner?.port;
  }

  /** True if this program serves webhooks over HTTPS. */
  get isServed(): boolean {
    return this.#hasHooks && this.#ports.webhooks !== undefined && this.#ports.webhooks !== false;
  }

  /** Returns the reason why the webhooks cannot be called yet; undefined = they can. */
  get problem(): string | undefined {
    if (this.#isStarted || !this.isServed) return this.#runner?.problem;
    return 'not listening yet';
  }

  /** Resolves when calls are answered. */
  async start(stop: AbortSignal): Promise<void> {
    const { webhooks, client, name, ...ports } = this.#ports;
    if (!this.#hasHooks || webhooks === false) return;
    if (webhooks === undefined) {
      if (isHookHost(client)) this.#unhost = client.hostHooks(this.#hooks);
      return;
    }
    // The runner is imported here, because most programs need neither a server nor certificates.
    const { WebhookRunner } = await import('../webhooks/webhook-runner.ts');
    const runner = new WebhookRunner({
      ...ports,
      client,
      name: webhooks.name ?? name,
      options: webhooks,
      hooks: this.#hooks,
    });
    this.#runner = runner;
    this.#isStarted = true;
    await runner.start(stop);
  }

  /**
   * The runnable that, while this process leads, writes the parts that only the leader writes, and removes those that
   * are no longer declared.
   */
  get leading(): Runnable | undefined {
    const { webhooks, ...ports } = this.#ports;
    if (!webhooks || webhooks.configurations === false) return undefined;
    const name = webhooks.name ?? ports.name;
    const resources = this.#controllers.map(({ resource }) => resource);
    return {
      name: 'webhook configurations',
      run: async ({ signal }) => {
        this.#runner?.lead();
        await removeLeftovers(this.#hooks, resources, { ...ports, name, signal });
      },
    };
  }

  /** Returns the definitions with all versions that have conversions, and the conversion itself. */
  definitions(resources: readonly DefinedResource[]): readonly DefinedResource[] {
    return convertedDefinitions(this.#controllers, resources, this.#runner?.conversion);
  }

  /** Ends the calls by the server in this process. */
  unhost(): void {
    this.#unhost();
  }

  /** Ends everything within the grace period. Idempotent. */
  async stop(times: { readonly stoppedAtMs: number; readonly gracePeriodMs: number }): Promise<void> {
    this.#unhost();
    await this.#runner?.stop(times);
  }
}
