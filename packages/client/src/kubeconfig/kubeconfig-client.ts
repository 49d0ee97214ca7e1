// From a kubeconfig's context to what a client needs, with the checks and texts of client-go's clientcmd.
import type { ClientConfig, Impersonation } from '../client-config.ts';
import { checkExecConfig, type ExecConfig } from '../credentials/exec-plugin.ts';
import { checkOidcConfig, type OidcConfig, type OidcTokens } from '../credentials/oidc.ts';
import type { TlsConfig } from '../tls-config.ts';
import { checkProxyUrl } from '../transport/proxy.ts';
import type { Kubeconfig, KubeconfigCluster, KubeconfigExec, KubeconfigUser } from './kubeconfig.ts';
import { persistTokens, type TokenPlace } from './persist-tokens.ts';

const execExtension = 'client.authentication.k8s.io/exec';

/** True when nothing at all is configured. */
export function isEmptyKubeconfig({ clusters, users, contexts, currentContext }: Kubeconfig): boolean {
  return clusters.size === 0 && users.size === 0 && contexts.size === 0 && currentContext === '';
}

/** The configuration of a context (default: the current one). Throws TypeError for one that cannot be used. */
export function clientConfigOf(kubeconfig: Kubeconfig, contextName?: string): ClientConfig {
  if (isEmptyKubeconfig(kubeconfig) && !contextName)
    throw new TypeError('invalid configuration: no configuration has been provided, try setting KUBECONFIG');
  const name = contextName || kubeconfig.currentContext;
  if (name === '') throw new TypeError('no context chosen');
  const context = kubeconfig.contexts.get(name);
  if (context === undefined)
    throw new TypeError(
      contextName
        ? `context ${JSON.stringify(name)} does not exist`
        : `context was not found for specified context: ${name}`,
    );
  const cluster = entryOf(kubeconfig.clusters, { kind: 'cluster', name: context.cluster ?? '', contextName: name });
  const user = context.user ? entryOf(kubeconfig.users, { kind: 'user', name: context.user, contextName: name }) : {};
  if (!cluster.server) throw new TypeError('cluster has no server defined');
  const userName = context.user ?? '';
  checkUser(user, userName);
  const proxyUrl = cluster['proxy-url'];
  const impersonate = impersonation(user);
  return {
    server: cluster.server,
    namespace: context.namespace || 'default',
    ...(proxyUrl ? { proxyUrl: checkProxyUrl(proxyUrl) } : {}),
    ...(impersonate === undefined ? {} : { impersonate }),
    // Credentials never go over plain HTTP. Source: spec/client.md §8.7.
    ...(/^http:/i.test(cluster.server)
      ? {}
      : { ...secrets(cluster, user), ...oidc(user, tokenPlace(kubeconfig, userName)) }),
  };
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

function checkUser(user: KubeconfigUser, name: string): void {
  const provider = user['auth-provider'];
  if (provider !== undefined && provider.name !== 'oidc')
    throw new TypeError(
      `user ${JSON.stringify(name)} uses the auth provider ${JSON.stringify(provider.name)}, which is not supported, use an exec plugin`,
    );
  if (provider !== undefined && user.exec !== undefined)
    throw new TypeError(`authProvider cannot be provided in combination with an exec plugin for ${name}`);
  if (provider !== undefined) checkOidcConfig(oidcConfig(user));
  const methods = [
    ...(user.token || user.tokenFile ? ['token'] : []),
    ...(user.username || user.password ? ['basicAuth'] : []),
  ];
  if (methods.length > 1)
    throw new TypeError(
      `more than one authentication method found for ${name}; found [${methods.join(' ')}], only one is allowed`,
    );
  if (user.exec !== undefined) checkExecConfig(execConfig(user.exec));
}

function secrets(cluster: KubeconfigCluster, user: KubeconfigUser): Partial<ClientConfig> {
  const { token, tokenFile, username, password, exec } = user;
  const extension = cluster.extensions?.find((entry) => entry.name === execExtension)?.extension;
  // A plugin is not asked where another method is configured. Source: spec/client.md §8.3.
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
  const { apiVersion = '', command = '', args, env, ...rest } = exec;
  return { ...rest, apiVersion, command, args: args ?? [], env: env ?? [] };
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

// As a plugin, the provider is not asked where another method is configured.
function oidc(user: KubeconfigUser, place: TokenPlace | undefined): Partial<ClientConfig> {
  const { token, tokenFile, username } = user;
  if (user['auth-provider'] === undefined || token || tokenFile || username) return {};
  const persist = place === undefined ? {} : { persist: (tokens: OidcTokens) => persistTokens(place, tokens) };
  return { oidc: { ...oidcConfig(user), ...persist } };
}

function oidcConfig(user: KubeconfigUser): OidcConfig {
  const config = user['auth-provider']?.config ?? {};
  const ca = config['idp-certificate-authority-data'];
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
