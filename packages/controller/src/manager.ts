// Manager: runs controllers on shared informers, as the leader if one is elected, with probes and metrics, and ends them in
// order. Above controller-runner.ts; below run.ts, which finds it a client and listens to the process' signals.
import { setMaxListeners } from 'node:events';
import {
  boundCallbacks,
  type Clock,
  type DefinedResource,
  delay,
  isDefinedResource,
  type Logger,
  type OptionNames,
  type Resource,
  type ResourceClient,
  requireGivenSignal,
  systemClock,
} from '@kapstan/api';
import type { Registry } from 'prom-client';
import { type CacheProblem, problemText } from './cache-problem.ts';
import type { Controller } from './controller-builder.ts';
import { ControllerMetrics } from './controller-metrics.ts';
import { ControllerRunner } from './controller-runner.ts';
import { EventRecorder } from './events/event-recorder.ts';
import { guardedLogger } from './guarded-logger.ts';
import { InformerCache, type InformerCacheOptions } from './informer-cache.ts';
import { installDefinitions } from './install-definitions.ts';
import type { LeaderElectionOptions } from './leader-election/leader-election-options.ts';
import { LeaderElector, LeadershipLostError } from './leader-election/leader-elector.ts';
import { requireControllers, requireManagerOptions } from './manager-checks.ts';
import { ObservedClient } from './observed-client.ts';
import { OwnWrites } from './own-writes.ts';
import { type ProbeServer, type ProbeServerOptions, startProbeServer } from './probe-server.ts';
import { stackOnceLogger } from './stack-once-logger.ts';
import { warningLogger } from './warning-logger.ts';

/** What a manager needs and may be told. Those of `run` are the same with a client found by itself. */
export interface ManagerOptions {
  /** Of the cluster. It stays open when the manager ends. */
  readonly client: ResourceClient;
  /** Of several processes one works, the others keep their caches warm. Default false: this one works. */
  readonly leaderElection?: false | (Omit<LeaderElectionOptions, 'namespace'> & { readonly namespace?: string });
  /** Applies the definitions of kinds made with `defineResource`, and waits until they are served. Default false. */
  readonly installCrds?: boolean;
  /** Namespaces to look at. Default and empty: all. */
  readonly namespaces?: readonly string[];
  /** Serves /metrics, /healthz and /readyz. Default: nothing listens. */
  readonly metrics?: ProbeServerOptions;
  /** Metrics go there too. Default: a registry of this manager. */
  readonly registry?: Registry;
  /**
   * How long reconciles may go on after the stop before their signal aborts, in milliseconds. Default 30 000. Those that are aborted
   * have 2000 ms more to end, then the run rejects. Events that wait are written in the same time, as long as that makes headway,
   * and have 2000 ms at least; a warning counts those that are not. So in a pod let it be 5000 or more
   * below `terminationGracePeriodSeconds`, which is 30 s by default: when that is over, the kubelet ends the process.
   */
  readonly gracePeriodMs?: number;
  /** How long a reconcile waits for the caches to show what its object's last one wrote, in milliseconds. Default 5000. */
  readonly ownWritesTimeoutMs?: number;
  /**
   * How long the caches may take to be filled before the run rejects, naming the kinds that are not and why, in milliseconds;
   * before them the definitions that `installCrds` installs may take as long.
   * 0 = for ever. Default 120 000. Source: controller-runtime CacheSyncTimeout.
   */
  readonly cacheSyncTimeoutMs?: number;
  /** Selectors, resyncs and the like of the shared informers. */
  readonly informers?: Omit<InformerCacheOptions, 'namespaces' | 'clock'>;
  readonly clock?: Clock;
  /** Uniform in [0, 1). Default Math.random. */
  readonly random?: () => number;
  /**
   * Errors are in the field `error`, their stacks cut down to the program's own lines where they have any; without a stack where a line
   * of the same text has shown it in the last 10 minutes, with the field `repeated` then. Default: errors and warnings are warnings of the process.
   */
  readonly logger?: Logger;
}

export const managerOptionNames: OptionNames<ManagerOptions> = {
  client: true,
  leaderElection: true,
  installCrds: true,
  namespaces: true,
  metrics: true,
  registry: true,
  gracePeriodMs: true,
  ownWritesTimeoutMs: true,
  cacheSyncTimeoutMs: true,
  informers: true,
  clock: true,
  random: true,
  logger: true,
};
const defaults = { gracePeriodMs: 30_000, ownWritesTimeoutMs: 5000, cacheSyncTimeoutMs: 120_000 } as const;
const informerCallbacks = ['onHandlerError', 'onWatchError', 'random', 'transform', 'tweakListOptions'] as const;
/** Time for events that wait to be written and for runs that end with their signal, in milliseconds. */
const lastWordsMs = 2000;

/**
 * Runs controllers in one process: one set of caches for all of them, one lease, one server of probes and metrics. `run` makes
 * one of these; on its own it is for a client of one's own and for tests.
 */
export class Manager {
  readonly #options: ManagerOptions & Required<Pick<ManagerOptions, keyof typeof defaults | 'clock' | 'logger'>>;
  readonly #controllers: readonly Controller[];
  readonly #cache: InformerCache;
  readonly #metrics: ControllerMetrics;
  readonly #recorders: readonly EventRecorder[];
  readonly #runners: readonly ControllerRunner[];
  readonly #elector: LeaderElector | undefined;
  readonly #ready: Promise<void>;
  #becomeReady: () => void = () => undefined;
  #failReady: (error: unknown) => void = () => undefined;
  #isStarted = false;
  #hasSynced = false;
  #stoppedAtMs: number | undefined;
  #server: ProbeServer | undefined;

  /** Starts nothing yet. Throws TypeError for bad options and for two controllers of one name. */
  constructor(controllers: readonly Controller[], options: ManagerOptions) {
    requireControllers(controllers);
    requireManagerOptions(options, managerOptionNames);
    const { clock = systemClock, registry } = options;
    const logger = guardedLogger(options.logger ?? warningLogger);
    const told = stackOnceLogger(logger, clock);
    this.#options = { ...boundCallbacks(options, ['random']), ...resolveTimes(options), clock, logger };
    this.#controllers = controllers;
    this.#metrics = new ControllerMetrics({ clock, ...(registry === undefined ? {} : { registry }) });
    this.#cache = new InformerCache(options.client, {
      onHandlerError: (error, change, informer) =>
        told.error('A handler failed; its change is lost to it', { informer, key: change?.key, error }),
      // Told below, by kind.
      onWatchError: () => undefined,
      logger: told,
      ...boundCallbacks(options.informers ?? {}, informerCallbacks),
      namespaces: options.namespaces ?? [],
      clock,
    });
    const client = new ObservedClient({ client: options.client, admit: () => this.#admit() });
    const recorders = controllers.map(
      ({ name }) => new EventRecorder({ client, component: name, clock, logger: told }),
    );
    // That it has ended is to be said too, when nothing else may be written any more.
    const ofElection = new EventRecorder({
      client: new ObservedClient({ client: options.client, admit: () => this.#elector?.throwIfLost() }),
      component: controllers[0]?.name ?? '',
      clock,
      logger: told,
    });
    this.#elector = this.#createElector(ofElection);
    this.#recorders = [...recorders, ofElection];
    this.#runners = this.#createRunners(client);
    if (options.informers?.onWatchError === undefined)
      this.#cache.followProblems({
        textOf: this.#textOf,
        tell: (problem) => logger.warn(`Failed to list or watch, trying again: ${problem}`),
      });
    this.#ready = new Promise((resolve, reject) => {
      this.#becomeReady = resolve;
      this.#failReady = reject;
    });
    // Not everybody asks.
    this.#ready.catch(() => undefined);
  }

  /** What /metrics shows. */
  get metrics(): Registry {
    return this.#metrics.registry;
  }

  /** Whether this process may work at this moment. */
  get isLeader(): boolean {
    return this.#elector?.isLeader ?? true;
  }

  /** The port of /metrics and the probes; undefined while nothing listens. */
  get probePort(): number | undefined {
    return this.#server?.port;
  }

  /** Resolves when all caches are filled, whether this process leads or not. Rejects when the run ends before. */
  whenReady(): Promise<void> {
    return this.#ready;
  }

  /**
   * Works until the signal aborts, and resolves when all has ended: runs under way (they have the grace period, then their
   * signal aborts), events, the lease, caches, probes; also when that is before the caches are filled or this process leads.
   * Rejects when the start fails, with {@link LeadershipLostError}, and when runs did not end in time; everything is closed
   * then too. Once.
   */
  async run(signal: AbortSignal): Promise<void> {
    requireGivenSignal(signal);
    if (this.#isStarted) throw new Error('a manager runs once');
    this.#isStarted = true;
    const unfollow = this.#metrics.followRequests();
    const onStop = (): void => {
      this.#stoppedAtMs = this.#options.clock.monotonicNow();
    };
    if (signal.aborted) onStop();
    signal.addEventListener('abort', onStop, { once: true });
    try {
      await this.#run(signal);
      await this.#lastWords();
      this.#failReady(new Error('the manager was stopped'));
    } catch (error) {
      this.#failReady(error);
      throw error;
    } finally {
      await this.#silence();
      await this.#cache.close();
      await this.#server?.close();
      signal.removeEventListener('abort', onStop);
      unfollow();
    }
  }

  async #run(stop: AbortSignal): Promise<void> {
    await this.#listen();
    try {
      await this.#installDefinitions(stop);
    } catch (error) {
      if (stop.aborted) return;
      throw error;
    }
    if (stop.aborted) return;
    this.#cache.start();
    if (!(await this.#cachesFill(stop))) return;
    this.#hasSynced = true;
    this.#becomeReady();
    const never = new AbortController().signal;
    if (this.#elector === undefined) await this.#work({ stop, lost: never });
    else await this.#elector.run((lost) => this.#work({ stop, lost }), stop);
  }

  /** False when the stop comes first. Rejects when that takes too long, and at once where the client was closed. */
  async #cachesFill(stop: AbortSignal): Promise<boolean> {
    const { clock, cacheSyncTimeoutMs } = this.#options;
    const over = new AbortController();
    const end = (): void => over.abort();
    const cancel = cacheSyncTimeoutMs === 0 ? () => undefined : clock.setTimer(end, cacheSyncTimeoutMs);
    stop.addEventListener('abort', end, { once: true });
    let closing: unknown;
    this.#cache.followClosing((error) => {
      closing ??= error;
      end();
    });
    const isFilled = await this.#cache.waitForSync(over.signal).finally(() => {
      stop.removeEventListener('abort', end);
      cancel();
    });
    if (isFilled) return true;
    // What kept them from it was warned of. Source: controller-runtime's Start, which takes the end of its context for no failure.
    if (stop.aborted) return false;
    if (closing !== undefined)
      throw new Error('the client is closed: a manager needs one that stays open until its run has ended', {
        cause: closing,
      });
    const text = this.#cache.unsynced().map(this.#textOf).join('; ');
    throw new Error(`timed out after ${cacheSyncTimeoutMs} ms waiting for caches to sync: ${text}`);
  }

  readonly #textOf = (problem: CacheProblem): string =>
    problemText(problem, this.#options.installCrds === true ? 'wasInstalled' : 'notInstalled');

  async #work(signals: { readonly stop: AbortSignal; readonly lost: AbortSignal }): Promise<void> {
    const { logger } = this.#options;
    // What a client still tries to write would go out under another leader.
    signals.lost.addEventListener('abort', () => void this.#silence(), { once: true });
    // Each controller listens: Node takes more than ten for a leak.
    setMaxListeners(0, signals.stop, signals.lost);
    logger.info('Starting workers', { controllers: this.#controllers.length });
    const work = Promise.all(this.#runners.map((runner) => runner.run(signals)));
    if (await this.#inTime(work, signals)) logger.info('All workers finished');
    // As long as this process may write.
    if (!signals.lost.aborted) await this.#lastWords();
    // What is left had its time; only the election has something to say from here on.
    await Promise.all(this.#recorders.slice(0, this.#controllers.length).map((recorder) => recorder.close()));
  }

  /** Rejects when the work has not ended a while after it should have; after a lost leadership that is false. */
  async #inTime(
    work: Promise<unknown>,
    { stop, lost }: { readonly stop: AbortSignal; readonly lost: AbortSignal },
  ): Promise<boolean> {
    const { clock, gracePeriodMs, logger } = this.#options;
    const over = new AbortController();
    const left = (): string => this.#runners.flatMap(({ underWay }) => underWay).join(', ');
    const late = async (): Promise<void> => {
      await aborted(AbortSignal.any([stop, lost, over.signal]));
      const lostOrOver = AbortSignal.any([lost, over.signal]);
      await delay(clock, gracePeriodMs + lastWordsMs, lostOrOver).catch(() => undefined);
      if (!lostOrOver.aborted)
        throw new Error(
          `failed waiting for all controllers to end within grace period of ${gracePeriodMs} ms and ${lastWordsMs} ms for what was aborted then; still under way: ${left()}`,
        );
      // Their signals are aborted and nothing of theirs is written any more: others lead, so this process is to end.
      await delay(clock, lastWordsMs, over.signal).catch(() => undefined);
      if (!over.signal.aborted) logger.warn('Leadership was lost; runs are left behind', { underWay: left() });
    };
    try {
      return await Promise.race([work.then(() => true), late().then(() => false)]);
    } finally {
      over.abort();
    }
  }

  /** Writes the events that wait: within the grace period as long as that makes headway, else within a short time. */
  async #lastWords(): Promise<void> {
    const { clock, gracePeriodMs } = this.#options;
    const untilMs = (this.#stoppedAtMs ?? clock.monotonicNow()) + gracePeriodMs;
    const waiting = (): number => this.#recorders.reduce((sum, recorder) => sum + recorder.waiting, 0);
    const written = Promise.all(this.#recorders.map((recorder) => recorder.drain()));
    for (let before = waiting(); before > 0; ) {
      const over = new AbortController();
      await Promise.race([written, delay(clock, lastWordsMs, over.signal).catch(() => undefined)]);
      over.abort();
      const left = waiting();
      if (left >= before || clock.monotonicNow() >= untilMs) return;
      before = left;
    }
  }

  /** Ends the writing of events. Never rejects. */
  async #silence(): Promise<void> {
    await Promise.all(this.#recorders.map((recorder) => recorder.close()));
  }

  #admit(): void {
    if (!this.isLeader) throw new LeadershipLostError('this process does not lead: it may not write');
  }

  #createElector(recorder: EventRecorder): LeaderElector | undefined {
    const { leaderElection = false, client, clock, logger, random = Math.random } = this.#options;
    if (leaderElection === false) return undefined;
    const { name } = leaderElection;
    this.#metrics.leaderChanged(name, false);
    return new LeaderElector({
      namespace: 'default',
      ...leaderElection,
      client,
      clock,
      logger: stackOnceLogger(logger, clock),
      random,
      recorder,
      onChange: (isLeader) => this.#metrics.leaderChanged(name, isLeader),
      onSlowRenewal: () => this.#metrics.renewedSlowly(name),
    });
  }

  #createRunners(client: ResourceClient): readonly ControllerRunner[] {
    const { clock, logger, gracePeriodMs, ownWritesTimeoutMs } = this.#options;
    const cache = this.#cache;
    const ownWrites = new OwnWrites({ cache, clock, timeoutMs: ownWritesTimeoutMs });
    return this.#controllers.map((controller, index) => {
      const recorder = this.#recorders[index] as EventRecorder;
      const ports = { client, cache, ownWrites, recorder, metrics: this.#metrics, gracePeriodMs, clock, logger };
      return new ControllerRunner(controller, ports);
    });
  }

  async #installDefinitions(signal: AbortSignal): Promise<void> {
    const { installCrds = false, client, clock, logger, leaderElection, cacheSyncTimeoutMs } = this.#options;
    if (!installCrds) return;
    const fieldManager = (leaderElection || this.#controllers[0])?.name ?? '';
    const options = { client, clock, signal, fieldManager, logger, timeoutMs: cacheSyncTimeoutMs };
    await installDefinitions(definedResources(this.#controllers), options);
  }

  async #listen(): Promise<void> {
    const { metrics, logger } = this.#options;
    if (metrics === undefined) return;
    const server = await startProbeServer(metrics, {
      healthz: { ping: () => undefined, leaderElection: () => this.#elector?.check(lastWordsMs)?.message },
      readyz: { ping: () => undefined, informers: () => this.#notReady() },
      isStopping: () => this.#stoppedAtMs !== undefined,
      metrics: this.metrics,
    });
    this.#server = server;
    // Where that is depends on whether this is a pod, and the port may be any.
    logger.info('Serving metrics and probes', { host: server.host, port: server.port });
  }

  #notReady(): string | undefined {
    const problems = [...this.#cache.problems()].map(([kind, problem]) => `${kind}: ${problem}`);
    if (problems.length > 0) return problems.join(', ');
    return this.#hasSynced ? undefined : 'starting';
  }
}

function resolveTimes(options: ManagerOptions): Required<Pick<ManagerOptions, keyof typeof defaults>> {
  return {
    gracePeriodMs: options.gracePeriodMs ?? defaults.gracePeriodMs,
    ownWritesTimeoutMs: options.ownWritesTimeoutMs ?? defaults.ownWritesTimeoutMs,
    cacheSyncTimeoutMs: options.cacheSyncTimeoutMs ?? defaults.cacheSyncTimeoutMs,
  };
}

/** Those that the controllers reconcile, own, watch or index; each once. */
function definedResources(controllers: readonly Controller[]): readonly DefinedResource[] {
  const kinds = controllers.flatMap(({ kind, sources, indexes }): Resource[] => [
    kind,
    ...sources.flatMap((source) => (source.type === 'trigger' ? [] : [source.kind])),
    ...indexes.map((index) => index.kind),
  ]);
  const byName = new Map(kinds.filter(isDefinedResource).map((kind) => [kind.definition.metadata.name, kind]));
  return [...byName.values()];
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
