// controller(Kind): says what a controller watches and what it does. Plain data that nothing runs yet: controller-runner.ts
// does, for the manager. What users see first.
import type { DeepReadonly, KubernetesObject, ObjectTarget, Resource } from '@kapstan/api';
import type { ObjectChange } from '@kapstan/informers';
import { from, type ObservableInput } from 'rxjs';
import type { CacheReader } from './informer-cache.ts';
import type { Predicate } from './predicate.ts';
import type { ReconcileOutcome, ReconcileResult } from './reconcile-loop.ts';
import type { ReconcilerContext } from './reconciler-context.ts';
import type { PriorityOptions, RateLimiter } from './workqueue/index.ts';

/** What an author writes. Nothing = done until the next change; {@link after} = come back; a rejection = again with backoff. */
export type Reconciler<T extends KubernetesObject> = (
  object: DeepReadonly<T>,
  context: ReconcilerContext<T>,
) => Promise<ReconcileResult | undefined> | Promise<void>;

/** Objects to reconcile: "namespace/name", or "name" for cluster-scoped ones; or the same in parts. */
export type ReconcileKeys = readonly (string | ObjectTarget)[];

/** Which objects to reconcile when another one changes. Called for its old and its new state; must be quick. */
export type MapToKeys<C extends KubernetesObject> = (
  object: DeepReadonly<C>,
  caches: { cache<X extends KubernetesObject>(kind: Resource<X>): CacheReader<X> },
) => ReconcileKeys;

export interface SourceOptions<C extends KubernetesObject> {
  /** Changes for which it is false are not heard. Default: all are. */
  readonly when?: Predicate<C>;
}

export interface ControllerSettings<T extends KubernetesObject> {
  /** Objects reconciled at once; one object never by two. At least 1. Default 1. */
  readonly workers?: number;
  /** Default: client-go's, 5 ms to 1000 s an object, 10 a second over all. */
  readonly rateLimiter?: RateLimiter<string>;
  /**
   * How urgent a change of the reconciled kind is; higher is first. Default: 0, and -100 for what the first list brings and
   * for resyncs. Source: controller-runtime LowPriority.
   */
  readonly priority?: (change: ObjectChange<T>) => number;
  readonly priorityQueue?: PriorityOptions;
  /** A reconcile's signal aborts after this time, in milliseconds. 0 (default) = never. */
  readonly timeoutMs?: number;
  /** Told after each run. */
  readonly onOutcome?: (outcome: ReconcileOutcome) => void;
}

/** Where keys come from beside the reconciled kind itself. */
export type ControllerSource =
  | { readonly type: 'owned'; readonly kind: Resource; readonly when: Predicate<KubernetesObject> }
  | {
      readonly type: 'watched';
      readonly kind: Resource;
      readonly when: Predicate<KubernetesObject>;
      readonly map: MapToKeys<KubernetesObject>;
    }
  | {
      readonly type: 'trigger';
      readonly trigger: ObservableInput<unknown>;
      readonly map: (value: unknown) => ReconcileKeys;
    };

export interface Finalizer {
  readonly name: string;
  readonly finalize: Reconciler<KubernetesObject>;
}

/** A whole controller, as data. Made by {@link ControllerBuilder.reconcile}; given to `run` or a manager. */
export interface Controller {
  readonly name: string;
  readonly kind: Resource;
  readonly when: Predicate<KubernetesObject>;
  readonly sources: readonly ControllerSource[];
  readonly finalizers: readonly Finalizer[];
  readonly settings: ControllerSettings<KubernetesObject>;
  readonly reconcile: Reconciler<KubernetesObject>;
}

export interface ControllerBuilder<T extends KubernetesObject> {
  /** Reconciles the controlling owner of an object of this kind when that changes. They are then `ctx.children`. */
  owns<C extends KubernetesObject>(kind: Resource<C>, options?: SourceOptions<C>): ControllerBuilder<T>;
  /** Reconciles what the function names when an object of this kind changes. */
  watches<C extends KubernetesObject>(
    kind: Resource<C>,
    map: MapToKeys<C>,
    options?: SourceOptions<C>,
  ): ControllerBuilder<T>;
  /**
   * Reconciles what the function names for each value of an observable, promise or async iterable. Subscribed to while the
   * controller works; one that fails or ends is logged and gives nothing more.
   */
  on<V>(trigger: ObservableInput<V>, map: (value: V) => ReconcileKeys): ControllerBuilder<T>;
  /** Only these changes of the reconciled kind count; of several, all must agree. */
  when(predicate: Predicate<T>): ControllerBuilder<T>;
  /**
   * Has each object carry this finalizer before it is first reconciled, and calls the function when it is deleted. Done (no
   * error, no `after`) takes the finalizer off. Of several, the first named is called first.
   */
  finalize(name: string, finalize: Reconciler<T>): ControllerBuilder<T>;
  /** Given settings replace earlier ones, each for itself. */
  settings(settings: ControllerSettings<T>): ControllerBuilder<T>;
  /**
   * The controller. The function is called with the cached object, when every cache is filled and shows what was last written
   * for it. Not for objects that are gone or being deleted: those are for owner references and finalizers.
   */
  reconcile(reconcile: Reconciler<T>): Controller;
}

/** Come back after this time, in milliseconds. */
export function after(requeueAfterMs: number): ReconcileResult {
  return { requeueAfterMs };
}

/**
 * Begins a controller of a kind. Its name (default: the kind in lower case) is its field manager and stands in metrics, events
 * and logs; no two of a manager may have the same. Each call gives a new builder and leaves the old one as it was.
 */
export function controller<T extends KubernetesObject>(
  kind: Resource<T>,
  { name = kind.kind.toLowerCase() }: { readonly name?: string } = {},
): ControllerBuilder<T> {
  if (name === '') throw new TypeError('a controller needs a name');
  return builder({ name, kind, when: always, sources: [], finalizers: [], settings: {}, reconcile: done });
}

const always: Predicate<KubernetesObject> = () => true;
const done: Reconciler<KubernetesObject> = async () => undefined;

// The casts: a source's functions are only ever called with objects of its own kind, which its token says.
function builder<T extends KubernetesObject>(spec: Controller): ControllerBuilder<T> {
  const add = (source: ControllerSource): ControllerBuilder<T> =>
    builder({ ...spec, sources: [...spec.sources, source] });
  return {
    owns: (kind, { when } = {}) => add({ type: 'owned', kind, when: plain(when) }),
    watches: (kind, map, { when } = {}) =>
      add({ type: 'watched', kind, when: plain(when), map: map as unknown as MapToKeys<KubernetesObject> }),
    on: (trigger, map) =>
      add({ type: 'trigger', trigger: from(trigger), map: map as unknown as (value: unknown) => ReconcileKeys }),
    when: (predicate) => {
      const [before, also] = [spec.when, plain(predicate)];
      return builder({ ...spec, when: (change) => before(change) && also(change) });
    },
    finalize: (name, finalize) => {
      if (!/^[^/]+\/[^/]+$/.test(name))
        throw new TypeError(`a finalizer is "domain/name", not ${JSON.stringify(name)}`);
      const added = { name, finalize: finalize as unknown as Reconciler<KubernetesObject> };
      return builder({ ...spec, finalizers: [...spec.finalizers, added] });
    },
    settings: (settings) =>
      builder({ ...spec, settings: { ...spec.settings, ...(settings as ControllerSettings<KubernetesObject>) } }),
    reconcile: (reconcile) => ({ ...spec, reconcile: reconcile as unknown as Reconciler<KubernetesObject> }),
  };
}

function plain<C extends KubernetesObject>(predicate: Predicate<C> | undefined): Predicate<KubernetesObject> {
  return (predicate ?? always) as unknown as Predicate<KubernetesObject>;
}
