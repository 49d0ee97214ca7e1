// Finds the cluster for run(): the one file of this package that knows @kapstan/client.
import type { Clock, Logger, ResourceClient } from '@kapstan/api';
import type { ConnectOptions } from '@kapstan/client';

/** A client with the namespace that its kubeconfig or pod belongs to. */
export interface ConnectedClient extends ResourceClient {
  readonly namespace: string;
  close(): Promise<void>;
}

export interface ConnectPorts {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Which cluster, see `connect` of @kapstan/client. Default: KUBECONFIG, else ~/.kube/config, else the pod's service account. */
export type ClusterOptions = Pick<ConnectOptions, 'kubeconfig' | 'context' | 'inCluster'>;

/** Rejects when there is no usable configuration; whether the server can be reached shows with the first call. */
export async function connectCluster(
  cluster: ClusterOptions,
  { clock, logger }: ConnectPorts,
): Promise<ConnectedClient> {
  // Loaded here, because HTTP is a third of what this package would load, and who brings a client needs none of it.
  const { connect } = await import('@kapstan/client');
  return connect({ ...cluster, clock, logger });
}
