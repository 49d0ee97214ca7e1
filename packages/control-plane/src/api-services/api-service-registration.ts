// ApiServiceRegistration keeps an APIService for each group version that this server serves, and reports whether its API is available.
// Started and ended by control-plane.ts. desired-api-services.ts decides which objects are wanted, api-service-availability.ts the
// condition. Source: kube-aggregator controllers/autoregister (with the same table of cases), controllers/status.
import { isDeepStrictEqual } from 'node:util';
import {
  type Clock,
  type DeepReadonly,
  deepCopy,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type Logger,
  type ResourceClient,
} from '@kapstan/api';
import type { HealthCheck, ResourceCatalog, ServedResource } from '@kapstan/apiserver';
import { ReconcileLoop } from '@kapstan/controller';
import { RateLimitingQueue } from '@kapstan/controller/workqueue';
import { deletionHandlingKey, type SharedInformer, SharedInformerFactory } from '@kapstan/informers';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { APIService } from '@kapstan/kinds/apiregistration.k8s.io/v1';
import type { PostStartHook, PostStartHooks } from '../lifetime/post-start-hooks.ts';
import { isAvailable, withLocalAvailability } from './api-service-availability.ts';
import { apiServiceName, automanagedLabel, desiredApiService, desiredApiServices } from './desired-api-services.ts';

export interface ApiServiceRegistrationOptions {
  readonly client: ResourceClient;
  /** The resources that clients can discover. */
  readonly served: ResourceCatalog;
  readonly hooks: PostStartHooks;
  readonly clock: Clock;
  readonly logger: Logger;
}

const workers = 5;
/** APIServices that are checked in parallel when a server starts. */
const batch = 32;

/** Hooks that finish when every APIService has been checked once: it is registered, and its status is correct. */
const hooksOfFirstLook: readonly PostStartHook[] = [
  'apiservice-status-local-available-controller',
  'apiservice-status-remote-available-controller',
  'apiservice-registration-controller',
  'kube-apiserver-autoregistration',
];

/**
 * Hooks that also wait until the registered versions are served, because discovery and OpenAPI are built from served resources.
 */
const hooksOfDocuments: readonly PostStartHook[] = [
  'apiservice-discovery-controller',
  'apiservice-openapi-controller',
  'apiservice-openapiv3-controller',
];

export class ApiServiceRegistration {
  readonly #options: ApiServiceRegistrationOptions;
  readonly #informers: SharedInformerFactory;
  readonly #services: SharedInformer<APIService>;
  readonly #queue: RateLimitingQueue<string>;
  readonly #stop = new AbortController();
  /** Built-in APIServices not yet seen available. */
  readonly #missing: Set<string>;
  readonly #atStart = new Set<string>();
  readonly #synced = new Set<string>();
  #desired: Map<string, APIService>;
  #unfollow: () => void = () => undefined;
  #running: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  /** Creates it idle; {@link start} starts it. */
  constructor(options: ApiServiceRegistrationOptions) {
    this.#options = options;
    const { client, served, clock, logger } = options;
    this.#informers = new SharedInformerFactory(client, { clock, logger });
    this.#services = this.#informers.informer(APIService);
    this.#queue = new RateLimitingQueue<string>({ name: 'autoregister', clock });
    this.#desired = desiredApiServices(served);
    const builtin = [...this.#desired].filter(([, service]) => automanaged(service) === 'onstart');
    this.#missing = new Set(builtin.map(([name]) => name));
  }

  /** Fails until each built-in APIService has been present and available once. */
  get healthCheck(): HealthCheck {
    return {
      name: 'autoregister-completion',
      isPartOfStart: true,
      check: () => {
        if (this.#missing.size === 0) return undefined;
        return new Error(`missing APIService: [${[...this.#missing].sort().join(' ')}]`);
      },
    };
  }

  /** Resolves when every APIService has been checked once. Never rejects: a failure is logged and retried. Call it once. */
  async start(): Promise<void> {
    const { signal } = this.#stop;
    const { hooks, served, logger } = this.#options;
    this.#follow();
    this.#informers.start();
    try {
      await this.#informers.waitForCacheSync({ signal });
      hooks.finish('start-kube-aggregator-informers');
      await this.#lookAtAll();
    } catch (error) {
      if (signal.aborted) return;
      logger.error('could not register the APIServices of this server; retrying', {
        error: String(error),
      });
    }
    // Follows later changes. Versions added before are checked again, which changes nothing.
    this.#unfollow = served.onChange((next, before) => this.#onServedChange(next ?? before));
    this.#lookAtServed();
    this.#running = this.#run();
  }

  /** Leaves the objects in the store, because they belong to all servers. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stop.abort(new Error('the server is stopping'));
    this.#unfollow();
    this.#queue.shutDown();
    await this.#running;
    await this.#informers.close();
  }

  #follow(): void {
    const add = (service: DeepReadonly<APIService>): void => {
      const name = service.metadata?.name ?? '';
      if (isAvailable(service)) this.#missing.delete(name);
      this.#queue.add(name);
    };
    this.#services.addEventHandler({
      onAdd: add,
      onUpdate: (_old, next) => add(next),
      onDelete: (gone) => this.#queue.add(deletionHandlingKey(gone)),
    });
  }

  async #lookAtAll(): Promise<void> {
    const present = this.#services.lister.list().map(({ metadata }) => metadata?.name ?? '');
    for (const name of present) this.#atStart.add(name);
    const names = [...new Set([...this.#desired.keys(), ...present])];
    for (let at = 0; at < names.length; at += batch) {
      this.#stop.signal.throwIfAborted();
      await Promise.all(names.slice(at, at + batch).map((name) => this.#sync(name)));
    }
    this.#finishHooks();
  }

  #finishHooks(): void {
    const { hooks, served } = this.#options;
    hooks.finish(...hooksOfFirstLook);
    const isServed = new Set(served.all().map(({ definition: { version, group } }) => `${version}.${group}`));
    if ([...this.#desired.keys()].every((name) => isServed.has(name))) hooks.finish(...hooksOfDocuments);
  }

  #run(): Promise<unknown> {
    const { clock, logger } = this.#options;
    const reconcile = async ({ name }: { readonly name: string }): Promise<undefined> => {
      await this.#sync(name);
      if (this.#synced.size >= this.#desired.size) this.#finishHooks();
    };
    const loop = { queue: this.#queue, reconcile, workers, logger, gracePeriodMs: 0, clock };
    return new ReconcileLoop(loop).run(this.#stop.signal);
  }

  #lookAtServed(): void {
    const before = this.#desired;
    this.#desired = desiredApiServices(this.#options.served);
    for (const name of this.#desired.keys()) if (!before.has(name) || !this.#synced.has(name)) this.#queue.add(name);
    for (const name of before.keys()) if (!this.#desired.has(name)) this.#queue.add(name);
  }

  /** Looks only at the group version that changed, because a definition may have thousands. */
  #onServedChange(changed: ServedResource | undefined): void {
    if (changed === undefined) return;
    const { served } = this.#options;
    const { group, version, resource } = changed.definition;
    const name = apiServiceName({ group, version });
    const before = this.#desired.get(name);
    const own = served.find(group, version, resource);
    let desired = own && desiredApiService(own.definition);
    // The first resource of a version decides, as at a start. Looking for it goes through all, and most changes agree with it.
    if (desired === undefined || (before !== undefined && !isDeepStrictEqual(desired, before))) {
      const first = served.all().find(({ definition }) => apiServiceName(definition) === name);
      desired = first && desiredApiService(first.definition);
    }
    if (desired === undefined) this.#desired.delete(name);
    else this.#desired.set(name, desired);
    if (!isDeepStrictEqual(desired, before) || (desired !== undefined && !this.#synced.has(name)))
      this.#queue.add(name);
  }

  async #sync(name: string): Promise<void> {
    try {
      await this.#register(name);
      this.#synced.add(name);
      await this.#tellAvailability(name);
    } catch (error) {
      // Another server wrote it first, which our cache will show soon.
      if (!isNotFound(error) && !isConflict(error) && !isAlreadyExists(error)) throw error;
    }
  }

  /** Creates, corrects or deletes one APIService. Objects without the automanaged label are left alone. */
  async #register(name: string): Promise<void> {
    const { client } = this.#options;
    const { signal } = this.#stop;
    const desired = this.#desired.get(name);
    const present = this.#services.lister.find(name);
    const isOnce = this.#synced.has(name);
    if (isOnce && automanaged(desired) === 'onstart') return;
    if (present === undefined) {
      if (desired !== undefined) await client.create(APIService, deepCopy(desired) as APIService, { signal });
      return;
    }
    const kept = automanaged(present);
    if (kept === undefined || (kept === 'onstart' && (isOnce || !this.#atStart.has(name)))) return;
    if (desired === undefined) {
      if (kept === 'true' && (await this.#isDefined(present))) return;
      const { uid = '' } = present.metadata ?? {};
      await client.delete(APIService, { name }, { preconditions: { uid }, signal });
    } else if (!isDeepStrictEqual(present.spec, desired.spec)) {
      await client.update(APIService, { ...(present as APIService), spec: { ...desired.spec } as never }, { signal });
    }
  }

  /** Returns whether a stored definition serves this version: another server on the same store may serve it before this one does. */
  async #isDefined({ spec }: DeepReadonly<APIService>): Promise<boolean> {
    const definitions = await this.#options.client.list(CustomResourceDefinition, { signal: this.#stop.signal });
    return definitions.some(
      ({ spec: { group, versions } }) =>
        group === spec?.group && versions.some(({ name, served }) => served && name === spec.version),
    );
  }

  async #tellAvailability(name: string): Promise<void> {
    const { client, clock } = this.#options;
    const present = this.#services.lister.find(name);
    const next = present === undefined ? undefined : withLocalAvailability(present, clock.now());
    if (next === undefined) return;
    await client.update(APIService, next, { subresource: 'status', signal: this.#stop.signal });
  }
}

/** Returns undefined for an object that no server manages. */
function automanaged(service: DeepReadonly<APIService> | undefined): 'onstart' | 'true' | undefined {
  const kept = service?.metadata?.labels?.[automanagedLabel];
  return kept === 'onstart' || kept === 'true' ? kept : undefined;
}
