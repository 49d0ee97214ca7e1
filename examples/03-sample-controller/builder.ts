// The sample controller on the third layer: what is watched, and what one Foo needs. All else is the builder's.
import { type Clock, type ResourceClient, systemClock } from '@kapstan/api';
import { controller, run } from '@kapstan/controller';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { Foo } from './foo.ts';
import { deploymentSpec, isControlledBy } from './sync-foo.ts';

const sample = controller(Foo, { name: 'sample-controller' })
  .owns(Deployment)
  .settings({ workers: 2 })
  .reconcile(async (foo, { apply, cache, status, event }) => {
    const name = foo.spec.deploymentName ?? '';
    if (name === '') return;
    const present = cache(Deployment).get({ namespace: foo.metadata?.namespace ?? '', name });
    if (present !== undefined && !isControlledBy(present, foo)) {
      const message = `Resource "${name}" already exists and is not managed by Foo`;
      event('Warning', 'ErrResourceExists', message);
      throw new Error(message);
    }
    const deployment = await apply(Deployment, { metadata: { name }, spec: deploymentSpec(foo) });
    await status({ availableReplicas: deployment.status?.availableReplicas ?? 0 });
    event('Normal', 'Synced', 'Foo synced successfully');
  });

/** Works until the signal aborts. */
export async function runBuilder(
  client: ResourceClient,
  signal: AbortSignal,
  clock: Clock = systemClock,
): Promise<void> {
  await run(sample, { client, signal, clock, installCrds: true });
}
