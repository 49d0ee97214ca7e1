// Manager runs controllers on shared informers, as the leader if one is elected, with probes and metrics, and ends them in order. It uses
// controller-runner.ts; run.ts finds it a client and listens to the process' signals.
import { setMaxListeners } from 'node:events';
import { type Logger, type ResourceClient, systemClock } from '@kapstan/api';
import { boundCallbacks, requireGivenSignal } from '@kapstan/api/internal';
import type { Registry } from 'prom-client';
import type { Controller } from '../builder/controller-builder.ts';
import { type CacheProblem, problemText } from '../cache/cache-problem.ts';
import { cachesFill } from '../cache/caches-fill.ts';
import { InformerCache } from '../cache/informer-cache.ts';
import { ObservedClient } from '../cache/observed-client.ts';
import { OwnWrites } from '../cache/own-writes.ts';
import { EventRecorder } from '../events/event-recorder.ts';
import { guardedLogger } from '../guards/guarded-logger.ts';
import { stackOnceLogger } from '../guards/stack-once-logger.ts';
import { warningLogger } from '../guards/warning-logger.ts';
import { type LeaderElector, LeadershipLostError } from '../leader-election/leader-elector.ts';
import { ControllerMetrics } from '../metrics/controller-metrics.ts';
import { ControllerRunner } from '../runner/controller-runner.ts';
import { type SharedTracing, sharedTracing } from '../tracing/run-tracer.ts';
import { configurationsName } from '../webhooks/webhook-names.ts';
import { definedResources } from './defined-resources.ts';
import { probesOf } from './health-checks.ts';
import { installDefinitions } from './install-definitions.ts';
import { isController, requireControllers, requireManagerOptions } from './manager-checks.ts';
import { electorOf } from './manager-elector.ts';
import { ManagerHooks } from './manager-hooks.ts';
import type { ManagerInspection } from './manager-inspection.ts';
import type { ManagerOptions } from './manager-options.ts';
import { ManagerRecorders } from './manager-recorders.ts';
import { errorTextOf, ManagerServers } from './manager-servers.ts';
import { type ResolvedOptions, resolveTimes } from './manager-times.ts';
import { type Runnable, Runnables } from './runnables.ts';
import { endsInTime, lastWordsMs, type WorkSignals } from './work-end.ts';

const informerCallbacks = ['onHandlerError', 'onWatchError', 'random', 'transform', 'tweakListOptions'] as const;
/**
 * Runs controllers in one process with one set of caches, one lease, and one server of probes and metrics. `run` makes
 * one; use it directly with your own client and in tests.
 */
export class Manager {
  readonly #options: ResolvedOptions;
  readonly #controllers: Controller[];
  readonly #cache: InformerCache;
  readonly #metrics: ControllerMetrics;
  readonly #client: ResourceClient;
  readonly #recorders: ManagerRecorders;
  readonly #ownWrites: OwnWrites;
  readonly #runners: ControllerRunner[] = [];
  readonly #tracing: SharedTracing | undefined;
  /** Number of the first runners, which start together. Later ones are runnables. */
  #startedWith = 0;
  /** Set while this process works. */
  #signals: WorkSignals | undefined;
  readonly #runnables: Runnables;
  readonly #hooks: ManagerHooks;
  readonly #elector: LeaderElector | undefined;
  readonly #ready: Promise<void>;
  #becomeReady: () => void = () => undefined;
  #failReady: (error: unknown) => void = () => undefined;
  #isStarted = false;
  #hasSynced = false;
  #stoppedAtMs: number | undefined;
  readonly #servers: ManagerServers;
  readonly #stop = new AbortController();
  /** The failure of a runnable. */
  #failure: { readonly error: unknown } | undefined;

  /** Starts nothing yet. Throws TypeError for bad options and for two controllers of one name. */
  constructor(controllers: readonly Controller[], options: ManagerOptions) {
    requireManagerOptions(options);
    const { clock = systemClock, registry, runnables = [] } = options;
    requireControllers(controllers, runnables);
    const logger = guardedLogger(options.logger ?? warningLogger);
    const told = stackOnceLogger(logger, clock);
    this.#options = { ...boundCallbacks(options, ['random']), ...resolveTimes(options), clock, logger };
    this.#controllers = [...controllers];
    this.#metrics = new ControllerMetrics({ clock, registry });
    this.#cache = new InformerCache(options.client, {
      onHandlerError: (error, change, informer) =>
        told.error('a handler failed; it misses this change', { informer, key: change?.key, error }),
      // The problems are reported below, per kind.
      onWatchError: () => undefined,
      logger: told,
      metrics: this.#metrics.informers.named((options.leaderElection || controllers[0])?.name ?? 'manager'),
      ...boundCallbacks(options.informers ?? {}, informerCallbacks),
      namespaces: options.namespaces ?? [],
      clock,
    });
    const client = new ObservedClient({ client: options.client, admit: () => this.#admit() });
    this.#client = client;
    // This recorder may still write when the others no longer can: the end of the leadership is recorded too.
    const ofElection = new EventRecorder({
      client: new ObservedClient({ client: options.client, admit: () => this.#elector?.throwIfLost() }),
      component: (controllers[0] ?? runnables[0])?.name ?? '',
      clock,
      logger: told,
    });
    this.#elector = electorOf(this.#options, { recorder: ofElection, metrics: this.#metrics });
    this.#recorders = new ManagerRecorders(ofElection, clock);
    this.#ownWrites = new OwnWrites({ cache: this.#cache, clock, timeoutMs: this.#options.ownWritesTimeoutMs });
    this.#tracing = sharedTracing(options.tracing, { client: options.client, logger });
    for (const controller of controllers) this.#runners.push(this.#createRunner(controller));
    this.#runnables = new Runnables({
      clock,
      logger: told,
      cache: (kind) => this.#cache.reader(kind),
      client: options.client,
      leaderClient: client,
      onFailure: (error) => this.#fail(error),
    });
    for (const runnable of runnables) this.#runnables.add(runnable);
    this.#hooks = this.#createHooks(told);
    this.#servers = this.#createServers();
    if (options.informers?.onWatchError === undefined)
      this.#cache.followProblems({
        textOf: this.#textOf,
        tell: (problem) => logger.warn(`failed to list or watch, trying again: ${problem}`),
      });
    this.#ready = new Promise((resolve, reject) => {
      this.#becomeReady = resolve;
      this.#failReady = reject;
    });
    // Without this handler, a rejection that nobody waits for would be unhandled.
    this.#ready.catch(() => undefined);
  }

  /** The metrics that /metrics shows. */
  get metrics(): Registry {
    return this.#metrics.registry;
  }

  /** True while this process may work. */
  get isLeader(): boolean {
    return this.#elector?.isLeader ?? true;
  }

  /** The port of /metrics and the probes; undefined while there is no server. */
  get probePort(): number | undefined {
    return this.#servers.probePort;
  }

  /** URL of the inspector for a browser; undefined while it is not served. */
  get inspectorUrl(): string | undefined {
    return this.#servers.inspectorUrl;
  }

  /** The port of the webhooks; undefined while they are not served over HTTPS. */
  get webhookPort(): number | undefined {
    return this.#hooks.port;
  }

  /** Resolves when all caches are filled, whether or not this process leads. Rejects when the run ends first. */
  whenReady(): Promise<void> {
    return this.#ready;
  }

  /**
   * Runs this in addition to the controllers once the caches are filled (at once if they are): only while this process leads, unless the
   * runnable says otherwise. Its signal aborts at the stop, and it has the grace period to end; runnables of every process are stopped
   * after the reconciles have ended. Its rejection ends the manager. Throws TypeError unless given a runnable, and Error after the stop.
   *
   * A controller begins like the manager's first ones: when the caches that it needs are filled, while this process leads. The manager ends
   * when they are not filled in time. Throws TypeError for a name that is taken and for a controller with webhooks, which are set up with
   * the manager. Source: controller-runtime Manager.Add.
   */
  add(work: Runnable | Controller): void {
    if (isController(work)) this.#addController(work);
    else this.#runnables.add(work);
  }

  #addController(controller: Controller): void {
    const { name, hooks } = controller;
    requireControllers([...this.#controllers, controller]);
    if (hooks.admission.length + hooks.conversions.size > 0)
      throw new TypeError(
        `the controller ${name} declares webhooks, which are set up with the manager: give it to its constructor`,
      );
    this.#runnables.requireOpen(`controller ${name}`);
    const kinds = this.#cache.size;
    const runner = this.#createRunner(controller);
    this.#controllers.push(controller);
    this.#runners.push(runner);
    if (!this.#isStarted) return;
    const filled = this.#fillFrom(kinds, [controller]).catch((error: unknown) => this.#fail(error));
    const run = async (): Promise<void> => {
      if ((await filled) === true && this.#signals !== undefined) await runner.run(this.#signals);
    };
    this.#runnables.add({ name: `controller ${name}`, run });
  }

  /**
   * Fills the caches of a controller that was added after the start. Resolves to false when the manager stops first.
   */
  async #fillFrom(kinds: number, controllers: readonly Controller[]): Promise<boolean> {
    const stop = this.#stop.signal;
    const isReady = await this.#ready.then(
      () => true,
      () => false,
    );
    if (!isReady || stop.aborted) return false;
    await this.#installDefinitions(stop, controllers);
    this.#cache.start();
    return await this.#cachesFill(stop, kinds);
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#end(error);
  }

  #cachesFill(stop: AbortSignal, kinds = 0): Promise<boolean> {
    const { clock, cacheSyncTimeoutMs: timeoutMs } = this.#options;
    return cachesFill(this.#cache.kinds(kinds), { stop, clock, timeoutMs, textOf: this.#textOf });
  }

  /**
   * Works until the signal aborts, and resolves when everything has ended: runs under way (after the grace period their
   * signal aborts), events, the lease, caches, probes. The signal may abort before the caches are filled or this
   * process leads. Rejects when the start fails, with {@link LeadershipLostError}, with a runnable's rejection, and
   * when runs did not end in time; everything is closed in these cases, too. Call it once.
   */
  async run(signal: AbortSignal): Promise<void> {
    requireGivenSignal(signal);
    if (this.#isStarted) throw new Error('a manager runs once');
    this.#isStarted = true;
    this.#startedWith = this.#runners.length;
    const unfollow = this.#metrics.followRequests();
    const onStop = (): void => this.#end(signal.reason);
    if (signal.aborted) onStop();
    signal.addEventListener('abort', onStop, { once: true });
    try {
      await this.#run(this.#stop.signal).finally(() => this.#runnables.close());
      await this.#endRunnables();
      await this.#recorders.drain(this.#lastWordsUntilMs());
      if (this.#failure !== undefined) throw this.#failure.error;
      this.#failReady(new Error('the manager was stopped'));
    } catch (error) {
      this.#failReady(error);
      throw error;
    } finally {
      await this.#runnables.stop(lastWordsMs);
      await this.#hooks.stop({
        stoppedAtMs: this.#stoppedAtMs ?? Number.NEGATIVE_INFINITY,
        gracePeriodMs: this.#options.gracePeriodMs,
      });
      await this.#recorders.close();
      await this.#cache.close();
      await this.#servers.close();
      signal.removeEventListener('abort', onStop);
      unfollow();
    }
  }

  #end(reason: unknown): void {
    this.#stoppedAtMs ??= this.#options.clock.monotonicNow();
    this.#runnables.close();
    this.#stop.abort(reason);
  }

  /** Ends the runnables of every process; the others ended with the work. */
  async #endRunnables(): Promise<void> {
    const { clock, gracePeriodMs } = this.#options;
    const spentMs = clock.monotonicNow() - (this.#stoppedAtMs ?? clock.monotonicNow());
    const left = await this.#runnables.stop(Math.max(lastWordsMs, gracePeriodMs - spentMs));
    if (left.length > 0)
      throw new Error(
        `failed waiting for all runnables to end within grace period of ${gracePeriodMs} ms: ${left.join(', ')}`,
      );
  }

  async #run(stop: AbortSignal): Promise<void> {
    await this.#servers.start();
    try {
      await this.#hooks.start(stop);
      await this.#installDefinitions(stop, this.#controllers);
    } catch (error) {
      if (stop.aborted) return;
      throw error;
    }
    if (stop.aborted) return;
    this.#cache.start();
    if (!(await this.#cachesFill(stop))) return;
    this.#hasSynced = true;
    this.#becomeReady();
    this.#runnables.start();
    const never = new AbortController().signal;
    if (this.#elector === undefined) await this.#work({ stop, lost: never });
    else await this.#elector.run((lost) => this.#work({ stop, lost }), stop);
  }

  readonly #textOf = (problem: CacheProblem): string =>
    problemText(problem, this.#options.installCrds === true ? 'wasInstalled' : 'notInstalled');

  async #work(signals: WorkSignals): Promise<void> {
    const { clock, gracePeriodMs, logger } = this.#options;
    this.#signals = signals;
    // Drops waiting events, because they would be written under another leader.
    signals.lost.addEventListener('abort', () => void this.#recorders.close(), { once: true });
    // Each controller adds listeners, and Node mistakes more than ten for a leak.
    setMaxListeners(0, signals.stop, signals.lost);
    const starting = this.#runners.slice(0, this.#startedWith);
    logger.info('Starting workers', { controllers: starting.length });
    const work = Promise.all([...starting.map((runner) => runner.run(signals)), this.#runnables.lead(signals)]);
    const left = (): string => [...this.#runners, this.#runnables].flatMap(({ underWay }) => underWay).join(', ');
    if (await endsInTime(work, { ...signals, clock, gracePeriodMs, logger, left })) logger.info('All workers finished');
    // Events are written only while this process may write.
    if (!signals.lost.aborted) await this.#recorders.drain(this.#lastWordsUntilMs());
    // The remaining events had their time; from here on only the election still records something.
    await this.#recorders.closeOthers();
  }

  #lastWordsUntilMs(): number {
    const { clock, gracePeriodMs } = this.#options;
    return (this.#stoppedAtMs ?? clock.monotonicNow()) + gracePeriodMs;
  }

  #admit(): void {
    if (!this.isLeader) throw new LeadershipLostError('this process does not lead: it may not write');
  }

  #createRunner(controller: Controller): ControllerRunner {
    const { clock, logger, gracePeriodMs, inspect = false } = this.#options;
    const client = this.#client;
    const told = stackOnceLogger(logger, clock);
    const recorder = new EventRecorder({ client, component: controller.name, clock, logger: told });
    this.#recorders.add(recorder);
    const errorText = inspect === false ? undefined : errorTextOf(inspect);
    const parts = { cache: this.#cache, ownWrites: this.#ownWrites, metrics: this.#metrics, tracing: this.#tracing };
    return new ControllerRunner(controller, { ...parts, client, clock, logger, recorder, gracePeriodMs, errorText });
  }

  #createHooks(logger: Logger): ManagerHooks {
    const { webhooks, client, clock, leaderElection } = this.#options;
    const name = configurationsName(this.#controllers, leaderElection);
    const registry = this.#metrics.registry;
    const isLeader = (): boolean => this.isLeader;
    const hooks = new ManagerHooks(this.#controllers, { webhooks, name, client, clock, logger, registry, isLeader });
    if (hooks.leading !== undefined) this.#runnables.add(hooks.leading);
    return hooks;
  }

  async #installDefinitions(signal: AbortSignal, controllers: readonly Controller[]): Promise<void> {
    const { installCrds = false, client, clock, logger, leaderElection, cacheSyncTimeoutMs } = this.#options;
    if (!installCrds) return;
    const fieldManager = (leaderElection || this.#controllers[0])?.name ?? '';
    const options = { client, clock, signal, fieldManager, logger, timeoutMs: cacheSyncTimeoutMs };
    await installDefinitions(this.#hooks.definitions(definedResources(controllers)), options);
  }

  #createServers(): ManagerServers {
    const { metrics, inspect = false, clock, logger, healthzChecks = {}, readyzChecks = {} } = this.#options;
    const ping = () => undefined;
    const leaderElection = () => this.#elector?.check(lastWordsMs)?.message;
    const ready = { ping, informers: () => this.#notReady(), ...probesOf(readyzChecks, { clock, logger }) };
    const pages = {
      healthz: { ping, leaderElection, ...probesOf(healthzChecks, { clock, logger }) },
      readyz: this.#hooks.isServed ? { ...ready, webhooks: () => this.#hooks.problem } : ready,
      isStopping: () => this.#stoppedAtMs !== undefined,
      metrics: this.metrics,
    };
    return new ManagerServers({ metrics, inspect, pages, inspection: () => this.#inspection(), clock, logger });
  }

  async #inspection(): Promise<ManagerInspection> {
    const module = await import('./manager-inspection.ts');
    const { clock, leaderElection = false, inspect = false } = this.#options;
    return new module.ManagerInspection({
      controllers: () => this.#runners.flatMap(({ inspected }) => inspected ?? []),
      cache: this.#cache,
      ownWrites: this.#ownWrites,
      metrics: this.#metrics,
      elector: this.#elector,
      lease: leaderElection === false ? '' : `${leaderElection.namespace ?? 'default'}/${leaderElection.name}`,
      clock,
      errorText: errorTextOf(inspect),
    });
  }

  #notReady(): string | undefined {
    const problems = [...this.#cache.problems()].map(([kind, problem]) => `${kind}: ${problem}`);
    if (problems.length > 0) return problems.join(', ');
    return this.#hasSynced ? undefined : 'starting';
  }
}
