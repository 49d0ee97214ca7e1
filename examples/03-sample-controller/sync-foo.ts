// Brings one Foo up to date, given the caches: creates its Deployment, sets the replicas, writes the status. Used by the two lower layers.
import { type DeepReadonly, deepCopy, type ResourceClient } from '@kapstan/api';
import { controllerReference, type EventRecorder, isControlledBy } from '@kapstan/controller';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { Foo } from './foo.ts';

export interface SyncPorts {
  readonly client: ResourceClient;
  readonly recorder: EventRecorder;
  /** Reads from the cache. */
  readonly find: (namespace: string, name: string) => DeepReadonly<Deployment> | undefined;
}

const fieldManager = 'sample-controller';

export async function syncFoo(foo: DeepReadonly<Foo>, { client, recorder, find }: SyncPorts): Promise<void> {
  const { deploymentName = '', replicas } = foo.spec;
  if (deploymentName === '') return; // until the spec changes
  const about = { ...deepCopy(foo), apiVersion: `${Foo.group}/${Foo.version}`, kind: Foo.kind };
  let deployment =
    find(foo.metadata?.namespace ?? '', deploymentName) ??
    (await client.create(Deployment, deploymentOf(foo), { fieldManager }));
  if (!isControlledBy(deployment, foo)) {
    const message = `Resource "${deploymentName}" already exists and is not managed by Foo`;
    recorder.record(about, { type: 'Warning', reason: 'ErrResourceExists', message });
    throw new Error(message);
  }
  if (replicas !== undefined && replicas !== deployment.spec?.replicas)
    deployment = await client.update(Deployment, deploymentOf(foo), { fieldManager });
  const status = { availableReplicas: deployment.status?.availableReplicas ?? 0 };
  if (status.availableReplicas !== foo.status?.availableReplicas)
    await client.update(Foo, { ...about, status }, { subresource: 'status', fieldManager });
  recorder.record(about, { type: 'Normal', reason: 'Synced', message: 'Foo synced successfully' });
}

/** Returns the spec that a Foo's Deployment should have; the owner is set elsewhere. */
export function deploymentSpec(foo: DeepReadonly<Foo>): NonNullable<Deployment['spec']> {
  const labels = { app: 'nginx', controller: foo.metadata?.name ?? '' };
  return {
    ...(foo.spec.replicas === undefined ? {} : { replicas: foo.spec.replicas }),
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'nginx', image: 'nginx:latest' }] } },
  };
}

function deploymentOf(foo: DeepReadonly<Foo>): Deployment {
  const { namespace = '' } = foo.metadata ?? {};
  const name = foo.spec.deploymentName ?? '';
  const metadata = { name, namespace, ownerReferences: [controllerReference(Foo, foo)] };
  return { metadata, spec: deploymentSpec(foo) };
}
