// Runnables run in addition to a manager's controllers: servers, timers, consumers of queues. One group always runs,
// the other only while this process leads. Used by manager.ts. Source: controller-runtime manager.Runnable and
// LeaderElectionRunnable.
import { inspect } from 'node:util';
import {
  type Clock,
  delay,
  type KubernetesObject,
  type Logger,
  type Resource,
  type ResourceClient,
} from '@kapstan/api';
import {
  checkedElsewhere,
  type OptionTable,
  optional,
  requireBoolean,
  requireGivenFunction,
} from '@kapstan/api/internal';
import type { CacheReader } from '../cache/informer-cache.ts';
import { requirePartOptions } from '../guards/part-options.ts';

/** Your own work that runs as long as a manager. */
export interface Runnable {
  /** Name of the runnable in logs and errors. */
  readonly name: string;
  /**
   * True (default) = runs only while this process leads, and may write through `context.client` during that time. False
   * = runs in every process, leader or not. Source: controller-runtime NeedLeaderElection.
   */
  readonly needsLeaderElection?: boolean;
  /**
   * Called once, when the caches are filled. It works until the signal aborts, and then has the grace period to end; it
   * may end earlier. A rejection ends the manager, whose run rejects with the same error.
   */
  run(context: RunnableContext): Promise<void>;
}

/** The tools of a runnable. */
export interface RunnableContext {
  /** Aborts at the stop, and when the leadership that the runnable needs is lost. */
  readonly signal: AbortSignal;
  /** Refuses writes while this process does not lead, unless the runnable needs no leadership. */
  readonly client: ResourceClient;
  /** The clock of the manager: the real one, or the one that a test moves. */
  readonly clock: Clock;
  /** Each line names the runnable. */
  readonly log: Logger;
  /** Returns the cache of a kind that a controller reconciles, owns, watches or indexes. Throws Error for any other. */
  cache<T extends KubernetesObject>(resource: Resource<T>): CacheReader<T>;
}

export interface RunnablePorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cache: RunnableContext['cache'];
  /** The client of runnables that need leadership. */
  readonly leaderClient: ResourceClient;
  readonly client: ResourceClient;
  /** Called with the rejection of a runnable before its end. */
  readonly onFailure: (error: unknown) => void;
}

const table: OptionTable<Runnable> = {
  name: requireRunnableName,
  // Errors of this function name the runnable.
  run: checkedElsewhere,
  needsLeaderElection: optional(requireBoolean),
};

/** Throws TypeError unless given a runnable. */
export function requireRunnable(runnable: Runnable): void {
  requirePartOptions(runnable, table, 'a runnable');
  requireGivenFunction(runnable.run, `run of the runnable ${runnable.name}`);
}

function requireRunnableName(name: unknown): void {
  if (typeof name !== 'string' || name === '')
    throw new TypeError(`a runnable needs a name for logs and errors, not ${inspect(name)}`);
}

/** Runnables that start and end together. */
class RunnableGroup {
  readonly #ports: RunnablePorts;
  readonly #client: ResourceClient;
  readonly #waiting: Runnable[] = [];
  readonly #running = new Map<Runnable, Promise<void>>();
  #signal: AbortSignal | undefined;

  constructor(ports: RunnablePorts, client: ResourceClient) {
    this.#ports = ports;
    this.#client = client;
  }

  get underWay(): readonly string[] {
    return [...this.#running.keys()].map(({ name }) => `runnable ${name}`);
  }

  add(runnable: Runnable): void {
    if (this.#signal === undefined) this.#waiting.push(runnable);
    else this.#begin(runnable, this.#signal);
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
    for (const runnable of this.#waiting.splice(0)) this.#begin(runnable, signal);
  }

  /** Resolves when none is running; none is started after the signal has aborted. */
  async ended(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  #begin(runnable: Runnable, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#running.set(runnable, this.#run(runnable, signal));
  }

  /** Never rejects. */
  async #run(runnable: Runnable, signal: AbortSignal): Promise<void> {
    const { cache, clock, logger, onFailure } = this.#ports;
    const fields = { runnable: runnable.name };
    const log: Logger = {
      debug: (message, more) => logger.debug(message, { ...fields, ...more }),
      info: (message, more) => logger.info(message, { ...fields, ...more }),
      warn: (message, more) => logger.warn(message, { ...fields, ...more }),
      error: (message, more) => logger.error(message, { ...fields, ...more }),
    };
    try {
      // A function that throws at once fails like one that rejects, and the others still start.
      await Promise.resolve();
      await runnable.run({ signal, client: this.#client, clock, log, cache });
    } catch (error) {
      // It ended because of its signal, as it should.
      if (signal.aborted && isEndedBy(signal, error)) return;
      log.error(signal.aborted ? 'a runnable failed after the stop' : 'a runnable failed; the manager ends', { error });
      if (!signal.aborted) onFailure(error);
    } finally {
      this.#running.delete(runnable);
    }
  }
}

/** Node's own timers and streams reject with an AbortError whose cause is the reason. */
function isEndedBy(signal: AbortSignal, error: unknown): boolean {
  return error === signal.reason || (error instanceof Error && error.name === 'AbortError');
}

/** All runnables of one manager. */
export class Runnables {
  readonly #clock: Clock;
  readonly #always: RunnableGroup;
  readonly #leading: RunnableGroup;
  readonly #over = new AbortController();
  #isEnding = false;

  constructor(ports: RunnablePorts) {
    this.#clock = ports.clock;
    this.#always = new RunnableGroup(ports, ports.client);
    this.#leading = new RunnableGroup(ports, ports.leaderClient);
  }

  /**
   * Adds a runnable, and starts it at once if its group already runs. Throws TypeError unless given a runnable, and
   * Error after the stop.
   */
  add(runnable: Runnable): void {
    requireRunnable(runnable);
    this.requireOpen(`runnable ${runnable.name}`);
    (runnable.needsLeaderElection === false ? this.#always : this.#leading).add(runnable);
  }

  /** Throws Error after the stop. */
  requireOpen(what: string): void {
    if (this.#isEnding) throw new Error(`the manager is ending: it does not start the ${what} any more`);
  }

  /** Accepts no more runnables. */
  close(): void {
    this.#isEnding = true;
  }

  /** Starts the runnables of every process. */
  start(): void {
    this.#always.start(this.#over.signal);
  }

  /**
   * Runs the runnables that need leadership until either signal aborts, and resolves when they have ended. Never
   * rejects.
   */
  async lead({ stop, lost }: { readonly stop: AbortSignal; readonly lost: AbortSignal }): Promise<void> {
    const signal = AbortSignal.any([stop, lost]);
    this.#leading.start(signal);
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    await this.#leading.ended();
  }

  get underWay(): readonly string[] {
    return [...this.#leading.underWay, ...this.#always.underWay];
  }

  /** Ends the runnables of every process within a time. Resolves to the names of the runnables that did not end. */
  async stop(timeoutMs: number): Promise<readonly string[]> {
    this.#isEnding = true;
    this.#over.abort(new Error('the manager was stopped'));
    if (this.#always.underWay.length === 0) return [];
    const inTime = new AbortController();
    await Promise.race([this.#always.ended(), delay(this.#clock, timeoutMs, inTime.signal).catch(() => undefined)]);
    inTime.abort();
    return this.#always.underWay;
  }
}
