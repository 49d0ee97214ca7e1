// Prepares a kubeconfig for display, as `kubectl config view` does: reduces it to one context, inlines files, omits
// secrets, formats YAML. Source: client-go tools/clientcmd/api/helpers.go (MinifyConfig, FlattenConfig, ShortenConfig).
import { readFile } from 'node:fs/promises';
import type { Kubeconfig, KubeconfigCluster, KubeconfigUser } from './kubeconfig.ts';
import { stringify } from './yaml.ts';

/** Returns only the current context with its cluster and user. Throws TypeError when one of them is missing. */
export function minifyKubeconfig(kubeconfig: Kubeconfig): Kubeconfig {
  const { currentContext, contexts, clusters, users } = kubeconfig;
  if (currentContext === '') throw new TypeError('current-context must exist in order to minify');
  const context = contexts.get(currentContext);
  if (context === undefined) throw new TypeError(`cannot locate context ${currentContext}`);
  return {
    ...kubeconfig,
    contexts: new Map([[currentContext, context]]),
    clusters: only(clusters, context.cluster, 'cluster'),
    users: only(users, context.user, 'user'),
  };
}

function only<T>(entries: ReadonlyMap<string, T>, name: string | undefined, kind: string): Map<string, T> {
  if (!name) return new Map();
  const entry = entries.get(name);
  if (entry === undefined) throw new TypeError(`cannot locate ${kind} ${name}`);
  return new Map([[name, entry]]);
}

/**
 * Returns a kubeconfig that needs no other file: certificates and keys are read into their data members. Rejects when a
 * file cannot be read, and with TypeError when an entry has both a file and data. Token files stay, because they rotate.
 */
export async function flattenKubeconfig(kubeconfig: Kubeconfig): Promise<Kubeconfig> {
  return {
    ...kubeconfig,
    clusters: await flattened(kubeconfig.clusters, ['certificate-authority']),
    users: await flattened(kubeconfig.users, ['client-certificate', 'client-key']),
  };
}

async function flattened<T extends object>(
  entries: ReadonlyMap<string, T>,
  members: readonly (keyof T & string)[],
): Promise<Map<string, T>> {
  const result = new Map<string, T>();
  for (const [name, entry] of entries) {
    let flat = entry;
    for (const member of members) flat = await withContent(flat, member);
    result.set(name, flat);
  }
  return result;
}

async function withContent<T extends object>(entry: T, member: keyof T & string): Promise<T> {
  const { [member]: file, ...others } = entry;
  if (!file) return entry;
  const data = `${member}-data`;
  if ((entry as Record<string, unknown>)[data]) throw new TypeError('cannot have values for both path and contents');
  const content = await readFile(String(file));
  return { ...others, [data]: content.toString('base64') } as unknown as T;
}

/** Replaces omitted data, so that a reader sees that some exists. */
const omitted = 'DATA+OMITTED';
const redacted = 'REDACTED';

/**
 * Returns the kubeconfig in a form for people: data and all secrets in it are replaced by a word.
 *
 * @example
 * ```ts
 * import { formatKubeconfig, loadKubeconfig, redactKubeconfig } from '@kapstan/client';
 *
 * console.log(formatKubeconfig(redactKubeconfig(await loadKubeconfig()))); // may be shown
 * ```
 */
export function redactKubeconfig(kubeconfig: Kubeconfig): Kubeconfig {
  return {
    ...kubeconfig,
    clusters: mapValues(kubeconfig.clusters, redactedCluster),
    users: mapValues(kubeconfig.users, redactedUser),
  };
}

function redactedCluster(cluster: KubeconfigCluster): KubeconfigCluster {
  return cluster['certificate-authority-data'] ? { ...cluster, 'certificate-authority-data': omitted } : cluster;
}

const secretSettings = ['client-secret', 'id-token', 'refresh-token'];

function redactedUser(user: KubeconfigUser): KubeconfigUser {
  const { exec, 'auth-provider': provider } = user;
  const config = Object.entries(provider?.config ?? {}).map(([name, value]) => [
    name,
    secretSettings.includes(name) ? redacted : value,
  ]);
  return {
    ...user,
    ...(user['client-certificate-data'] ? { 'client-certificate-data': omitted } : {}),
    ...(user['client-key-data'] ? { 'client-key-data': omitted } : {}),
    ...(user.token ? { token: redacted } : {}),
    ...(user.password ? { password: redacted } : {}),
    ...(exec?.env ? { exec: { ...exec, env: exec.env.map(({ name }) => ({ name, value: redacted })) } } : {}),
    ...(provider?.config ? { 'auth-provider': { ...provider, config: Object.fromEntries(config) } } : {}),
  };
}

function mapValues<T>(entries: ReadonlyMap<string, T>, change: (value: T) => T): Map<string, T> {
  return new Map([...entries].map(([name, value]) => [name, change(value)]));
}

/**
 * Returns the text of a kubeconfig file, in YAML, that {@link parseKubeconfig} reads back unchanged.
 *
 * @example
 * ```ts
 * import { flattenKubeconfig, formatKubeconfig, loadKubeconfig, minifyKubeconfig } from '@kapstan/client';
 *
 * // The current context alone, in one file that can be taken elsewhere.
 * console.log(formatKubeconfig(await flattenKubeconfig(minifyKubeconfig(await loadKubeconfig()))));
 * ```
 */
export function formatKubeconfig({ currentContext, clusters, users, contexts }: Kubeconfig): string {
  const list = (entries: ReadonlyMap<string, object>, member: string): object[] =>
    [...entries].map(([name, entry]) => ({ name, [member]: entry }));
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': currentContext,
    clusters: list(clusters, 'cluster'),
    contexts: list(contexts, 'context'),
    users: list(users, 'user'),
  });
}
