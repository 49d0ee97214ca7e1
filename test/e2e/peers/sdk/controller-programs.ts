// Programs about controllers: the builder with a custom resource, leader election, events.
import { delay, isNotFound } from '@kapstan/api';
import { controller, EventRecorder, LeaderElector, Manager, requeueAfter } from '@kapstan/controller';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import { ConfigMap, Event } from '@kapstan/kinds/core/v1';
import { expect } from 'vitest';
import { failure } from './client-programs.ts';
import { Gadget } from './gadget.ts';
import { clock, eventually, type Programs, type Scene } from './scene.ts';

/** A Gadget has a Deployment with the same name, and a ConfigMap that only its finalizer removes. */
const gadgets = controller(Gadget, { name: 'gadgets' })
  .owns(Deployment)
  .finalize('sdk.example.com/record', async ({ metadata }, { client }) => {
    const target = { namespace: metadata?.namespace ?? '', name: `${metadata?.name}-record` };
    await client.delete(ConfigMap, target).catch((error) => {
      if (!isNotFound(error)) throw error;
    });
  })
  .reconcile(async ({ metadata, spec }, { apply, status, event }) => {
    const name = metadata?.name ?? '';
    const labels = { gadget: name };
    const containers = [{ name: 'c', image: spec.image }];
    const template = { metadata: { labels }, spec: { containers } };
    const { status: seen } = await apply(Deployment, {
      metadata: { name, labels },
      spec: { replicas: spec.replicas ?? 1, selector: { matchLabels: labels }, template },
    });
    await apply(ConfigMap, { metadata: { name: `${name}-record` } }, { owner: 'none' });
    await status({ replicas: seen?.readyReplicas ?? 0, phase: 'Applied' });
    event('Normal', 'Applied', `image ${spec.image}`);
  });

/** Runs a manager until the program ends. */
function runManager(scene: Scene, options: Partial<ConstructorParameters<typeof Manager>[1]> = {}): Manager {
  const { client, namespace } = scene;
  const stop = new AbortController();
  const manager = new Manager([gadgets], { client, namespaces: [namespace], installCrds: true, ...options });
  const running = manager.run(stop.signal);
  running.catch(() => undefined);
  scene.defer(async () => {
    stop.abort();
    await running;
  });
  return manager;
}

export const controllerPrograms: Programs = {
  'a controller turns custom resources into Deployments, repairs them, and cleans up': async (scene) => {
    const { client, namespace } = scene;
    const manager = runManager(scene);
    await manager.whenReady();
    const at = { namespace, name: 'web' };
    const { metadata } = await client.create(Gadget, { metadata: at, spec: { image: 'one', replicas: 2 } });
    const made = await eventually(() => client.get(Deployment, at));
    expect(made.spec?.replicas).toBe(2);
    expect(made.metadata?.ownerReferences).toMatchObject([{ kind: 'Gadget', uid: metadata?.uid, controller: true }]);
    await eventually(async () =>
      expect(await client.get(Gadget, at)).toMatchObject({
        metadata: { finalizers: ['sdk.example.com/record'] },
        status: { phase: 'Applied', replicas: 0 },
      }),
    );
    await client.mergePatch(Deployment, at, { status: { readyReplicas: 2, replicas: 2 } }, { subresource: 'status' });
    await eventually(async () => expect((await client.get(Gadget, at)).status?.replicas).toBe(2));
    await client.mergePatch(Deployment, at, { spec: { replicas: 9 } });
    await eventually(async () => expect((await client.get(Deployment, at)).spec?.replicas).toBe(2));
    await client.delete(Deployment, at);
    await eventually(async () => expect((await client.get(Deployment, at)).metadata?.uid).not.toBe(made.metadata?.uid));
    await client.mergePatch(Gadget, at, { spec: { image: 'two' } });
    await eventually(async () =>
      expect((await client.get(Deployment, at)).spec?.template.spec?.containers[0]?.image).toBe('two'),
    );
    await client.delete(Gadget, at);
    await eventually(async () => expect(isNotFound(await failure(client.get(Gadget, at)))).toBe(true));
    expect(isNotFound(await failure(client.get(ConfigMap, { namespace, name: 'web-record' })))).toBe(true);
    await eventually(async () => {
      const events = await client.list(Event, { namespace });
      expect(events.map(({ reason, message }) => `${reason}: ${message}`)).toContain('Applied: image two');
    });
  },

  'a controller comes to rest, and comes back when it asked to': async (scene) => {
    const { client, namespace } = scene;
    let runs = 0;
    const at = { namespace, name: 'a' };
    const patient = controller(ConfigMap, { name: 'patient' }).reconcile(async ({ metadata }) => {
      if (metadata?.name !== 'a') return undefined;
      runs++;
      return runs === 1 ? requeueAfter(300) : undefined;
    });
    const stop = new AbortController();
    const manager = new Manager([patient], { client, namespaces: [namespace] });
    const running = manager.run(stop.signal);
    await manager.whenReady();
    await client.create(ConfigMap, { metadata: at });
    await eventually(() => expect(runs).toBe(2));
    await delay(clock, 500);
    expect(runs).toBe(2);
    stop.abort();
    await running;
  },

  'of two managers one leads, and the other when that one stops': async (scene) => {
    const { client, namespace } = scene;
    const election = (identity: string) => ({
      leaderElection: {
        name: 'gadgets',
        namespace,
        identity,
        leaseDurationMs: 3000,
        renewDeadlineMs: 2000,
        retryPeriodMs: 250,
      },
    });
    const stopOne = new AbortController();
    const one = new Manager([gadgets], { client, namespaces: [namespace], installCrds: true, ...election('one') });
    const running = one.run(stopOne.signal);
    await eventually(() => expect(one.isLeader).toBe(true));
    const two = runManager(scene, election('two'));
    await two.whenReady();
    const lease = () => client.get(Lease, { namespace, name: 'gadgets' });
    expect((await lease()).spec).toMatchObject({ holderIdentity: 'one', leaseDurationSeconds: 3, leaseTransitions: 0 });
    expect([one.isLeader, two.isLeader]).toEqual([true, false]);
    stopOne.abort();
    await running;
    await eventually(() => expect(two.isLeader).toBe(true));
    expect((await lease()).spec).toMatchObject({ holderIdentity: 'two', leaseTransitions: 1 });
    const at = { namespace, name: 'after' };
    await client.create(Gadget, { metadata: at, spec: { image: 'i' } });
    await eventually(() => client.get(Deployment, at));
  },

  'a candidate takes a lease that ran out, and never one that is renewed': async (scene) => {
    const { client, namespace } = scene;
    const times = { leaseDurationMs: 1000, renewDeadlineMs: 800, retryPeriodMs: 100 };
    const seen: string[] = [];
    const candidate = (identity: string) =>
      new LeaderElector({
        client,
        name: 'lock',
        namespace,
        identity,
        releasesOnStop: false,
        onNewLeader: (leader) => seen.push(`${identity} sees ${leader}`),
        ...times,
      });
    const stop = new AbortController();
    scene.defer(() => stop.abort());
    const stopFirst = new AbortController();
    const working = (signal: AbortSignal) =>
      new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    const [first, second] = [candidate('first'), candidate('second')];
    const firstRun = first.run((term) => working(AbortSignal.any([term, stopFirst.signal])), stopFirst.signal);
    await eventually(() => expect(first.isLeader).toBe(true));
    const secondRun = second.run((term) => working(AbortSignal.any([term, stop.signal])), stop.signal);
    await delay(clock, 1500);
    expect([first.isLeader, second.isLeader]).toEqual([true, false]);
    stopFirst.abort();
    await firstRun;
    await eventually(() => expect(second.isLeader).toBe(true));
    expect(seen).toEqual(['first sees first', 'second sees first', 'second sees second']);
    stop.abort();
    await secondRun;
  },

  'a recorder writes events about an object, and counts what it repeats': async (scene) => {
    const { client, namespace } = scene;
    const map = await client.create(ConfigMap, { metadata: { namespace, name: 'a' } });
    const recorder = new EventRecorder({ client, component: 'sdk', host: 'here' });
    scene.defer(() => recorder.close());
    for (let time = 0; time < 3; time++)
      recorder.record(map, { type: 'Warning', reason: 'Odd', message: 'again and again' });
    recorder.record(map, { type: 'Normal', reason: 'Even', message: 'once' });
    await recorder.flush();
    const events = await client.list(Event, { namespace, fieldSelector: 'involvedObject.name=a' });
    expect(events.map(({ reason, count, type }) => `${type} ${reason} ${count}`).sort()).toEqual([
      'Normal Even 1',
      'Warning Odd 3',
    ]);
    expect(events[0]).toMatchObject({
      involvedObject: { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'a', uid: map.metadata?.uid },
      source: { component: 'sdk', host: 'here' },
      reportingComponent: 'sdk',
    });
    expect(await client.list(Event, { namespace, fieldSelector: 'reason=Even' })).toHaveLength(1);
  },
};
