// ManagerOptions: what a manager is given. Read by manager.ts and run.ts, checked by manager-checks.ts.

import type { Clock, Logger, ResourceClient } from '@kapstan/api';
import type { OptionNames } from '@kapstan/api/internal';
import type { Registry } from 'prom-client';
import type { InformerCacheOptions } from './informer-cache.ts';
import type { LeaderElectionOptions } from './leader-election/leader-election-options.ts';
import type { ProbeServerOptions } from './probe-server.ts';
import type { Runnable } from './runnables.ts';

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
  /** What runs beside the controllers, see {@link Manager.add}. With one of them there may be no controller. */
  readonly runnables?: readonly Runnable[];
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
  runnables: true,
  informers: true,
  clock: true,
  random: true,
  logger: true,
};
