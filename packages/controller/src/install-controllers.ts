// Installs the definitions and webhooks of controllers in a server of the same process, without running them. Used by the
// test cluster.
import type { Clock, Logger, ResourceClient } from '@kapstan/api';
import type { HookHost } from '@kapstan/api/internal';
import type { Controller } from './builder/controller-builder.ts';
import { definedResources } from './manager/defined-resources.ts';
import { installDefinitions } from './manager/install-definitions.ts';
import { requireControllers } from './manager/manager-checks.ts';
import { ManagerHooks } from './manager/manager-hooks.ts';
import { Registry } from './metrics/prometheus.ts';

/** Options of {@link installControllers}. */
export interface InstallControllersOptions {
  readonly client: ResourceClient & HookHost;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Waits until the definitions are established, and resolves to a function that removes the webhooks. */
export async function installControllers(
  controllers: readonly Controller[],
  { client, clock, logger }: InstallControllersOptions,
): Promise<() => void> {
  requireControllers(controllers);
  const name = controllers[0]?.name ?? '';
  const hooks = new ManagerHooks(controllers, {
    webhooks: undefined,
    name,
    client,
    clock,
    logger,
    registry: new Registry(),
    isLeader: () => true,
  });
  await hooks.start(new AbortController().signal);
  await installDefinitions(hooks.definitions(definedResources(controllers)), {
    client,
    clock,
    logger,
    fieldManager: name,
  });
  return () => hooks.unhost();
}
