// controller(Kind) describes what a controller watches and does. It is plain data; controller-runner.ts runs it for the
// manager.
import { inspect } from 'node:util';
import type { DeepReadonly, KubernetesObject, NamespacedResource, ObjectTarget, Resource } from '@kapstan/api';
import { qualifiedNameErrors } from '@kapstan/api/errors';
import {
  boundCallbacks,
  checkedElsewhere,
  type OptionTable,
  optional,
  requireFunction as requireCallback,
  requireNotNegative,
  requireObject,
  requireOptions,
  requireResource,
} from '@kapstan/api/internal';
import type { IndexFunction, ObjectChange } from '@kapstan/informers';
import type { ObservableInput } from 'rxjs';
// innerFrom is `from` without its schedulers, which are ten modules.
import { innerFrom } from 'rxjs/internal/observable/innerFrom';
import type { CacheReader } from '../cache/informer-cache.ts';
import type { ReconcileOutcome, ReconcileResult } from '../reconcile/reconcile-loop.ts';
import type { PriorityOptions } from '../workqueue/index.ts';
import { requirePriorityOptions } from '../workqueue/queue-order.ts';
import { type RateLimiterSetting, requireRateLimiterSetting } from '../workqueue/rate-limiter.ts';
import { noHooks, withConversions, withDefaults, withValidation } from './declared-hooks.ts';
import type { GoneHandler } from './gone.ts';
import type {
  DeclaredHooks,
  Defaulter,
  DefaultsOptions,
  ValidatesOptions,
  Validator,
  Validators,
  VersionConversion,
} from './hook-types.ts';
import { type NeededRights, type NeededVerb, type NeedsOptions, neededRights } from './needed-rights.ts';
import { accepts, type Predicate } from './predicate.ts';
import type { ReconcilerContext } from './reconciler-context.ts';

/** An object that a server has stored, so it has a name. */
export interface NamedObject {
  metadata: { name: string };
}

/** An object that a server has stored in a namespace. */
export interface NamespacedObject {
  metadata: { name: string; namespace: string };
}

/** The argument of a reconcile: the cached object, which nobody may change. */
export type ReconciledObject<T extends KubernetesObject> = DeepReadonly<T & NamedObject>;

/**
 * The function that an author writes. It returns nothing when it is done until the next change, or {@link requeueAfter}
 * to be called again later; after a rejection it is called again with backoff.
 */
export type Reconciler<T extends KubernetesObject> = (
  object: ReconciledObject<T>,
  context: ReconcilerContext<T>,
) => Promise<ReconcileResult | undefined> | Promise<void>;

/** Objects to reconcile: "namespace/name", or "name" for cluster-scoped ones; or the parts of the name. */
export type ReconcileKeys = readonly (string | ObjectTarget)[];

/**
 * Returns which objects to reconcile when another one changes. Called for its old and its new state; must be quick. An
 * error that it throws is logged, and that state then names none.
 */
export type MapToKeys<C extends KubernetesObject> = (
  object: DeepReadonly<C>,
  caches: { cache<X extends KubernetesObject>(resource: Resource<X>): CacheReader<X> },
) => ReconcileKeys;

/** Options of `owns` and `watches`. */
export interface SourceOptions<C extends KubernetesObject> {
  /** Changes for which it returns false are ignored. Default: all count. */
  readonly when?: Predicate<C>;
}

/** Settings of a controller's work: concurrency, retries and time limits. */
export interface ControllerSettings<T extends KubernetesObject> {
  /** Number of objects reconciled at once; the same object never twice. At least 1. Default 1. */
  readonly workers?: number;
  /**
   * A rate limiter, or a function that makes it on the manager's clock, so that virtual time moves it: `(clock) => new BucketRateLimiter({
   * perSecond: 1, burst: 5, clock })`. Default: client-go's, 5 ms to 1000 s per object and 10 a second in total. The default also replaces
   * a given limiter that throws, which is logged.
   */
  readonly rateLimiter?: RateLimiterSetting<string>;
  /**
   * Returns the urgency of a change of the reconciled kind; higher is first. Default: 0, and -100 for changes of the
   * first list and for resyncs. The default is also used when it throws or returns no whole number, which is logged.
   * Source: controller-runtime LowPriority.
   */
  readonly priority?: (change: ObjectChange<T>) => number;
  readonly priorityQueue?: PriorityOptions;
  /** Time after which a reconcile's signal aborts, with a warning, in milliseconds. 0 (default) = never. */
  readonly timeoutMs?: number;
  /**
   * Time after which a running reconcile is named in a warning, because it blocks its worker, and again each time that
   * this has doubled. In milliseconds. 0 = never. Default 60 000.
   */
  readonly slowAfterMs?: number;
  /** Called after each run. */
  readonly onOutcome?: (outcome: ReconcileOutcome) => void;
}

/** A source of keys in addition to the reconciled kind itself. */
export type ControllerSource =
  | { readonly type: 'owned'; readonly resource: Resource; readonly when: Predicate<KubernetesObject> }
  | {
      readonly type: 'watched';
      readonly resource: Resource;
      readonly when: Predicate<KubernetesObject>;
      readonly map: MapToKeys<KubernetesObject>;
    }
  | {
      readonly type: 'trigger';
      readonly trigger: ObservableInput<unknown>;
      readonly map: (value: unknown) => ReconcileKeys;
    };

/** Values by which objects of a kind are found; see {@link ControllerBuilder.index}. */
export interface ControllerIndex {
  readonly resource: Resource;
  readonly name: string;
  readonly valuesOf: IndexFunction<KubernetesObject>;
}

/** A finalizer of a controller, and its work before the object is removed. */
export interface Finalizer {
  readonly name: string;
  readonly finalize: Reconciler<KubernetesObject>;
}

/** A whole controller, as data. Made by {@link ControllerBuilder.reconcile}; given to `run` or a manager. */
export interface Controller {
  readonly name: string;
  readonly resource: Resource;
  readonly when: Predicate<KubernetesObject>;
  readonly sources: readonly ControllerSource[];
  readonly indexes: readonly ControllerIndex[];
  readonly finalizers: readonly Finalizer[];
  /** Rights beyond those that follow from the other declarations. */
  readonly needs: readonly NeededRights[];
  readonly hooks: DeclaredHooks;
  readonly settings: ControllerSettings<KubernetesObject>;
  readonly reconcile: Reconciler<KubernetesObject>;
  /** Called for keys whose object does not exist. Undefined = such keys are done at once. */
  readonly gone: GoneHandler | undefined;
}

/**
 * Describes a controller step by step. Each call returns a new builder; {@link ControllerBuilder.reconcile} returns
 * the controller.
 */
export interface ControllerBuilder<T extends KubernetesObject> {
  /** Reconciles the controlling owner when an object of this kind changes. Such objects are then `ctx.children`. */
  owns<C extends KubernetesObject>(resource: Resource<C>, options?: SourceOptions<C>): ControllerBuilder<T>;
  /** Reconciles the objects that the function names when an object of this kind changes. */
  watches<C extends KubernetesObject>(
    resource: Resource<C>,
    map: MapToKeys<C>,
    options?: SourceOptions<C>,
  ): ControllerBuilder<T>;
  /**
   * Reconciles the objects that the function names for each value of an observable, promise or async iterable, as long
   * as the controller works. A failure is logged, an end at level info; then no more values arrive.
   */
  on<V>(trigger: ObservableInput<V>, map: (value: V) => ReconcileKeys): ControllerBuilder<T>;
  /**
   * Indexes objects of a kind by the values that the function returns: `ctx.cache(kind).byIndex(name, value)`, also in
   * `watches`. The kind is cached, but its changes alone cause no reconcile. An object for which the function throws is
   * not found. Controllers of one manager share indexes, and two functions under one name are a TypeError. Source:
   * controller-runtime FieldIndexer.
   */
  index<C extends KubernetesObject>(
    resource: Resource<C>,
    name: string,
    valuesOf: IndexFunction<C>,
  ): ControllerBuilder<T>;
  /** Only these changes of the reconciled kind count; several predicates must all agree. */
  when(predicate: Predicate<T>): ControllerBuilder<T>;
  /**
   * Adds this finalizer to each object before it is first reconciled, and calls the function when the object is
   * deleted; its success (no error, no `requeueAfter`) removes the finalizer. Several are called in the order given.
   */
  finalize(name: string, finalize: Reconciler<T>): ControllerBuilder<T>;
  /**
   * Declares rights that do not follow from the other declarations: `needs(Secret, ['get'], { names: ['ca'] })`. No such line is needed for
   * reading reconciled, owned, watched or indexed kinds, for applying owned ones, for finalizers, events, and the status of a kind made
   * with `defineResource`. `kapstan generate rbac` and `testCluster` read it; running a controller does not.
   */
  needs(resource: Resource, verbs: readonly NeededVerb[], options?: NeedsOptions): ControllerBuilder<T>;
  /** Sets defaults before objects are written, as a mutating webhook. */
  defaults(defaults: Defaulter<T>, options?: DefaultsOptions): ControllerBuilder<T>;
  /** Validates objects before they are written, as a validating webhook: one function, or one for each operation. */
  validates(validates: Validator<T> | Validators<T>, options?: ValidatesOptions): ControllerBuilder<T>;
  /** Converts between the controller's version, which is stored, and others: `{ v1beta1: { resource, to, from } }`. */
  converts<V extends Readonly<Record<string, KubernetesObject>>>(
    versions: {
      readonly [Version in keyof V]: VersionConversion<T, V[Version]>;
    },
  ): ControllerBuilder<T>;
  /**
   * Calls this function for a key whose object does not exist, after its deletion or because a mapping named it. It may be called again for
   * the same name, and is not called if the object is back by then. Deletions that no process saw are not reported after a start, so work
   * that must happen when an object is removed belongs in {@link finalize}. A second function is a TypeError. Source: controller-runtime, a
   * Reconcile that gets NotFound.
   */
  gone(gone: GoneHandler): ControllerBuilder<T>;
  /** Replaces the given settings; the others stay. */
  settings(settings: ControllerSettings<T>): ControllerBuilder<T>;
  /**
   * Returns the controller. The function is called with the cached object, once every cache is filled and shows the
   * object's last writes; never for objects that are gone or being deleted (owner references, finalizers, {@link
   * gone}).
   */
  reconcile(reconcile: Reconciler<T>): Controller;
}

/**
 * Requests another run after this time, in milliseconds. 0 or below = at once, rate limited. Throws TypeError unless
 * given a finite number.
 */
export function requeueAfter(requeueAfterMs: number): ReconcileResult {
  if (!Number.isFinite(requeueAfterMs))
    throw new TypeError(`requeueAfter() takes milliseconds, a finite number, not ${inspect(requeueAfterMs)}`);
  return { requeueAfterMs: Math.max(0, requeueAfterMs) };
}

/**
 * Begins a controller of a kind. Its name (default: the kind in lower case) is its field manager and appears in
 * metrics, events and logs; names must differ within a manager. Each call returns a new builder and does not change the
 * old one. This function and the builder throw TypeError for a wrong argument.
 */
export function controller<T extends KubernetesObject>(
  resource: NamespacedResource<T>,
  options?: { readonly name?: string },
): ControllerBuilder<T & NamespacedObject>;
export function controller<T extends KubernetesObject>(
  resource: Resource<T>,
  options?: { readonly name?: string },
): ControllerBuilder<T>;
export function controller<T extends KubernetesObject>(
  resource: Resource<T>,
  options: { readonly name?: string } = {},
): ControllerBuilder<T> {
  requireResource(resource, 'controller()');
  requireObject(options, 'options of a controller');
  requireOptions(options, controllerTable, 'controller()');
  const { name = resource.kind.toLowerCase() } = options;
  requireName(name);
  return builder({
    name,
    resource,
    when: always,
    sources: [],
    indexes: [],
    finalizers: [],
    needs: [],
    hooks: noHooks,
    settings: {},
    reconcile: done,
    gone: undefined,
  });
}

const controllerTable: OptionTable<{ readonly name?: string }> = { name: optional(requireName) };
/** The source decides which form `when` must have. */
const sourceTable: OptionTable<SourceOptions<never>> = { when: checkedElsewhere };
const settingsTable: OptionTable<ControllerSettings<never>> = {
  workers: optional(requireWorkers),
  timeoutMs: optional(requireNotNegative),
  slowAfterMs: optional(requireNotNegative),
  rateLimiter: optional(requireRateLimiterSetting),
  priorityQueue: optional(requirePriorityOptions),
  priority: requireCallback,
  onOutcome: requireCallback,
};
const settingsCallbacks = ['priority', 'onOutcome'] as const;

const always: Predicate<KubernetesObject> = () => true;
const done: Reconciler<KubernetesObject> = async () => undefined;

// The casts are safe, because a source's functions are only called with objects of that source's resource.
function builder<T extends KubernetesObject>(spec: Controller): ControllerBuilder<T> {
  const add = (source: ControllerSource): ControllerBuilder<T> =>
    builder({ ...spec, sources: [...spec.sources, source] });
  return {
    owns: (resource, options = {}) =>
      add({ type: 'owned', resource: resourceOf(resource, 'owns()'), when: predicateOf(options, 'owns()') }),
    watches: (resource, map, options = {}) =>
      add({
        type: 'watched',
        resource: resourceOf(resource, 'watches()'),
        when: predicateOf(options, 'watches()'),
        map: requireFunction(map, 'watches()'),
      }),
    on: (trigger, map) => add({ type: 'trigger', trigger: triggerOf(trigger), map: requireFunction(map, 'on()') }),
    index: (resource, name, valuesOf) => {
      if (typeof name !== 'string' || name === '')
        throw new TypeError(`index() takes a name for the index, not ${inspect(name)}`);
      const added = { resource: resourceOf(resource, 'index()'), name, valuesOf: requireFunction(valuesOf, 'index()') };
      return builder({ ...spec, indexes: [...spec.indexes, added as ControllerIndex] });
    },
    when: (predicate) => {
      const before = spec.when;
      const also: Predicate<KubernetesObject> = requireFunction(predicate, 'when()');
      return builder({ ...spec, when: (change) => accepts(before, change) && accepts(also, change) });
    },
    finalize: (name, finalize) => {
      requireFinalizerName(name);
      if (spec.finalizers.some((finalizer) => finalizer.name === name))
        throw new TypeError(`the finalizer ${name} is given twice`);
      const added = { name, finalize: requireFunction<Finalizer['finalize']>(finalize, 'finalize()') };
      return builder({ ...spec, finalizers: [...spec.finalizers, added] });
    },
    needs: (resource, verbs, options = {}) =>
      builder({ ...spec, needs: [...spec.needs, neededRights(resource, verbs, options)] }),
    defaults: (...given) => builder({ ...spec, hooks: withDefaults(spec.hooks, spec.resource, given) }),
    validates: (...given) => builder({ ...spec, hooks: withValidation(spec.hooks, spec.resource, given) }),
    converts: (versions) => builder({ ...spec, hooks: withConversions(spec.hooks, spec.resource, versions) }),
    gone: (gone) => {
      if (spec.gone !== undefined) throw new TypeError('gone() is given twice');
      return builder({ ...spec, gone: requireFunction(gone, 'gone()') });
    },
    settings: (settings) => {
      requireSettings(settings);
      return builder({
        ...spec,
        settings: {
          ...spec.settings,
          ...(boundCallbacks(settings, settingsCallbacks) as ControllerSettings<KubernetesObject>),
        },
      });
    },
    reconcile: (reconcile) => ({ ...spec, reconcile: requireFunction(reconcile, 'reconcile()') }),
  };
}

/** Returns the resource without its static type. */
function resourceOf(resource: unknown, where: string): Resource {
  requireResource(resource, where);
  return resource as Resource;
}

function predicateOf(options: SourceOptions<never>, where: string): Predicate<KubernetesObject> {
  requireObject(options, `options of ${where}, such as { when },`);
  requireOptions(options, sourceTable, where);
  const when = requireFunction<Predicate<KubernetesObject>>(options.when ?? always, `${where} with when`);
  return when.bind(options);
}

/** Throws TypeError unless given an observable, promise or iterable. */
function triggerOf(trigger: ObservableInput<unknown>): ObservableInput<unknown> {
  try {
    return innerFrom(trigger);
  } catch (error) {
    throw new TypeError(`on() takes an observable, a promise or an async iterable, not ${inspect(trigger)}`, {
      cause: error,
    });
  }
}

/** The name is the field manager, so it has at most 128 printable bytes. Source: apimachinery ValidateFieldManager. */
function requireName(name: unknown): void {
  const isName = typeof name === 'string' && /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u.test(name);
  if (isName && Buffer.byteLength(name) <= 128) return;
  throw new TypeError(`a controller's name has 1 to 128 printable characters, unlike ${inspect(name)}`);
}

/** Returns the function without the static type of its objects. */
function requireFunction<F>(given: unknown, where: string): F {
  if (typeof given === 'function') return given as F;
  throw new TypeError(`${where} takes a function, not ${inspect(given)}`);
}

/** Finalizers outside Kubernetes must have a domain. Source: apimachinery ValidateFinalizerName. */
function requireFinalizerName(name: unknown): void {
  const problems = typeof name === 'string' && name.includes('/') ? qualifiedNameErrors(name) : [''];
  if (problems.length === 0) return;
  const why = problems.filter(Boolean).join('; ');
  throw new TypeError(`a finalizer is "domain/name", not ${JSON.stringify(name)}${why === '' ? '' : `: ${why}`}`);
}

function requireSettings(settings: ControllerSettings<never>): void {
  requireObject(settings, 'settings');
  requireOptions(settings, settingsTable, 'settings()');
}

function requireWorkers(workers: unknown, name: string): void {
  if (Number.isInteger(workers) && (workers as number) >= 1) return;
  throw new TypeError(`${name} must be a whole number of at least 1, not ${inspect(workers)}`);
}
