// ElectedLoops runs the control loops of one of several servers on one store. They run while this server holds a Lease, and are created
// again each time it acquires it. ElectedLoops replaces ControlLoops where the store is shared. Source: kube-controller-manager
// --leader-elect.
import { delay, type ResourceClient } from '@kapstan/api';
import { formatMetrics, gaugeFamily, type MetricsText } from '@kapstan/api/internal';
import type { HealthCheck } from '@kapstan/apiserver';
import { type LeaderElectionTimes, LeaderElector, LeadershipLostError, ObservedClient } from '@kapstan/controller';
import { settledBefore } from './control-loop.ts';
import {
  ControlLoops,
  type ControlLoopsOptions,
  type InspectedLoops,
  type RunningLoops,
  readyTimeoutMs,
} from './control-loops.ts';

export interface ElectedLoopsOptions extends ControlLoopsOptions {
  readonly times?: LeaderElectionTimes | undefined;
}

const leaseName = 'kapstan-control-loops';
const leaseNamespace = 'kube-system';

export class ElectedLoops implements RunningLoops {
  readonly #options: ElectedLoopsOptions;
  readonly #stop = new AbortController();
  /** The loops of the current or the last term; before the first term, loops that were never started. */
  #loops: ControlLoops;
  #elector: LeaderElector;
  #isWorking = false;
  #decide: (ready: Promise<void>) => void = () => undefined;
  /** Settles with the first term, or when another server is seen to lead. */
  readonly #decided: Promise<void> = new Promise((resolve) => {
    this.#decide = resolve;
  });
  #running: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  /** Throws TypeError when the lease times contradict each other. */
  constructor(options: ElectedLoopsOptions) {
    this.#options = options;
    this.#loops = new ControlLoops(options);
    this.#elector = this.#createElector();
    // Only `whenReady` reports a rejection; later failures show in /readyz.
    this.#decided.catch(() => undefined);
  }

  /** Returns the checks of the loops while they run here; a server that waits for its turn is healthy. */
  get healthChecks(): readonly HealthCheck[] {
    return this.#loops.healthChecks.map((check, index) => ({
      ...check,
      check: () => (this.#isWorking ? this.#loops.healthChecks[index]?.check() : undefined),
    }));
  }

  /** Returns the metrics of the loops, and of this server's leadership. */
  get metrics(): MetricsText {
    return { metrics: async () => `${await this.#loops.metrics.metrics()}${this.#formatStatus()}` };
  }

  /** Leaves out the loops and informers of a term that is over. */
  get inspected(): InspectedLoops {
    const election = { lease: `${leaseNamespace}/${leaseName}`, elector: this.#elector };
    return this.#isWorking ? { ...this.#loops.inspected, election } : { loops: [], informers: [], election };
  }

  start(): void {
    this.#running = this.#run();
  }

  /**
   * Resolves when the loops are ready here or another server runs them. Rejects as {@link ControlLoops.whenReady} does, and when no leader
   * is seen for one minute.
   */
  async whenReady(): Promise<void> {
    const over = new AbortController();
    const late = delay(this.#options.clock, readyTimeoutMs, AbortSignal.any([over.signal, this.#stop.signal]));
    const nobody = `no server acquired the lease "${leaseName}" of the control loops within ${readyTimeoutMs / 1000} s`;
    try {
      await Promise.race([this.#decided, late.then(() => Promise.reject(new Error(nobody)))]);
    } finally {
      over.abort();
    }
  }

  /** Resolves when no work of the loops is in progress and the Lease is released. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stop.abort(new Error('the control loops are stopped'));
    await this.#running;
    await this.#loops.close();
  }

  async #run(): Promise<void> {
    const { logger } = this.#options;
    const stop = this.#stop.signal;
    while (!stop.aborted) {
      try {
        await this.#elector.run((term) => this.#lead(AbortSignal.any([term, stop])), stop);
      } catch (error) {
        if (!(error instanceof LeadershipLostError)) {
          logger.error('the control loops did not end cleanly', { error: String(error) });
        }
      }
      this.#elector = this.#createElector();
    }
  }

  async #lead(over: AbortSignal): Promise<void> {
    // Each term gets new loops and caches, because a cache that was not updated for a while may be arbitrarily old.
    await this.#loops.close();
    const loops = new ControlLoops({ ...this.#options, client: this.#clientOf(this.#elector) });
    this.#loops = loops;
    this.#isWorking = true;
    loops.start();
    const ready = loops.whenReady();
    ready.catch(() => undefined);
    this.#decide(ready);
    await settledBefore(new Promise(() => undefined), over);
    await loops.close();
    this.#isWorking = false;
  }

  /** Returns a client that refuses writes unless this server leads, even for work still in progress. */
  #clientOf(elector: LeaderElector): ResourceClient {
    const admit = (): void => {
      if (!elector.isLeader)
        throw new LeadershipLostError('this server is not the leader; its control loops may not write');
    };
    return new ObservedClient({ client: this.#options.client, admit });
  }

  #createElector(): LeaderElector {
    const { client, clock, logger, times } = this.#options;
    const elector: LeaderElector = new LeaderElector({
      name: leaseName,
      namespace: leaseNamespace,
      ...times,
      client,
      clock,
      logger,
      onNewLeader: (holder) => {
        if (holder !== '' && holder !== elector.identity) this.#decide(Promise.resolve());
      },
    });
    return elector;
  }

  #formatStatus(): string {
    const samples = [{ labels: { name: leaseName }, value: this.#elector.isLeader ? 1 : 0 }];
    const help = 'Whether this server is the leader and runs the control loops: 1, or 0 if it is waiting.';
    return formatMetrics([gaugeFamily('leader_election_master_status', help, samples)]);
  }
}
