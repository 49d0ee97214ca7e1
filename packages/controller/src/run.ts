// run() is a program of controllers. It finds the cluster, listens to SIGTERM and SIGINT, and leaves the rest to the
// manager.
import { inspect } from 'node:util';
import { type ResourceClient, systemClock } from '@kapstan/api';
import { checkedElsewhere, type OptionTable, requireOptions, requireSignal } from '@kapstan/api/internal';
import type { Controller } from './builder/controller-builder.ts';
import { type ClusterOptions, type ConnectedClient, connectCluster } from './connect.ts';
import { warningLogger } from './guards/warning-logger.ts';
import { Manager } from './manager/manager.ts';
import { managerTable, requireControllers } from './manager/manager-checks.ts';
import type { ManagerOptions } from './manager/manager-options.ts';

/** Options of {@link run}: the manager's options, and the cluster. */
export interface RunOptions extends Omit<ManagerOptions, 'client'>, ClusterOptions {
  /**
   * May not be combined with `kubeconfig`, `context` and `inCluster`. Default: one for the cluster of the kubeconfig or
   * of the pod, closed at the end.
   */
  readonly client?: ResourceClient;
  /** Ends the run. Default: SIGTERM or SIGINT; a second one ends the process at once. */
  readonly signal?: AbortSignal;
}

const optionTable: OptionTable<RunOptions> = {
  ...managerTable,
  signal: requireSignal,
  // The code that connects to the cluster checks these options.
  kubeconfig: checkedElsewhere,
  context: checkedElsewhere,
  inCluster: checkedElsewhere,
};

/** Controllers, then options. */
export type RunArguments = readonly [...Controller[], RunOptions] | readonly Controller[];

/**
 * Runs controllers until the process receives SIGINT or SIGTERM, and resolves when their work has ended. Rejects as
 * {@link Manager.run} does: a program should then exit with a status other than 0 and be restarted.
 */
export async function run(...controllersAndOptions: RunArguments): Promise<void> {
  const all: readonly (Controller | RunOptions)[] = controllersAndOptions;
  const controllers = all.filter(isController);
  const [options = {}, ...more] = all.filter(isRunOptions);
  if (more.length > 0) throw new TypeError('run() takes controllers, then one object of options, not several');
  const { client: given, signal: givenSignal, kubeconfig, context, inCluster, ...rest } = options;
  const { clock = systemClock, logger = warningLogger } = rest;
  requireOptions(options, optionTable, 'run()');
  requireControllers(controllers, options.runnables);
  const cluster = { kubeconfig, context, inCluster };
  if (given !== undefined && Object.values(cluster).some((value) => value !== undefined))
    throw new TypeError('client may not be combined with kubeconfig, context or inCluster');
  const own = given === undefined ? await connectCluster(cluster, { clock, logger }) : undefined;
  const { signal, ignore } =
    givenSignal === undefined ? processSignals() : { signal: givenSignal, ignore: () => undefined };
  try {
    const client = given ?? (own as ConnectedClient);
    await new Manager(controllers, { ...withNamespace(rest, own?.namespace), client }).run(signal);
  } finally {
    ignore();
    await own?.close();
  }
}

function isController(argument: Controller | RunOptions): argument is Controller {
  if (typeof argument !== 'object' || argument === null)
    throw new TypeError(`run() takes controllers, then options, not ${inspect(argument)}`);
  return 'reconcile' in argument;
}

function isRunOptions(argument: Controller | RunOptions): argument is RunOptions {
  return !isController(argument);
}

/** By default, the lease is in the program's own namespace. */
function withNamespace<O extends Pick<ManagerOptions, 'leaderElection'>>(options: O, namespace: string | undefined): O {
  const { leaderElection } = options;
  if (!leaderElection || namespace === undefined) return options;
  return { ...options, leaderElection: { namespace, ...leaderElection } };
}

function processSignals(): { readonly signal: AbortSignal; readonly ignore: () => void } {
  const stop = new AbortController();
  const names = ['SIGTERM', 'SIGINT'] as const;
  const onSignal = (name: NodeJS.Signals): void => {
    // The next signal finds no listener and ends the process.
    ignore();
    stop.abort(new Error(`stopped by ${name}`));
  };
  const ignore = (): void => {
    for (const name of names) process.removeListener(name, onSignal);
  };
  for (const name of names) process.on(name, onSignal);
  return { signal: stop.signal, ignore };
}
