// Finds the cluster for run(). Only this file of the package imports @kapstan/client.
import type { Clock, Logger, ResourceClient } from '@kapstan/api';
import type { ConnectOptions } from '@kapstan/client';

/** A client with the namespace of its kubeconfig or pod. */
export interface ConnectedClient extends ResourceClient {
  readonly namespace: string;
  close(): Promise<void>;
}

export interface ConnectPorts {
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Selects the cluster, see `connect` of @kapstan/client. Default: KUBECONFIG, or else ~/.kube/config, or else the pod's
 * service account.
 */
export type ClusterOptions = Pick<ConnectOptions, 'kubeconfig' | 'context' | 'inCluster'>;

/** Rejects when there is no usable configuration. The first call shows whether the server can be reached. */
export async function connectCluster(
  cluster: ClusterOptions,
  { clock, logger }: ConnectPorts,
): Promise<ConnectedClient> {
  // The client is imported here, because HTTP is a third of the code that this package would load, and programs with
  // their own client do not need it.
  const { connect } = await import('@kapstan/client');
  return connect({ ...cluster, clock, logger });
}
