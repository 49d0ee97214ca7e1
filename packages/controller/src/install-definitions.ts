// Installs the definitions of a program's own resources and waits until their objects are served. Used by the manager.
import {
  type Clock,
  type DeepReadonly,
  type DefinedResource,
  type Logger,
  type ResourceClient,
  systemClock,
} from '@kapstan/api';
import { type InformerEvent, SharedInformer } from '@kapstan/informers';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';

export interface InstallDefinitionsOptions {
  readonly client: ResourceClient;
  /** Owns the definitions' fields. */
  readonly fieldManager: string;
  readonly clock?: Clock;
  /** Told when the definitions cannot be listed or watched, which is tried again. Default: process warnings. */
  readonly logger?: Logger;
  /** Gives up, and the promise rejects with its reason. */
  readonly signal?: AbortSignal;
}

/**
 * Applies the definitions and resolves when all are established. Rejects when one is refused, when its names are taken by
 * another (which waiting does not help), and when the signal aborts.
 */
export async function installDefinitions(
  resources: readonly DefinedResource[],
  options: InstallDefinitionsOptions,
): Promise<void> {
  await Promise.all(resources.map((resource) => installDefinition(resource, options)));
}

async function installDefinition({ definition }: DefinedResource, options: InstallDefinitionsOptions): Promise<void> {
  const { client, fieldManager, signal, logger, clock = systemClock } = options;
  await client.apply(CustomResourceDefinition, definition as CustomResourceDefinition, {
    fieldManager,
    force: true,
    ...(signal === undefined ? {} : { signal }),
  });
  const { name } = definition.metadata;
  await using informer = new SharedInformer(client.listerWatcher(CustomResourceDefinition), {
    resource: CustomResourceDefinition,
    fieldSelector: `metadata.name=${name}`,
    clock,
    ...(logger === undefined ? {} : { logger }),
  });
  informer.start();
  for await (const event of informer.events(signal === undefined ? {} : { signal })) {
    if (isEstablished(event)) return;
  }
  signal?.throwIfAborted();
}

/** Throws Error when the names are not accepted. */
function isEstablished(event: InformerEvent<CustomResourceDefinition>): boolean {
  if (event.type !== 'added' && event.type !== 'updated') return false;
  const conditions = (event.object as DeepReadonly<CustomResourceDefinition>).status?.conditions ?? [];
  const refusal = conditions.find(({ type, status }) => type === 'NamesAccepted' && status === 'False');
  if (refusal !== undefined)
    throw new Error(
      `the definition ${event.key} is not served: ${refusal.message ?? refusal.reason ?? 'names refused'}`,
    );
  return conditions.some(({ type, status }) => type === 'Established' && status === 'True');
}
