// Turns a kubeconfig's context into a ClientConfig, with the checks and texts of client-go's clientcmd.
import type { ClientConfig, Impersonation } from '../config/client-config.ts';
import type { TlsConfig } from '../connection/tls-config.ts';
import { checkExecConfig, type ExecConfig } from '../credentials/exec-plugin.ts';
import { checkOidcConfig, type OidcConfig } from '../credentials/oidc.ts';
import {
  type Kubeconfig,
  type KubeconfigCluster,
  type KubeconfigContext,
  type KubeconfigExec,
  type KubeconfigUser,
  requireBase64,
} from './kubeconfig.ts';
import { checkUsable, clusterFaults, contextFaults, userFaults } from './kubeconfig-faults.ts';
import { type TokenPlace, tokenWriter } from './persist-tokens.ts';

const execExtension = 'client.authentication.k8s.io/exec';

/** Returns true when the kubeconfig configures nothing at all. */
export function isEmptyKubeconfig({ clusters, users, contexts, currentContext }: Kubeconfig): boolean {
  return clusters.size === 0 && users.size === 0 && contexts.size === 0 && currentContext === '';
}

/**
 * Returns the configuration of a context (default: the current one). Throws TypeError for one that cannot be used.
 *
 * @example
 * ```ts
 * import { Client, clientConfigOf, loadKubeconfig } from '@kapstan/client';
 *
 * // A client of each context.
 * const kubeconfig = await loadKubeconfig();
 * const clients = [...kubeconfig.contexts.keys()].map((name) => new Client(clientConfigOf(kubeconfig, name)));
 * for (const client of clients) await client.close();
 * ```
 */
export function clientConfigOf(kubeconfig: Kubeconfig, contextName?: string): ClientConfig {
  const [name, context] = contextOf(kubeconfig, contextName);
  checkUsable(contextFaults(context, name));
  const { cluster: clusterName = '', user: userName = '' } = context;
  const cluster = entryOf(kubeconfig.clusters, { kind: 'cluster', name: clusterName, contextName: name });
  const user = userName ? entryOf(kubeconfig.users, { kind: 'user', name: userName, contextName: name }) : {};
  checkUsable([...userFaults(user, userName), ...clusterFaults(cluster, clusterName)]);
  if (user.exec !== undefined) checkExecConfig(execConfig(user.exec));
  if (user['auth-provider'] !== undefined) checkOidcConfig(oidcConfig(user));
  const { server = '', 'proxy-url': proxyUrl } = cluster;
  const impersonate = impersonation(user);
  return {
    server,
    namespace: context.namespace || 'default',
    ...(proxyUrl ? { proxyUrl } : {}),
    ...(cluster['disable-compression'] ? { disableCompression: true } : {}),
    impersonate,
    // Credentials never go over plain HTTP. Source: client-go tools/clientcmd/client_config.go (ClientConfig).
    ...(/^http:/i.test(server) ? {} : { ...secrets(cluster, user), ...oidc(user, tokenPlace(kubeconfig, userName)) }),
  };
}

function contextOf(kubeconfig: Kubeconfig, contextName: string | undefined): [string, KubeconfigContext] {
  if (isEmptyKubeconfig(kubeconfig) && !contextName)
    throw new TypeError(`invalid configuration: no configuration has been provided${whereSearched(kubeconfig)}`);
  const name = contextName || kubeconfig.currentContext;
  if (name === '') throw new TypeError('no context chosen');
  const context = kubeconfig.contexts.get(name);
  if (context !== undefined) return [name, context];
  const quoted = JSON.stringify(name);
  throw new TypeError(
    contextName ? `context ${quoted} does not exist` : `context was not found for specified context: ${name}`,
  );
}

function whereSearched({ files = [], missing = [], isListed = false }: Kubeconfig): string {
  const quoted = (names: readonly string[]): string => names.map((file) => JSON.stringify(file)).join(', ');
  if (files.length > 0) return ` in ${quoted(files)}`;
  if (missing.length === 0) return ', try setting KUBECONFIG';
  const what = missing.length === 1 ? `the file ${quoted(missing)} does` : `the files ${quoted(missing)} do`;
  return isListed ? `: ${what} not exist, which KUBECONFIG names` : `: ${what} not exist, try setting KUBECONFIG`;
}

interface EntryQuery {
  readonly kind: 'cluster' | 'user';
  readonly name: string;
  readonly contextName: string;
}

function entryOf<T>(entries: ReadonlyMap<string, T>, { kind, name, contextName }: EntryQuery): T {
  const entry = entries.get(name);
  if (entry !== undefined) return entry;
  throw new TypeError(`${kind} ${JSON.stringify(name)} was not found for context ${JSON.stringify(contextName)}`);
}

function secrets(cluster: KubeconfigCluster, user: KubeconfigUser): Partial<ClientConfig> {
  const { token, tokenFile, username, password, exec } = user;
  const extension = cluster.extensions?.find((entry) => entry.name === execExtension)?.extension;
  // The plugin is ignored where another method is configured. Source: client-go tools/clientcmd/client_config.go.
  const needsExec = exec !== undefined && !token && !tokenFile && !username;
  return {
    tls: tlsConfig(cluster, user),
    ...(token ? { token } : {}),
    ...(tokenFile ? { tokenFile } : {}),
    ...(username ? { username, password: password ?? '' } : {}),
    ...(needsExec ? { exec: { ...execConfig(exec), clusterConfig: extension } } : {}),
  };
}

function tlsConfig(cluster: KubeconfigCluster, user: KubeconfigUser): TlsConfig {
  return {
    ...pem('ca', cluster['certificate-authority-data'], cluster['certificate-authority']),
    ...pem('cert', user['client-certificate-data'], user['client-certificate']),
    ...pem('key', user['client-key-data'], user['client-key']),
    ...(cluster['tls-server-name'] ? { serverName: cluster['tls-server-name'] } : {}),
    ...(cluster['insecure-skip-tls-verify'] ? { insecureSkipVerify: true } : {}),
  };
}

function pem(field: 'ca' | 'cert' | 'key', data: string | undefined, file: string | undefined): TlsConfig {
  if (data) return { [field]: Buffer.from(data, 'base64').toString('utf8') };
  return file ? { [`${field}File`]: file } : {};
}

function execConfig(exec: KubeconfigExec): ExecConfig {
  const { apiVersion = '', command = '', args, env, installHint, interactiveMode, provideClusterInfo } = exec;
  // Members are copied by name, so that members of a newer kubeconfig are ignored, as in client-go.
  return {
    ...{ apiVersion, command, args: args ?? [], env: env ?? [] },
    installHint,
    interactiveMode,
    provideClusterInfo,
  };
}

function impersonation(user: KubeconfigUser): Impersonation | undefined {
  const { as, 'as-uid': uid, 'as-groups': groups, 'as-user-extra': extra } = user;
  if (!as && !uid && !groups && !extra) return undefined;
  return {
    ...(as ? { user: as } : {}),
    ...(uid ? { uid } : {}),
    ...(groups ? { groups } : {}),
    ...(extra ? { extra } : {}),
  };
}

function tokenPlace({ userFiles }: Kubeconfig, user: string): TokenPlace | undefined {
  const file = userFiles?.get(user);
  return file === undefined ? undefined : { file, user };
}

// Like a plugin, the provider is ignored if another method is configured.
function oidc(user: KubeconfigUser, place: TokenPlace | undefined): Partial<ClientConfig> {
  const { token, tokenFile, username } = user;
  if (user['auth-provider'] === undefined || token || tokenFile || username) return {};
  const persist = place === undefined ? {} : { persist: tokenWriter(place) };
  return { oidc: { ...oidcConfig(user), ...persist } };
}

function oidcConfig(user: KubeconfigUser): OidcConfig {
  const config = user['auth-provider']?.config ?? {};
  const ca = config['idp-certificate-authority-data'];
  if (ca) requireBase64(ca, 'idp-certificate-authority-data');
  const optional = {
    clientSecret: config['client-secret'],
    idToken: config['id-token'],
    refreshToken: config['refresh-token'],
    ca: ca ? Buffer.from(ca, 'base64').toString('utf8') : undefined,
    caFile: config['idp-certificate-authority'],
  };
  return {
    issuerUrl: config['idp-issuer-url'] ?? '',
    clientId: config['client-id'] ?? '',
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value)),
  };
}
