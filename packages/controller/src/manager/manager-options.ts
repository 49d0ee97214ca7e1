// ManagerOptions: the options of a manager. Read by manager.ts and run.ts, checked by manager-checks.ts.

import type { Clock, Logger, ResourceClient } from '@kapstan/api';
import type { Registry } from 'prom-client';
import type { InformerCacheOptions } from '../cache/informer-cache.ts';
import type { LeaderElectionOptions } from '../leader-election/leader-election-options.ts';
import type { ManagerTracing } from '../tracing/run-tracer.ts';
import type { WebhookOptions } from '../webhooks/webhook-options.ts';
import type { HealthChecks } from './health-checks.ts';
import type { InspectOptions } from './manager-servers.ts';
import type { ProbeServerOptions } from './probe-server.ts';
import type { Runnable } from './runnables.ts';

/** The options of a manager. `run` takes the same ones, except that it finds a client by itself. */
export interface ManagerOptions {
  /** The cluster's client. It stays open when the manager ends. */
  readonly client: ResourceClient;
  /**
   * Elects one of several processes to work; the others keep their caches warm. Default false: this process always
   * works.
   */
  readonly leaderElection?: false | (Omit<LeaderElectionOptions, 'namespace'> & { readonly namespace?: string });
  /** Applies the definitions of kinds made with `defineResource` and waits until they are served. Default false. */
  readonly installCrds?: boolean;
  /**
   * Settings for serving the controllers' webhooks (`defaults`, `validates`, `converts`) over HTTPS; false = other
   * programs serve them. Default: an API server in this process calls the functions; any other requires this option.
   */
  readonly webhooks?: WebhookOptions | false;
  /** Namespaces to watch. Default and empty: all. */
  readonly namespaces?: readonly string[];
  /** Serves /metrics, /healthz and /readyz. Default: no server. */
  readonly metrics?: ProbeServerOptions;
  /**
   * Checks of the program at /healthz, by name, in addition to the manager's `ping` and `leaderElection`. After some failures the kubelet
   * restarts the container, so check only for problems that a restart solves. Served with `metrics`. Default: none.
   */
  readonly healthzChecks?: HealthChecks;
  /**
   * Checks of the program at /readyz, by name, in addition to the manager's `ping`, `informers` and `webhooks`. While one fails, Services
   * send no requests to the pod. Default: none.
   */
  readonly readyzChecks?: HealthChecks;
  /**
   * Serves the inspector at /inspect/: the activity of informers and queues, the causes and writes of runs, as a page, as JSON and live. It
   * is read-only, without values and without Secrets. `true` serves it on the port of /metrics, to connections from this machine alone (a
   * port-forward is one); without `metrics`, on a free port of 127.0.0.1. Default false.
   */
  readonly inspect?: boolean | InspectOptions;
  /**
   * Makes a span of each reconcile, with its cause, its calls as parts and links to the spans that led to it: `{ api: opentelemetry }`. A
   * tracer provider must be registered before the manager is made; otherwise nothing is traced. Default: nothing is traced.
   */
  readonly tracing?: ManagerTracing | undefined;
  /** Registry for the metrics. Default: a new registry for this manager alone. */
  readonly registry?: Registry;
  /**
   * Time for which reconciles may continue after the stop before their signal aborts, in milliseconds. Default 30 000.
   * Aborted ones have 2000 ms more to end, then the run rejects. Waiting events are written during the same time while
   * that makes progress, but for at least 2000 ms; a warning counts the rest. In a pod, choose 5000 or more below
   * `terminationGracePeriodSeconds` (default 30 s), after which the kubelet kills the process.
   */
  readonly gracePeriodMs?: number;
  /** Maximum wait of a reconcile for the caches to show the last writes for its object, in milliseconds. Default 5000. */
  readonly ownWritesTimeoutMs?: number;
  /**
   * Time for the caches to fill, in milliseconds, before the run rejects and names the kinds that are not filled, with
   * reasons; definitions that `installCrds` installs may take as long before that. 0 = forever. Default 120 000.
   * Source: controller-runtime CacheSyncTimeout.
   */
  readonly cacheSyncTimeoutMs?: number;
  /** Parts of the program that run besides the controllers, see {@link Manager.add}. A manager with a runnable needs no controller. */
  readonly runnables?: readonly Runnable[];
  /** Selectors, resyncs and other options of the shared informers. */
  readonly informers?: Omit<InformerCacheOptions, 'namespaces' | 'clock'>;
  readonly clock?: Clock;
  /** Uniform in [0, 1). Default Math.random. */
  readonly random?: () => number;
  /**
   * Errors are in the field `error`, with stacks cut to the program's own lines if there are any. A stack that a line
   * of the same text has shown in the last 10 minutes is omitted, and the field `repeated` set. Default: errors and
   * warnings are warnings of the process.
   */
  readonly logger?: Logger;
}
