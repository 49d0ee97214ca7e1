// Values of a program or its flags that replace those of the kubeconfig. Used by connect.ts; kubeconfig.ts reads the entries. Source:
// client-go tools/clientcmd overrides.go and client_config.go (getContext, getCluster, getAuthInfo).
import type { ClientConfig } from '../config/client-config.ts';
import type { Kubeconfig, KubeconfigCluster, KubeconfigContext, KubeconfigUser } from './kubeconfig.ts';

/** Replaces parts of a kubeconfig, as kubectl's flags do. */
export interface KubeconfigOverrides {
  /** Namespace of calls that name none; `ns/a`, `namespace/a` and `namespaces/a` mean `a`. Absent = the context's. */
  readonly namespace?: string;
  /** Name of the cluster entry to use. Absent: the context's. */
  readonly clusterName?: string;
  /** Name of the user entry to use. Absent: the context's. */
  readonly userName?: string;
  /**
   * Members that replace members of the cluster entry. A CA or `insecure-skip-tls-verify` replaces all three members on trust.
   */
  readonly cluster?: KubeconfigCluster;
  /** Members that replace members of the user entry. A certificate or key replaces both of its forms, file and data. */
  readonly user?: KubeconfigUser;
}

/** Name of the context that is created when the kubeconfig has none, so that only the overrides count. */
const ownContext = 'overrides';

/**
 * Returns the kubeconfig with the overrides in its context (default: the current one), which becomes the current one. Other entries stay
 * unchanged. Throws TypeError if the requested context, cluster or user does not exist.
 *
 * @example
 * ```ts
 * import { Client, clientConfigOf, loadKubeconfig, overrideKubeconfig } from '@kapstan/client';
 *
 * const overrides = { namespace: 'staging', cluster: { server: 'https://127.0.0.1:6443' } };
 * await using client = new Client(clientConfigOf(overrideKubeconfig(await loadKubeconfig(), overrides)));
 * ```
 */
export function overrideKubeconfig(
  kubeconfig: Kubeconfig,
  overrides: KubeconfigOverrides,
  contextName?: string,
): Kubeconfig {
  const name = contextName || kubeconfig.currentContext || ownContext;
  const given = kubeconfig.contexts.get(name);
  if (given === undefined && contextName) throw new TypeError(`context ${JSON.stringify(name)} does not exist`);
  // A current-context without an entry stays an error, reported when the configuration is built.
  if (given === undefined && kubeconfig.currentContext !== '') return kubeconfig;
  const context = overrideContext(given ?? { cluster: name, user: name }, overrides);
  const { cluster: clusterName = '', user: userName = '' } = context;
  requireEntry(kubeconfig.clusters, overrides.clusterName, 'cluster');
  requireEntry(kubeconfig.users, overrides.userName, 'auth info');
  return {
    ...kubeconfig,
    currentContext: name,
    contexts: new Map(kubeconfig.contexts).set(name, context),
    clusters: new Map(kubeconfig.clusters).set(
      clusterName,
      overrideCluster(kubeconfig.clusters.get(clusterName), overrides.cluster),
    ),
    users: new Map(kubeconfig.users).set(userName, overrideUser(kubeconfig.users.get(userName), overrides.user)),
  };
}

/** Applies another server, token, CA file or namespace to a pod's own configuration. Source: client-go inClusterClientConfig. */
export function overrideInCluster(
  config: ClientConfig,
  { namespace, cluster, user }: KubeconfigOverrides,
): ClientConfig {
  const { token, tokenFile, ...others } = config;
  const caFile = cluster?.['certificate-authority'];
  const hasToken = Boolean(user?.token || user?.tokenFile);
  return {
    ...others,
    ...(hasToken ? given({ token: user?.token, tokenFile: user?.tokenFile }) : given({ token, tokenFile })),
    ...(cluster?.server ? { server: cluster.server } : {}),
    ...(caFile ? { tls: { ...config.tls, caFile } } : {}),
    ...(namespace ? { namespace: withoutPrefix(namespace) } : {}),
  };
}

function overrideContext(context: KubeconfigContext, overrides: KubeconfigOverrides): KubeconfigContext {
  const { namespace, clusterName, userName } = overrides;
  return {
    ...context,
    ...given({ cluster: clusterName, user: userName, namespace: namespace && withoutPrefix(namespace) }),
  };
}

/** Removes the prefix that `kubectl get -o name` prints before a namespace, because users paste it. */
function withoutPrefix(namespace: string): string {
  return namespace.replace(/^(?:namespaces?|ns)\/(?=.)/i, '');
}

const trust = ['certificate-authority', 'certificate-authority-data', 'insecure-skip-tls-verify'] as const;

function overrideCluster(entry: KubeconfigCluster = {}, overrides: KubeconfigCluster = {}): KubeconfigCluster {
  const kept = trust.some((member) => overrides[member]) ? without(entry, trust) : entry;
  // The name to verify belongs to the server for which it was configured.
  const ofServer = overrides.server ? without(kept, ['tls-server-name']) : kept;
  return { ...ofServer, ...given(overrides) };
}

const certificates = ['client-certificate', 'client-certificate-data'] as const;
const keys = ['client-key', 'client-key-data'] as const;

function overrideUser(entry: KubeconfigUser = {}, overrides: KubeconfigUser = {}): KubeconfigUser {
  const withoutCertificate = certificates.some((member) => overrides[member]) ? without(entry, certificates) : entry;
  const kept = keys.some((member) => overrides[member]) ? without(withoutCertificate, keys) : withoutCertificate;
  return { ...kept, ...given(overrides) };
}

function requireEntry(entries: ReadonlyMap<string, unknown>, name: string | undefined, kind: string): void {
  if (name && !entries.has(name)) throw new TypeError(`${kind} ${JSON.stringify(name)} does not exist`);
}

function without<T extends object>(entry: T, members: readonly (keyof T)[]): T {
  return Object.fromEntries(Object.entries(entry).filter(([name]) => !members.includes(name as keyof T))) as T;
}

/** Empty values override nothing, as in Go, which cannot tell them from absent ones. */
function given<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const isGiven = (value: unknown): boolean => value !== undefined && value !== '' && value !== false;
  const present = Object.entries(members).filter(([, value]) => isGiven(value));
  return Object.fromEntries(present) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
