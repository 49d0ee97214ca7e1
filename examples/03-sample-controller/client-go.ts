// The sample controller on the second layer, part for part as with client-go: informers from a factory, which starts them
// when the controller has its handlers, and two workers.
import { silentLogger, systemClock } from '@kapstan/api';
import { installDefinitions } from '@kapstan/controller';
import { SharedInformerFactory } from '@kapstan/informers';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { Foo } from './foo.ts';
import { FooController } from './foo-controller.ts';
import type { RunOptions } from './run-options.ts';

export async function runClientGo({
  client,
  signal,
  clock = systemClock,
  logger = silentLogger,
}: RunOptions): Promise<void> {
  await installDefinitions([Foo], { client, fieldManager: 'sample-controller', clock, logger, signal });
  await using factory = new SharedInformerFactory(client, { resyncMs: 30_000, clock, logger });
  const [foos, deployments] = [factory.informer(Foo), factory.informer(Deployment)];
  const controller = new FooController({ client, foos, deployments, clock, logger });
  factory.start();
  await controller.run({ workers: 2, signal });
}
