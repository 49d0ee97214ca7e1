// examples/03: one suite of behaviour for the sample controller on each of the three layers.
import { isNotFound, type KubernetesObject, type Logger, silentLogger } from '@kapstan/api';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { Event } from '@kapstan/kinds/core/v1';
import { type TestCluster, testCluster } from '@kapstan/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runBuilder } from '../../examples/03-sample-controller/builder.ts';
import { runClientGo } from '../../examples/03-sample-controller/client-go.ts';
import { Foo } from '../../examples/03-sample-controller/foo.ts';
import { runObservables } from '../../examples/03-sample-controller/observables.ts';

const at = { namespace: 'default', name: 'web' };

describe.each([
  ['observables', runObservables, 'the Foo could not be synced'],
  ['client-go', runClientGo, 'Error syncing; requeuing for later retry'],
  ['builder', runBuilder, 'Error syncing; requeuing for later retry'],
] as const)('the sample controller as %s', (_layer, run, failure) => {
  let cluster: TestCluster;
  let failures: { readonly message: string; readonly key: unknown; readonly error: unknown }[];
  let stop: AbortController;
  let running: Promise<void>;
  beforeEach(async () => {
    cluster = await testCluster({ http: 'off' });
    stop = new AbortController();
    failures = [];
    const logger: Logger = {
      ...silentLogger,
      error: (message, { key, error } = {}) => void failures.push({ message, key, error }),
    };
    running = run({ client: cluster.client, signal: stop.signal, clock: cluster.clock, logger });
    await cluster.settle();
  });
  afterEach(async () => {
    stop.abort();
    await cluster.settle();
    await running;
    await cluster.close();
  });

  const create = async (spec: { deploymentName?: string; replicas?: number }) => {
    const foo = await cluster.client.create(Foo, { metadata: { namespace: 'default', name: 'foo' }, spec });
    await cluster.settle();
    return foo;
  };
  const deployment = () => cluster.client.get(Deployment, at);
  const foo = () => cluster.client.get(Foo, { namespace: 'default', name: 'foo' });
  const events = async (reason: string): Promise<readonly { readonly message?: string }[]> =>
    (await cluster.client.listPage(Event, { namespace: 'default' })).items.filter((event) => event.reason === reason);

  it('gives a Foo its Deployment, owned by it, and says so', async () => {
    const { metadata } = await create({ deploymentName: 'web', replicas: 2 });
    const { spec, metadata: own } = await deployment();
    expect(spec).toMatchObject({ replicas: 2, selector: { matchLabels: { app: 'nginx', controller: 'foo' } } });
    expect(own?.ownerReferences).toEqual([
      {
        apiVersion: 'samplecontroller.k8s.io/v1alpha1',
        kind: 'Foo',
        name: 'foo',
        uid: metadata?.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    expect(await events('Synced')).toMatchObject([
      { message: 'Foo synced successfully', involvedObject: { kind: 'Foo', name: 'foo' } },
    ]);
  });

  it('shows how many replicas are available', async () => {
    await create({ deploymentName: 'web', replicas: 2 });
    expect((await foo()).status).toEqual({ availableReplicas: 0 });
    const status = { replicas: 2, readyReplicas: 2, availableReplicas: 2 };
    await cluster.client.patch(Deployment, at, { type: 'merge', body: { status } }, { subresource: 'status' });
    await cluster.settle();
    expect((await foo()).status).toEqual({ availableReplicas: 2 });
  });

  it('keeps the replicas, whoever changes them', async () => {
    await create({ deploymentName: 'web', replicas: 2 });
    await cluster.client.patch(
      Foo,
      { namespace: 'default', name: 'foo' },
      { type: 'merge', body: { spec: { replicas: 3 } } },
    );
    await cluster.settle();
    expect((await deployment()).spec?.replicas).toBe(3);
    await cluster.client.patch(Deployment, at, { type: 'merge', body: { spec: { replicas: 7 } } });
    await cluster.settle();
    expect((await deployment()).spec?.replicas).toBe(3);
  });

  it('leaves the replicas to others where the Foo says nothing about them', async () => {
    await create({ deploymentName: 'web' });
    expect((await deployment()).spec?.replicas).toBe(1);
    await cluster.client.patch(Deployment, at, { type: 'merge', body: { spec: { replicas: 5 } } });
    await cluster.advance(40_000);
    expect((await deployment()).spec?.replicas).toBe(5);
  });

  it('makes a deleted Deployment anew', async () => {
    await create({ deploymentName: 'web', replicas: 1 });
    const { metadata } = await deployment();
    await cluster.client.delete(Deployment, at);
    await cluster.settle();
    expect((await deployment()).metadata?.uid).not.toBe(metadata?.uid);
  });

  it('does not touch a Deployment that is not its own, warns, and takes the name when it is free', async () => {
    const labels = { app: 'other' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const foreign: Deployment = { metadata: at, spec: { replicas: 4, selector: { matchLabels: labels }, template } };
    await cluster.client.create(Deployment, foreign);
    await create({ deploymentName: 'web', replicas: 1 });
    await cluster.advance(1000);
    expect((await deployment()).spec?.replicas).toBe(4);
    expect((await foo()).status).toBeUndefined();
    const warnings = await events('ErrResourceExists');
    expect(warnings).toMatchObject([
      { type: 'Warning', message: 'Resource "web" already exists and is not managed by Foo' },
    ]);
    const { count } = warnings[0] as { count?: number };
    expect(count, 'tried again, later and later').toBeGreaterThan(3);
    const error = expect.objectContaining({ message: 'Resource "web" already exists and is not managed by Foo' });
    expect(failures, 'one line each').toEqual(Array(count).fill({ message: failure, key: 'default/foo', error }));
    await cluster.client.delete(Deployment, at);
    await cluster.advance(10_000);
    expect((await deployment()).spec?.replicas).toBe(1);
  });

  it('goes on with other Foos while some fail', async () => {
    const labels = { app: 'other' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    for (const name of ['x', 'y', 'z']) {
      const metadata = { namespace: 'default', name };
      await cluster.client.create(Deployment, { metadata, spec: { selector: { matchLabels: labels }, template } });
      await cluster.client.create(Foo, { metadata, spec: { deploymentName: name, replicas: 1 } });
    }
    await cluster.advance(1000);
    await create({ deploymentName: 'web', replicas: 1 });
    expect((await deployment()).spec?.replicas).toBe(1);
  });

  it('waits for the next change where no Deployment is named', async () => {
    await create({ replicas: 1 });
    await cluster.advance(1000);
    await expect(deployment()).rejects.toSatisfy(isNotFound);
    await cluster.client.patch(
      Foo,
      { namespace: 'default', name: 'foo' },
      { type: 'merge', body: { spec: { deploymentName: 'web' } } },
    );
    await cluster.settle();
    expect((await deployment()).spec?.replicas).toBe(1);
  });

  it('writes nothing for a Foo that is gone, and leaves its Deployment to the garbage collector', async () => {
    await create({ deploymentName: 'web', replicas: 1 });
    await cluster.client.delete(Foo, { namespace: 'default', name: 'foo' });
    const { metadata } = await deployment();
    await cluster.advance(60_000);
    expect((await deployment().catch((error: unknown) => error)) as object).toSatisfy(
      (found: unknown) =>
        isNotFound(found) || (found as Deployment).metadata?.resourceVersion === metadata?.resourceVersion,
    );
    expect(await events('ErrResourceExists')).toEqual([]);
  });

  it('leaves Deployments of other owners alone', async () => {
    await create({ deploymentName: 'web', replicas: 1 });
    const before = await foo();
    const owner = { apiVersion: 'other.io/v1', kind: 'Foo', name: 'foo', uid: 'u', controller: true };
    const labels = { app: 'other' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const metadata = { namespace: 'default', name: 'foreign', ownerReferences: [owner] };
    const spec = { replicas: 4, selector: { matchLabels: labels }, template };
    await cluster.client.create(Deployment, { metadata, spec });
    await cluster.settle();
    expect((await foo()).metadata?.resourceVersion).toBe(before.metadata?.resourceVersion);
    expect(await events('ErrResourceExists')).toEqual([]);
  });

  it('comes to rest', async () => {
    await create({ deploymentName: 'web', replicas: 1 });
    const versions = async (): Promise<unknown> => {
      const objects: KubernetesObject[] = [await foo(), await deployment()];
      return objects.map(({ metadata }) => metadata?.resourceVersion);
    };
    const before = await versions();
    await cluster.advance(120_000);
    expect(await versions()).toEqual(before);
  });

  it('keeps on after a restart of the server', async () => {
    await create({ deploymentName: 'web', replicas: 1 });
    await cluster.stop();
    await cluster.start();
    await cluster.client.patch(
      Foo,
      { namespace: 'default', name: 'foo' },
      { type: 'merge', body: { spec: { replicas: 2 } } },
    );
    await cluster.advance(60_000);
    expect((await deployment()).spec?.replicas).toBe(2);
  });
});
