// Finds and merges kubeconfig files as client-go's loading rules do: explicit path, or else KUBECONFIG, or else ~/.kube/config.
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { type Logger, silentLogger } from '@kapstan/api';
import type { Environment } from '../connection/proxy.ts';
import { type Kubeconfig, type KubeconfigCluster, type KubeconfigUser, parseKubeconfig } from './kubeconfig.ts';

/**
 * Options of {@link loadKubeconfig}, which select the files. Default: those of KUBECONFIG, or else `~/.kube/config`.
 */
export interface LoadKubeconfigOptions {
  /** Reads only this file, which must exist. */
  readonly path?: string | undefined;
  /** Environment in which KUBECONFIG and HOME are looked up. Default: the process's. */
  readonly env?: Environment | undefined;
  /** Receives a warning when no file of the KUBECONFIG list exists. Default: silent. */
  readonly logger?: Logger | undefined;
}

/**
 * Returns the merge of all files. Of entries with the same name the first file's wins as a whole, and the first current-context wins. Paths
 * in it are absolute. Rejects when a file is unreadable or not a kubeconfig; listed files that do not exist are skipped.
 *
 * @example
 * ```ts
 * import { loadKubeconfig } from '@kapstan/client';
 *
 * const { currentContext, contexts } = await loadKubeconfig();
 * console.log(currentContext, [...contexts.keys()]);
 * ```
 */
export async function loadKubeconfig(options: LoadKubeconfigOptions = {}): Promise<Kubeconfig> {
  const { path, env = process.env, logger = silentLogger } = options;
  if (path !== undefined && path !== '') return await readKubeconfig(path);
  const files = kubeconfigFiles(env);
  const loaded = await Promise.allSettled(files.map(readKubeconfig));
  const failures = loaded.filter((result) => result.status === 'rejected' && !isMissing(result.reason));
  if (failures.length === 1) throw (failures[0] as PromiseRejectedResult).reason;
  if (failures.length > 1) {
    const reasons = failures.map((failure) => (failure as PromiseRejectedResult).reason as Error);
    throw new AggregateError(reasons, `[${reasons.map((reason) => reason.message).join(', ')}]`);
  }
  const configs = loaded.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  if (configs.length === 0 && env.KUBECONFIG) logger.warn(`Config not found: ${files.join(', ')}`);
  const merged = merge(configs);
  return configs.length > 0 ? merged : { ...merged, missing: files, isListed: Boolean(env.KUBECONFIG) };
}

/** Returns the files to search, in order, without duplicates. */
export function kubeconfigFiles(env: Environment): string[] {
  const listed = [...new Set((env.KUBECONFIG ?? '').split(delimiter).filter((file) => file !== ''))];
  return listed.length > 0 ? listed : [join(env.HOME || homedir(), '.kube', 'config')];
}

async function readKubeconfig(file: string): Promise<Kubeconfig> {
  try {
    const config = absolutePaths(parseKubeconfig(await readFile(file, 'utf8')), dirname(resolve(file)));
    return {
      ...config,
      files: [file],
      userFiles: new Map([...config.users.keys()].map((name) => [name, resolve(file)])),
    };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(`error loading config file ${JSON.stringify(file)}: ${message}`, { cause: error });
  }
}

function isMissing(error: unknown): boolean {
  const cause = (error as Error).cause as NodeJS.ErrnoException | undefined;
  return cause?.code === 'ENOENT';
}

function merge(configs: readonly Kubeconfig[]): Kubeconfig {
  // Later entries of a Map's constructor win, so the first file comes last.
  const reversed = [...configs].reverse();
  return {
    currentContext: configs.map((config) => config.currentContext).find((name) => name !== '') ?? '',
    clusters: new Map(reversed.flatMap((config) => [...config.clusters])),
    users: new Map(reversed.flatMap((config) => [...config.users])),
    contexts: new Map(reversed.flatMap((config) => [...config.contexts])),
    files: configs.flatMap((config) => config.files ?? []),
    userFiles: new Map(reversed.flatMap((config) => [...(config.userFiles ?? [])])),
  };
}

function absolutePaths(config: Kubeconfig, directory: string): Kubeconfig {
  const absolute = (path: string): string => (isAbsolute(path) ? path : join(directory, path));
  const at = <T extends object>(entry: T, fields: readonly (keyof T)[]): T => {
    const paths = fields.filter((field) => entry[field]).map((field) => [field, absolute(String(entry[field]))]);
    return { ...entry, ...(Object.fromEntries(paths) as Partial<T>) };
  };
  const cluster = (entry: KubeconfigCluster): KubeconfigCluster => at(entry, ['certificate-authority']);
  const user = (entry: KubeconfigUser): KubeconfigUser => {
    const resolved = at(entry, ['client-certificate', 'client-key', 'tokenFile']);
    const command = entry.exec?.command;
    // A bare command is looked up in PATH; one with a separator is relative to the kubeconfig.
    const isFile = command?.includes('/') || command?.includes(sep);
    return isFile ? { ...resolved, exec: at({ ...entry.exec }, ['command']) } : resolved;
  };
  return {
    ...config,
    clusters: new Map([...config.clusters].map(([name, entry]) => [name, cluster(entry)])),
    users: new Map([...config.users].map(([name, entry]) => [name, user(entry)])),
  };
}
