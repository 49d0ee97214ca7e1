// The steps of the story: create the Foo, scale it, check the result.
import { isAlreadyExists, type KubernetesObject, type ResourceClient } from '@kapstan/api';
import type { Client } from '@kapstan/client';
import { Foo } from '@kapstan/example-sample-controller';
import { Deployment, ReplicaSet } from '@kapstan/kinds/apps/v1';
import { Event, Pod } from '@kapstan/kinds/core/v1';
import { firstValueFrom } from 'rxjs';
import { filter, map } from 'rxjs/operators';
import { say } from './terminal.ts';

const namespace = 'default';
const name = 'example-foo';

/** Creates the example Foo; one from an earlier start is kept. */
export async function createFoo(client: ResourceClient): Promise<void> {
  const foo: Foo = {
    apiVersion: `${Foo.group}/${Foo.version}`,
    kind: 'Foo',
    metadata: { name, namespace },
    spec: { deploymentName: name, replicas: 1 },
  };
  await unlessPresent(client.create(Foo, foo));
}

/**
 * Scales 1 → 3 → 2, waiting for each number in the Foo's status, then checks the owners of all objects. Rejects with the problem found.
 */
export async function scaleAndCheck(client: Client, signal: AbortSignal): Promise<void> {
  await waitForAvailable(client, 1, signal);
  for (const replicas of [3, 2]) {
    say('scale', `${name} to ${replicas}`);
    await client.patch(Foo, { namespace, name }, { type: 'merge', body: { spec: { replicas } } });
    await waitForAvailable(client, replicas, signal);
  }
  await waitFor(client, Event, { signal }, (event) => event.reason === 'Synced' && event.involvedObject?.name === name);
  await checkOwners(client);
  say('done', 'Foo → Deployment → ReplicaSet → 2 ready Pods, and the Event Synced');
}

async function waitForAvailable(client: Client, replicas: number, signal: AbortSignal): Promise<void> {
  await waitFor(
    client,
    Foo,
    { name, signal },
    (foo) => foo.spec?.replicas === replicas && foo.status?.availableReplicas === replicas,
  );
}

async function checkOwners(client: Client): Promise<void> {
  const foo = await client.get(Foo, { namespace, name });
  const deployment = await client.get(Deployment, { namespace, name });
  expectOwner(deployment, foo);
  const sets = await client.list(ReplicaSet, { namespace });
  if (sets.length !== 1 || sets[0] === undefined) throw new Error(`expected 1 ReplicaSet, found ${sets.length}`);
  expectOwner(sets[0] as KubernetesObject, deployment);
  const pods = await client.list(Pod, { namespace });
  if (pods.length !== 2) throw new Error(`expected 2 Pods, found ${pods.length}`);
  for (const pod of pods) expectOwner(pod as KubernetesObject, sets[0] as KubernetesObject);
}

function expectOwner(object: KubernetesObject, owner: KubernetesObject): void {
  const reference = object.metadata?.ownerReferences?.find((ref) => ref.controller === true);
  if (reference?.uid === owner.metadata?.uid) return;
  throw new Error(
    `${object.metadata?.name} is owned by ${reference?.name ?? 'nobody'}, not by ${owner.metadata?.name}`,
  );
}

/** Resolves when an object of the kind fulfils the condition; rejects when the signal aborts. */
async function waitFor<T extends KubernetesObject>(
  client: Client,
  resource: Parameters<typeof client.watch<T>>[0],
  where: { readonly name?: string; readonly signal: AbortSignal },
  isAsWanted: (object: T) => boolean,
): Promise<void> {
  const fieldSelector = where.name === undefined ? undefined : `metadata.name=${where.name}`;
  const events$ = client.watch<T>(resource, { fieldSelector, signal: where.signal });
  await firstValueFrom(
    events$.pipe(
      map((event) => event.type !== 'BOOKMARK' && event.type !== 'DELETED' && isAsWanted(event.object as T)),
      filter((isReached) => isReached),
    ),
  );
}

async function unlessPresent(creation: Promise<unknown>): Promise<void> {
  await creation.catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}
