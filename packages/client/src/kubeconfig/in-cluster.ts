// The configuration inside a pod: the server's address from the environment, token and CA from the mounted service account.
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import type { Logger } from '@kapstan/api';
import type { ClientConfig } from '../config/client-config.ts';
import type { Environment } from '../connection/proxy.ts';
import { processLogger } from '../guards/process-logger.ts';

/**
 * Options of {@link inClusterConfig}: where the files of the service account are. By default where the kubelet mounts
 * them.
 */
export interface InClusterOptions {
  /** Default: the process's. */
  readonly env?: Environment;
  /** Directory in which the service account is mounted. Default /var/run/secrets/kubernetes.io/serviceaccount. */
  readonly directory?: string;
  /**
   * Receives an error when the CA cannot be read or is not a certificate; the public authorities are trusted then. Default: process
   * warnings.
   */
  readonly logger?: Logger | undefined;
}

const mount = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Rejects with TypeError outside a pod, and when the token cannot be read. Token and CA are re-read as they rotate.
 *
 * @example
 * ```ts
 * import { Client, inClusterConfig } from '@kapstan/client';
 *
 * await using client = new Client(await inClusterConfig()); // connect() does the same in a pod
 * ```
 */
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
  const hasCa = await isAuthority(caFile, logger);
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    namespace: await inClusterNamespace(env, directory),
    ...(token === '' ? {} : { token }),
    tokenFile,
    ...(hasCa ? { tls: { caFile } } : {}),
  };
}

/** Returns true where {@link inClusterConfig} can be expected to work. Source: clientcmd inClusterClientConfig.Possible. */
export async function isInCluster({ env = process.env, directory = mount }: InClusterOptions = {}): Promise<boolean> {
  if (!env.KUBERNETES_SERVICE_HOST || !env.KUBERNETES_SERVICE_PORT) return false;
  return await isReadable(join(directory, 'token'));
}

async function inClusterNamespace(env: Environment, directory: string): Promise<string> {
  if (env.POD_NAMESPACE) return env.POD_NAMESPACE;
  const file = join(directory, 'namespace');
  if (!(await isReadable(file))) return 'default';
  return (await readFile(file, 'utf8')).trim() || 'default';
}

/** Logs an unusable file and continues, as client-go does. Source: client-go rest.InClusterConfig. */
async function isAuthority(file: string, logger: Logger): Promise<boolean> {
  try {
    return new X509Certificate(await readFile(file)).subject !== undefined;
  } catch (error) {
    logger.error(`cannot use the root certificates of the service account in ${file}, continuing without them`, {
      error,
    });
    return false;
  }
}

async function isReadable(file: string): Promise<boolean> {
  return await readFile(file).then(
    () => true,
    () => false,
  );
}
