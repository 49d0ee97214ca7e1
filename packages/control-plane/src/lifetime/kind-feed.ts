// KindFeed lists and watches the stored objects of some kinds in this process, and keeps a store of them in step: roles and bindings for
// the authorizer (control-plane.ts), webhook configurations for admission (admission.ts).
import type { Clock, DeepReadonly, KubernetesObject, Logger, Resource, ResourceClient } from '@kapstan/api';
import { Reflector } from '@kapstan/informers';
import { filter, firstValueFrom } from 'rxjs';

type Stored = DeepReadonly<KubernetesObject>;

/** Receives stored objects, by the name of the kind. */
interface KindStore<K extends string> {
  set(kind: K, object: Stored): void;
  delete(kind: K, object: Stored): void;
  /** Replaces all objects of the kind in one step. */
  replace(kind: K, objects: Iterable<Stored>): void;
}

export interface KindFeedOptions<K extends string> {
  readonly client: ResourceClient;
  readonly kinds: readonly Resource<KubernetesObject>[];
  readonly store: KindStore<K>;
  /** Name of the objects in the log: "roles or bindings". */
  readonly what: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class KindFeed<K extends string> {
  readonly #reflectors: readonly Reflector<KubernetesObject>[];

  /** Creates it idle; {@link start} starts it. */
  constructor(options: KindFeedOptions<K>) {
    this.#reflectors = options.kinds.map((kind) => reflectorOf(kind, options));
  }

  /** Starts the feed. It never gives up: while a kind cannot be read, its last known objects count. */
  start(): void {
    for (const reflector of this.#reflectors) reflector.start();
  }

  /** Resolves when the store holds everything stored at the start. Rejects when the feed is closed first. */
  async whenSynced(): Promise<void> {
    await Promise.all(
      this.#reflectors.map(({ status$ }) => firstValueFrom(status$.pipe(filter(({ phase }) => phase === 'live')))),
    );
  }

  /** Idempotent. */
  async close(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.close()));
  }
}

function reflectorOf<K extends string>(
  kind: Resource<KubernetesObject>,
  { client, store, what, clock, logger }: KindFeedOptions<K>,
): Reflector<KubernetesObject> {
  const name = kind.kind as K;
  const target = {
    add: (object: Stored) => store.set(name, object),
    update: (object: Stored) => store.set(name, object),
    delete: (object: Stored) => store.delete(name, object),
    replace: (objects: Iterable<Stored>) => store.replace(name, objects),
  };
  return new Reflector(client.listerWatcher(kind), target, {
    clock,
    name: kind.plural,
    onWatchError: (error, { phase }) => {
      // "stale" means an expired version, which a relist repairs, so it does not deserve a warning.
      const level = phase === 'stale' ? 'debug' : 'warn';
      logger[level](`could not watch ${what}; retrying`, { resource: kind.plural, error: String(error) });
    },
    onWarning: (text) => logger.warn(text),
    onStoreError: (error) =>
      logger.error(`could not read one of the ${what}; the last readable state counts`, {
        resource: kind.plural,
        error: String(error),
      }),
  });
}
