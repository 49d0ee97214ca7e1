// FlowControlLoop runs API priority and fairness: it keeps the bootstrap configuration in the store, passes the stored configuration to the
// server's flow control, and writes the conditions of flow schemas. It connects control-plane.ts with the packages apiserver and
// kubernetes. Source: apf_controller.go Run, storage_flowcontrol.go PostStartHook.
import type { CancelTimer, Clock, Logger, ResourceClient } from '@kapstan/api';
import { nextTurn, onNextTurn } from '@kapstan/api/internal';
import { FlowControl, type FlowControlOptions } from '@kapstan/apiserver';
import { FlowSchema, PriorityLevelConfiguration } from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';
import {
  ensureFlowConfiguration,
  type FlowControlChange,
  type FlowControlKind,
  FlowControlObjects,
  FlowSchemaStatuses,
  flowControlFacts,
  mandatoryConfiguration,
  type ObjectCreator,
} from '@kapstan/kubernetes';
import { KindFeed } from './lifetime/kind-feed.ts';
import type { ControlPlaneOptions } from './options/control-plane-options.ts';
import type { ServerParts } from './serving.ts';

export interface FlowControlLoopOptions extends Pick<FlowControlOptions, 'seats' | 'statsOf'> {
  readonly client: ResourceClient;
  /** Creates the bootstrap configuration at the first attempt; the client does so later. */
  readonly creator: ObjectCreator;
  /** Called when the stored configuration is in force. */
  readonly onFollowing: () => void;
  /** Called when the bootstrap configuration is stored. */
  readonly onEnsured: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a random number in [0, 1). Default Math.random. */
  readonly random?: (() => number) | undefined;
}

const ensureMs = 60_000;
const retryEnsuringMs = 1_000;
/** Pauses after failed writes of conditions double from the first to the last. */
const retryStatusMs = { first: 200, last: 60_000 };

export class FlowControlLoop {
  readonly control: FlowControl;
  readonly #options: FlowControlLoopOptions;
  #creator: ObjectCreator;
  readonly #objects: FlowControlObjects;
  readonly #feed: KindFeed<FlowControlKind>;
  readonly #statuses: FlowSchemaStatuses;
  #hasSynced = false;
  #isPublishing = false;
  /** The write of conditions in progress, and whether it has to begin again. */
  #writing: Promise<void> | undefined;
  #isStale = false;
  #failures = 0;
  #ensuring: Promise<void> = Promise.resolve();
  #isEnsured = false;
  readonly #cancels = new Map<'ensure' | 'status', CancelTimer>();
  #isClosed = false;

  constructor(options: FlowControlLoopOptions) {
    const { client, seats, statsOf, clock, logger, random = Math.random } = options;
    this.#creator = options.creator;
    this.#options = options;
    this.#objects = new FlowControlObjects((change) => this.#onChange(change));
    this.#feed = new KindFeed({
      client,
      kinds: [FlowSchema, PriorityLevelConfiguration],
      store: this.#objects,
      what: 'flow schemas or priority levels',
      clock,
      logger,
    });
    this.#statuses = new FlowSchemaStatuses({ client, objects: this.#objects, clock, random });
    const configuration = mandatoryConfiguration();
    this.control = new FlowControl({ seats, configuration, statsOf, ...flowControlFacts, clock });
  }

  /** Resolves when the bootstrap configuration is stored and in force. As long as nothing can be read, it keeps trying and does not resolve. */
  async start(): Promise<void> {
    this.control.start();
    this.#feed.start();
    try {
      await this.#feed.whenSynced();
    } catch {
      // The feed was closed before it had synced.
      return;
    }
    this.#hasSynced = true;
    this.#options.onFollowing();
    await this.#ensure();
    this.#publish();
    await this.#writeStatuses();
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const cancel of this.#cancels.values()) cancel();
    this.control.close();
    await this.#feed.close();
    await Promise.all([this.#ensuring, this.#writing]);
  }

  /** Changes of one turn are applied together, because a start reads many objects at once. */
  #onChange(change: FlowControlChange): void {
    if (!this.#hasSynced) return;
    if (change === 'specs' && !this.#isPublishing) {
      this.#isPublishing = true;
      onNextTurn(() => this.#publish());
    }
    void this.#writeStatuses();
  }

  #publish(): void {
    this.#isPublishing = false;
    if (!this.#isClosed) this.control.configure(this.#objects.configuration());
  }

  #ensure(): Promise<void> {
    this.#ensuring = this.#ensureOnce();
    return this.#ensuring;
  }

  async #ensureOnce(): Promise<void> {
    const { client, clock, logger, onEnsured } = this.#options;
    const creator = this.#creator;
    // A later attempt may come after the first webhook or policy, which must see what it creates.
    this.#creator = client;
    try {
      await ensureFlowConfiguration(client, this.#objects, creator);
      if (!this.#isEnsured) onEnsured();
      this.#isEnsured = true;
    } catch (error) {
      if (!this.#isClosed)
        logger.error('could not store the default flow schemas and priority levels; retrying', {
          error: String(error),
        });
    }
    const pauseMs = this.#isEnsured ? ensureMs : retryEnsuringMs;
    if (!this.#isClosed)
      this.#cancels.set(
        'ensure',
        clock.setBackgroundTimer(() => void this.#ensure(), pauseMs),
      );
  }

  /** Corrects the present conditions, and again those that change meanwhile. Never rejects. */
  #writeStatuses(): Promise<void> {
    this.#isStale = true;
    this.#writing ??= this.#writeUntilCurrent().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #writeUntilCurrent(): Promise<void> {
    while (this.#isStale && !this.#isClosed) {
      // Events of this turn are handled together.
      await nextTurn();
      this.#isStale = false;
      const pauseMs = await this.#syncStatuses();
      if (pauseMs !== undefined) return this.#writeLater(pauseMs);
    }
  }

  /** Returns the pause before the next attempt; undefined when all is written. */
  async #syncStatuses(): Promise<number | undefined> {
    try {
      const pauseMs = await this.#statuses.sync();
      this.#failures = 0;
      return pauseMs;
    } catch (error) {
      if (!this.#isClosed) {
        this.#options.logger.warn('could not write a condition of a flow schema; retrying', { error: String(error) });
      }
      return Math.min(retryStatusMs.last, retryStatusMs.first * 2 ** this.#failures++);
    }
  }

  #writeLater(pauseMs: number): void {
    if (this.#isClosed) return;
    this.#cancels.get('status')?.();
    this.#cancels.set(
      'status',
      this.#options.clock.setBackgroundTimer(() => void this.#writeStatuses(), pauseMs),
    );
  }
}

interface FlowControlPorts extends Pick<ServerParts, 'resources' | 'hooks' | 'clock' | 'logger'> {
  readonly creator: ObjectCreator;
}

/**
 * Returns undefined where the feature is off, and where there is no HTTP server whose requests could be limited. The caller starts and
 * closes the loop.
 */
export function openFlowControl(
  options: ControlPlaneOptions,
  { resources, hooks, creator, clock, logger }: FlowControlPorts,
): FlowControlLoop | undefined {
  const {
    hasPriorityAndFairness = true,
    maxRequestsInflight: reads = 400,
    maxMutatingRequestsInflight: writes = 200,
  } = options;
  if (!hasPriorityAndFairness) hooks.finish('max-in-flight-filter');
  if (!hasPriorityAndFairness || options.http === 'off') return undefined;
  if (reads + writes <= 0) {
    throw new TypeError(
      `invalid configuration: MaxRequestsInFlight=${reads} and MaxMutatingRequestsInFlight=${writes}; they must add up to something positive`,
    );
  }
  return new FlowControlLoop({
    seats: reads + writes,
    statsOf: (of) => resources.objectStats(of),
    client: resources.client,
    creator,
    onFollowing: () => hooks.finish('priority-and-fairness-config-consumer', 'priority-and-fairness-filter'),
    onEnsured: () => hooks.finish('priority-and-fairness-config-producer'),
    clock,
    logger,
  });
}
