// The sample controller of Kubernetes, on Kapstan's informers and work queue: each Foo gets the Deployment that it names,
// with the replicas that it asks for, and its status shows how many are available.
import {
  type Clock,
  type DeepReadonly,
  deepCopy,
  type KubernetesObject,
  type Logger,
  metaNamespaceKey,
  objectKey,
  type ResourceClient,
} from '@kapstan/api';
import { EventRecorder, ReconcileLoop, type ReconcileRequest } from '@kapstan/controller';
import {
  BucketRateLimiter,
  ExponentialFailureRateLimiter,
  MaxOfRateLimiter,
  RateLimitingQueue,
} from '@kapstan/controller/workqueue';
import {
  isDeletedFinalStateUnknown,
  type SharedInformer,
  type SharedInformerFactory,
  waitForCacheSync,
} from '@kapstan/informers';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { Foo } from './foo.ts';

const name = 'sample-controller';

export interface SampleControllerOptions {
  readonly client: ResourceClient;
  /** Started by the caller, after this controller was created. */
  readonly factory: SharedInformerFactory;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class SampleController {
  readonly #client: ResourceClient;
  readonly #foos: SharedInformer<Foo>;
  readonly #deployments: SharedInformer<Deployment>;
  readonly #queue: RateLimitingQueue<string>;
  readonly #recorder: EventRecorder;
  readonly #logger: Logger;

  constructor({ client, factory, clock, logger }: SampleControllerOptions) {
    this.#client = client;
    this.#logger = logger;
    this.#foos = factory.informer(Foo);
    this.#deployments = factory.informer(Deployment);
    this.#recorder = new EventRecorder({ client, component: name, clock, logger });
    const rateLimiter = new MaxOfRateLimiter<string>([
      new ExponentialFailureRateLimiter({ baseMs: 5, maxMs: 1_000_000 }),
      new BucketRateLimiter({ perSecond: 50, burst: 300, clock }),
    ]);
    this.#queue = new RateLimitingQueue({ name: 'Foos', clock, rateLimiter });
    this.#foos.addEventHandler({
      onAdd: (foo) => this.#enqueue(foo),
      onUpdate: (_old, foo) => this.#enqueue(foo),
    });
    this.#deployments.addEventHandler({
      onAdd: (deployment) => this.#enqueueOwner(deployment),
      onUpdate: (old, deployment) => {
        // An equal version means a resync without a change.
        if (old.metadata?.resourceVersion !== deployment.metadata?.resourceVersion) this.#enqueueOwner(deployment);
      },
      onDelete: (deployment) =>
        this.#enqueueOwner(isDeletedFinalStateUnknown(deployment) ? deployment.object : deployment),
    });
  }

  /** Runs until the signal aborts; resolves when work in progress has ended. */
  async run(signal: AbortSignal): Promise<void> {
    this.#logger.info('Starting Foo controller');
    const hasSynced = await waitForCacheSync([this.#foos, this.#deployments], { signal });
    if (!hasSynced) throw new Error('failed to wait for caches to sync');
    this.#logger.info('Started workers', { count: 2 });
    await new ReconcileLoop({
      queue: this.#queue,
      workers: 2,
      logger: this.#logger,
      reconcile: (request) => this.#sync(request),
    }).run(signal);
    // The last events are still being written.
    await this.#recorder.drain();
    await this.#recorder.close();
  }

  #enqueue(foo: DeepReadonly<KubernetesObject>): void {
    this.#queue.add(metaNamespaceKey(foo));
  }

  /** Queues the Foo that controls an object, if it exists. */
  #enqueueOwner(object: DeepReadonly<KubernetesObject> | undefined): void {
    const owner = object?.metadata?.ownerReferences?.find((reference) => reference.controller === true);
    if (owner === undefined || owner.kind !== Foo.kind || !owner.apiVersion.startsWith(`${Foo.group}/`)) return;
    const namespace = object?.metadata?.namespace ?? '';
    if (this.#foos.lister.namespace(namespace).find(owner.name) !== undefined)
      this.#queue.add(objectKey(namespace, owner.name));
  }

  async #sync({ namespace, name: fooName }: ReconcileRequest): Promise<undefined> {
    const foo = this.#foos.lister.namespace(namespace).find(fooName);
    if (foo === undefined) return;
    const deploymentName = foo.spec?.deploymentName ?? '';
    if (deploymentName === '')
      return this.#logger.error('Deployment name missing from object reference', { foo: fooName }) as undefined;
    const deployment = await this.#syncDeployment(foo, deploymentName);
    await this.#updateStatus(foo, deployment);
    this.#recorder.record(asObject(foo), { type: 'Normal', reason: 'Synced', message: 'Foo synced successfully' });
  }

  async #syncDeployment(foo: DeepReadonly<Foo>, deploymentName: string): Promise<DeepReadonly<Deployment>> {
    const cached = this.#deployments.lister.namespace(foo.metadata?.namespace ?? '').find(deploymentName);
    const deployment = cached ?? (await this.#client.create(Deployment, newDeployment(foo), { fieldManager: name }));
    if (
      !deployment.metadata?.ownerReferences?.some((ref) => ref.controller === true && ref.uid === foo.metadata?.uid)
    ) {
      const message = `Resource "${deploymentName}" already exists and is not managed by Foo`;
      this.#recorder.record(asObject(foo), { type: 'Warning', reason: 'ErrResourceExists', message });
      throw new Error(message);
    }
    const replicas = foo.spec?.replicas;
    if (replicas === undefined || replicas === deployment.spec?.replicas) return deployment;
    return this.#client.update(Deployment, newDeployment(foo), { fieldManager: name });
  }

  async #updateStatus(foo: DeepReadonly<Foo>, deployment: DeepReadonly<Deployment>): Promise<void> {
    const next = asObject(foo);
    next.status = { availableReplicas: deployment.status?.availableReplicas ?? 0 };
    await this.#client.update(Foo, next, { subresource: 'status', fieldManager: name });
  }
}

/** Returns a private copy with its apiVersion and kind, which cached objects may lack. */
function asObject(foo: DeepReadonly<Foo>): Foo {
  return { ...deepCopy(foo), apiVersion: `${Foo.group}/${Foo.version}`, kind: Foo.kind };
}

function newDeployment(foo: DeepReadonly<Foo>): Deployment {
  const { name: controller = '', namespace = '', uid = '' } = foo.metadata ?? {};
  const labels = { app: 'nginx', controller };
  const owner = {
    apiVersion: `${Foo.group}/${Foo.version}`,
    kind: Foo.kind,
    name: controller,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: foo.spec?.deploymentName ?? '', namespace, ownerReferences: [owner] },
    spec: {
      ...(foo.spec?.replicas === undefined ? {} : { replicas: foo.spec.replicas }),
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'nginx', image: 'nginx:latest' }] } },
    },
  };
}
