// ServedKinds follows every kind that the server currently serves with an informer, custom ones as they come and go. The namespace
// controller and the garbage collector read kinds from it. It connects the loops with the catalog and the factory.
import {
  apiVersionOf,
  type CancelTimer,
  type Clock,
  type DeepReadonly,
  type KubernetesObject,
  type Resource,
  resource,
} from '@kapstan/api';
import type { ResourceCatalog, ResourceDefinition, ServedResource } from '@kapstan/apiserver';
import type { EventHandlerRegistration, SharedInformerFactory } from '@kapstan/informers';
import { isDeletedFinalStateUnknown } from '@kapstan/informers';

/** Receives the objects of all followed kinds, synchronously. */
export interface KindHandler {
  /** `old` is undefined for an object that is new to the handler. */
  onChange?(
    token: Resource,
    object: DeepReadonly<KubernetesObject>,
    old: DeepReadonly<KubernetesObject> | undefined,
  ): void;
  /** `object` is the last known state. */
  onDelete?(token: Resource, object: DeepReadonly<KubernetesObject>): void;
  /** Called when kinds were added or removed. */
  onKindsChange?(): void;
}

export interface ServedKindsOptions {
  readonly catalog: ResourceCatalog;
  readonly informers: SharedInformerFactory;
  readonly clock: Clock;
}

interface FollowedKind {
  readonly token: Resource;
  readonly registrations: Map<KindHandler, EventHandlerRegistration>;
}

/** Events are many and have no dependents. Source: garbagecollector.DefaultIgnoredResources. */
const notFollowed: ReadonlySet<string> = new Set(['/events', 'events.k8s.io/events']);
const followVerbs = ['delete', 'list', 'watch'] as const;

export class ServedKinds {
  readonly #catalog: ResourceCatalog;
  readonly #informers: SharedInformerFactory;
  readonly #clock: Clock;
  readonly #handlers = new Set<KindHandler>();
  /** Keyed by "group/version/resource". */
  readonly #followed = new Map<string, FollowedKind>();
  readonly #syncing = new Set<EventHandlerRegistration>();
  readonly #waiting = new Set<() => void>();
  readonly #closing = new Set<Promise<void>>();
  #stopListening: (() => void) | undefined;
  #isClosed = false;

  constructor(options: ServedKindsOptions) {
    this.#catalog = options.catalog;
    this.#informers = options.informers;
    this.#clock = options.clock;
  }

  /** Registers the handler for all kinds served now or later, until {@link close} or the returned function is called. It must not throw. */
  follow(handler: KindHandler): () => void {
    if (this.#isClosed) return () => undefined;
    this.#handlers.add(handler);
    for (const kind of this.#followed.values()) this.#register(kind, handler);
    this.#stopListening ??= this.#catalog.onChange(() => this.#refresh());
    this.#refresh();
    return () => this.#unfollow(handler);
  }

  /** Returns each namespaced resource whose objects can be deleted, once however many versions it has. */
  namespacedDeletable(): Resource[] {
    return this.#preferred()
      .filter(({ definition }) => definition.namespaced && definition.verbs.includes('delete'))
      .map(({ definition }) => tokenOf(definition));
  }

  /** Returns the resource of a kind in exactly this version; undefined when it is not served. */
  find(apiVersion: string, kind: string): Resource | undefined {
    const isMeant = ({ definition }: ServedResource): boolean =>
      definition.kind === kind && apiVersionOf(tokenOf(definition)) === apiVersion;
    const found = this.#catalog.all().find(isMeant);
    return found === undefined ? undefined : tokenOf(found.definition);
  }

  /** True once the handlers have received all objects that existed. */
  get hasSynced(): boolean {
    return this.#syncing.size === 0;
  }

  /**
   * Resolves to true once the handlers have received all objects that existed; to false when the timeout passes or the signal aborts first.
   */
  whenSynced({ timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal }): Promise<boolean> {
    if (this.hasSynced || signal.aborted) return Promise.resolve(this.hasSynced);
    return new Promise((resolve) => {
      let cancel: CancelTimer = () => undefined;
      const finish = (): void => {
        cancel();
        this.#waiting.delete(finish);
        signal.removeEventListener('abort', finish);
        resolve(this.hasSynced);
      };
      this.#waiting.add(finish);
      signal.addEventListener('abort', finish, { once: true });
      cancel = this.#clock.setBackgroundTimer(finish, timeoutMs);
    });
  }

  /** Stops following all kinds. The informers still belong to the factory. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopListening?.();
    for (const kind of this.#followed.values()) this.#closeAll(kind);
    this.#followed.clear();
    await Promise.all(this.#closing);
  }

  // Atomic: when this returns, the followed kinds are the kinds of the catalog.
  #refresh(): void {
    const wanted = new Map(
      this.#preferred()
        .filter(isFollowed)
        .map(({ definition }) => [keyOf(definition), definition]),
    );
    const gone = [...this.#followed].filter(([key]) => !wanted.has(key));
    const come = [...wanted].filter(([key]) => !this.#followed.has(key));
    if (gone.length === 0 && come.length === 0) return;
    for (const [key, kind] of gone) this.#drop(key, kind);
    for (const [key, definition] of come) {
      const kind: FollowedKind = { token: tokenOf(definition), registrations: new Map() };
      this.#followed.set(key, kind);
      for (const handler of this.#handlers) this.#register(kind, handler);
    }
    this.#informers.start();
    for (const handler of this.#handlers) handler.onKindsChange?.();
  }

  #drop(key: string, kind: FollowedKind): void {
    this.#followed.delete(key);
    this.#closeAll(kind);
    this.#track(this.#informers.removeInformer(kind.token));
  }

  #unfollow(handler: KindHandler): void {
    this.#handlers.delete(handler);
    for (const { registrations } of this.#followed.values()) {
      const registration = registrations.get(handler);
      registrations.delete(handler);
      if (registration !== undefined) this.#close(registration);
    }
  }

  #closeAll({ registrations }: FollowedKind): void {
    for (const one of registrations.values()) this.#close(one);
  }

  #register({ token, registrations }: FollowedKind, handler: KindHandler): void {
    const registration = this.#informers.informer(token).addEventHandler({
      onAdd: (object) => handler.onChange?.(token, object, undefined),
      onUpdate: (old, next) => handler.onChange?.(token, next, old),
      onDelete: (object) => {
        const last = isDeletedFinalStateUnknown<KubernetesObject>(object) ? object.object : object;
        if (last !== undefined) handler.onDelete?.(token, last);
      },
    });
    registrations.set(handler, registration);
    if (registration.hasSynced) return;
    this.#syncing.add(registration);
    void registration.whenSynced().then(() => this.#synced(registration));
  }

  #close(registration: EventHandlerRegistration): void {
    this.#synced(registration);
    this.#track(registration.close());
  }

  #synced(registration: EventHandlerRegistration): void {
    if (!this.#syncing.delete(registration) || !this.hasSynced) return;
    for (const finish of [...this.#waiting]) finish();
  }

  #track(closing: Promise<void>): void {
    const tracked = closing.finally(() => this.#closing.delete(tracked));
    this.#closing.add(tracked);
  }

  /** Returns one version of each resource: the stored one, which needs no conversion, or else the first. */
  #preferred(): ServedResource[] {
    const chosen = new Map<string, ServedResource>();
    for (const served of this.#catalog.all()) {
      const { group, resource: name, version, storageVersion } = served.definition;
      const isStored = storageVersion.group === group && storageVersion.version === version;
      if (isStored || !chosen.has(`${group}/${name}`)) chosen.set(`${group}/${name}`, served);
    }
    return [...chosen.values()];
  }
}

function isFollowed({ definition }: ServedResource): boolean {
  const { group, resource: name, verbs } = definition;
  return !notFollowed.has(`${group}/${name}`) && followVerbs.every((verb) => verbs.includes(verb));
}

function keyOf({ group, version, resource: name }: ResourceDefinition): string {
  return `${group}/${version}/${name}`;
}

function tokenOf(definition: ResourceDefinition): Resource {
  const { group, version, kind } = definition;
  const scope = definition.namespaced ? 'Namespaced' : 'Cluster';
  return resource<KubernetesObject>({ group, version, kind, plural: definition.resource, scope });
}
