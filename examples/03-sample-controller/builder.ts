// The sample controller on the third layer: the kinds to watch, and the objects that one Foo needs. The builder does
// the rest.
import { silentLogger, systemClock } from '@kapstan/api';
import { controller, isControlledBy, run } from '@kapstan/controller';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { Foo } from './foo.ts';
import type { RunOptions } from './run-options.ts';
import { deploymentSpec } from './sync-foo.ts';

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

export async function runBuilder({
  client,
  signal,
  clock = systemClock,
  logger = silentLogger,
}: RunOptions): Promise<void> {
  await run(sample, { client, signal, clock, logger, installCrds: true });
}
