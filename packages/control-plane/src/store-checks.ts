// The health checks of the stores and of the caches over them. Used by resources.ts.
import type { HealthCheck, ResourceStack } from '@kapstan/apiserver';
import type { Engine } from '@kapstan/storage';

/**
 * Returns health checks under kube-apiserver's names: whether all stores answer, and whether the caches are up to date.
 */
export function storeChecks(engines: readonly Engine[], open: ReadonlySet<ResourceStack>): HealthCheck[] {
  return [
    { name: 'etcd', check: () => reasonOf(engines.map((engine) => engine.checkHealth())) },
    {
      name: 'etcd-readiness',
      endpoints: ['readyz'],
      check: () => reasonOf(engines.map((engine) => engine.checkReadiness())),
    },
    // Everything fed from the caches is as current as they are.
    { name: 'informer-sync', endpoints: ['readyz'], check: () => firstReason(open) },
  ];
}

function firstReason(open: ReadonlySet<ResourceStack>): Error | undefined {
  for (const stack of open) {
    const reason = stack.readiness();
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function reasonOf(checks: readonly Promise<void>[]): Promise<Error | undefined> {
  return Promise.all(checks).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  );
}
