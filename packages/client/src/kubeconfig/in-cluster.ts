// The configuration of a pod: the service's address from the environment, token and CA from the mounted account.
import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { type Logger, silentLogger } from '@kapstan/api';
import type { ClientConfig } from '../client-config.ts';
import { processLogger } from '../process-logger.ts';
import type { Environment } from '../transport/proxy.ts';

export interface InClusterOptions {
  /** Default: the process's. */
  readonly env?: Environment;
  /** Where the service account is mounted. Default /var/run/secrets/kubernetes.io/serviceaccount. */
  readonly directory?: string;
  /** Told of a CA that cannot be read. Default: a warning of the process. */
  readonly logger?: Logger;
}

const mount = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Rejects with TypeError outside a pod, and when the token cannot be read. Token and CA are re-read as they rotate. */
export async function inClusterConfig(options: InClusterOptions = {}): Promise<ClientConfig> {
  const { env = process.env, directory = mount, logger = processLogger } = options;
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port)
    throw new TypeError(
      'unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined',
    );
  const tokenFile = join(directory, 'token');
  const caFile = join(directory, 'ca.crt');
  const token = (await readFile(tokenFile, 'utf8')).trim();
  const hasCa = await isReadable(caFile, logger);
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    namespace: await inClusterNamespace(env, directory),
    ...(token === '' ? {} : { token }),
    tokenFile,
    ...(hasCa ? { tls: { caFile } } : {}),
  };
}

/** True where {@link inClusterConfig} can be expected to work. Source: clientcmd inClusterClientConfig.Possible. */
export async function isInCluster({ env = process.env, directory = mount }: InClusterOptions = {}): Promise<boolean> {
  if (!env.KUBERNETES_SERVICE_HOST || !env.KUBERNETES_SERVICE_PORT) return false;
  return await isReadable(join(directory, 'token'), silentLogger);
}

async function inClusterNamespace(env: Environment, directory: string): Promise<string> {
  if (env.POD_NAMESPACE) return env.POD_NAMESPACE;
  const file = join(directory, 'namespace');
  if (!(await isReadable(file, silentLogger))) return 'default';
  return (await readFile(file, 'utf8')).trim() || 'default';
}

async function isReadable(file: string, logger: Logger): Promise<boolean> {
  try {
    await readFile(file);
    return true;
  } catch (error) {
    logger.error('cannot read a file of the service account', { file, error });
    return false;
  }
}
