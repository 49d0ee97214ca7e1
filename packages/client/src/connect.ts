// connect(): finds the cluster (kubeconfig or the pod's service account) and makes a client that is ready to call.
import {
  checkedElsewhere,
  type OptionTable,
  optional,
  requireBoolean,
  requireObject,
  requireOptions,
  requireSignal,
  requireString,
} from '@kapstan/api/internal';
import { Client } from './client.ts';
import { type ClientConfig, type ClientOptions, clientTable } from './config/client-config.ts';
import type { Environment } from './connection/proxy.ts';
import { inClusterConfig, isInCluster } from './kubeconfig/in-cluster.ts';
import { clientConfigOf, isEmptyKubeconfig } from './kubeconfig/kubeconfig-client.ts';
import { type KubeconfigOverrides, overrideInCluster, overrideKubeconfig } from './kubeconfig/kubeconfig-overrides.ts';
import { loadKubeconfig } from './kubeconfig/load-kubeconfig.ts';

/** Options of {@link connect}. By default it uses KUBECONFIG, `~/.kube/config`, then the pod. */
export interface ConnectOptions extends ClientOptions {
  /** Uses this cluster and identity and searches nowhere. Cannot be combined with the other sources. */
  readonly config?: ClientConfig;
  /** Path of a kubeconfig. Default: KUBECONFIG, or else ~/.kube/config, or else the pod's service account. */
  readonly kubeconfig?: string | undefined;
  /** Context of the kubeconfig. Default: its current-context. */
  readonly context?: string | undefined;
  /** Values that replace values of the kubeconfig or of the pod's service account, such as a program's flags. */
  readonly overrides?: KubeconfigOverrides;
  /** True = only the pod's service account. False = never. Default: used when there is no kubeconfig. */
  readonly inCluster?: boolean | undefined;
  /** Ends the search and the wait for credentials; `connect` then rejects with its reason. It does not affect the client afterwards. */
  readonly signal?: AbortSignal;
  /** Environment in which KUBECONFIG, HOME and the service's address are looked up. Default: the process's. */
  readonly env?: Environment;
}

const overrideTable: OptionTable<KubeconfigOverrides> = {
  namespace: optional(requireString),
  clusterName: optional(requireString),
  userName: optional(requireString),
  cluster: optional(requireObject),
  user: optional(requireObject),
};

const optionTable: OptionTable<ConnectOptions> = {
  ...clientTable,
  // The client checks it.
  config: checkedElsewhere,
  kubeconfig: optional(requireString),
  context: optional(requireString),
  overrides: optional(requireOverrides),
  inCluster: optional(requireBoolean),
  signal: requireSignal,
  env: optional(requireObject),
};

function requireOverrides(overrides: unknown): void {
  requireObject(overrides, 'overrides');
  requireOptions(overrides as KubeconfigOverrides, overrideTable, 'overrides of connect');
}

/**
 * Creates a client. Rejects with TypeError for a configuration that cannot be used, and with the error of a file or plugin that failed. The
 * first call shows whether the server can be reached.
 */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  requireObject(options, 'options of connect()');
  requireOptions(options, optionTable, 'connect');
  const { config, kubeconfig, context, overrides, inCluster, env, signal, ...rest } = options;
  const isSearch = [kubeconfig, context, overrides, inCluster].some((option) => option !== undefined);
  if (config !== undefined && isSearch)
    throw new TypeError('config may not be combined with kubeconfig, context, overrides or inCluster');
  if (inCluster === true && (kubeconfig !== undefined || context !== undefined))
    throw new TypeError('inCluster may not be combined with kubeconfig or context');
  signal?.throwIfAborted();
  const client = new Client(config ?? (await findConfig(options)), rest);
  try {
    await client.prepare({ signal });
    return client;
  } catch (error) {
    await client.close();
    throw error;
  }
}

async function findConfig(options: ConnectOptions): Promise<ClientConfig> {
  const { kubeconfig, context, overrides = {}, inCluster, env = process.env, logger } = options;
  const ports = { env, logger };
  const ofPod = async (): Promise<ClientConfig> => overrideInCluster(await inClusterConfig(ports), overrides);
  if (inCluster === true) return await ofPod();
  const loaded = await loadKubeconfig({ ...ports, path: kubeconfig });
  const mayBeInCluster = inCluster !== false && kubeconfig === undefined && context === undefined;
  if (mayBeInCluster && isEmptyKubeconfig(loaded) && (await isInCluster(ports))) return await ofPod();
  const isOverridden = Object.keys(overrides).length > 0;
  return isOverridden
    ? clientConfigOf(overrideKubeconfig(loaded, overrides, context))
    : clientConfigOf(loaded, context);
}
