// Lists everything that makes a context's user and cluster unusable, in client-go's words (clientcmd validation.go). The files
// they name are read later, where they are needed.
import { dnsLabelErrors } from '@kapstan/api/errors';
import { checkProxyUrl } from '../connection/proxy.ts';
import type { KubeconfigCluster, KubeconfigContext, KubeconfigUser } from './kubeconfig.ts';

/** Throws TypeError "invalid configuration: …" when there are faults. */
export function checkUsable(faults: readonly string[]): void {
  if (faults.length === 0) return;
  throw new TypeError(`invalid configuration: ${faults.length === 1 ? faults[0] : `[${faults.join(', ')}]`}`);
}

/** A context needs a cluster; a user is optional. */
export function contextFaults({ cluster, namespace }: KubeconfigContext, name: string): string[] {
  const isBadNamespace = namespace !== undefined && namespace !== '' && dnsLabelErrors(namespace).length > 0;
  return [
    ...(cluster ? [] : [`cluster was not specified for context ${JSON.stringify(name)}`]),
    ...(isBadNamespace
      ? [
          `namespace ${JSON.stringify(namespace)} for context ${JSON.stringify(name)} does not conform to the kubernetes DNS_LABEL rules`,
        ]
      : []),
  ];
}

export function clusterFaults(cluster: KubeconfigCluster, name: string): string[] {
  if (Object.keys(cluster).length === 0) return ['cluster has no server defined'];
  const { server, 'proxy-url': proxyUrl } = cluster;
  return [
    ...(server
      ? []
      : [
          name === '' ? 'default cluster has no server defined' : `no server found for cluster ${JSON.stringify(name)}`,
        ]),
    ...(proxyUrl ? proxyFaults(proxyUrl, name) : []),
    ...(cluster['certificate-authority'] && cluster['certificate-authority-data']
      ? [
          `certificate-authority-data and certificate-authority are both specified for ${name}. certificate-authority-data will override.`,
        ]
      : []),
  ];
}

export function userFaults(user: KubeconfigUser, name: string): string[] {
  return [
    ...certificateFaults(user, name),
    ...providerFaults(user, name),
    ...methodFaults(user, name),
    ...actingFaults(user, name),
  ];
}

function proxyFaults(proxyUrl: string, name: string): string[] {
  try {
    checkProxyUrl(proxyUrl);
    return [];
  } catch (error) {
    return [`invalid 'proxy-url' for cluster ${JSON.stringify(name)}: ${(error as Error).message}`];
  }
}

function certificateFaults(user: KubeconfigUser, name: string): string[] {
  const { 'client-certificate': cert, 'client-certificate-data': certData } = user;
  const { 'client-key': key, 'client-key-data': keyData } = user;
  if (!cert && !certData) return [];
  return [
    ...(cert && certData
      ? [`client-cert-data and client-cert are both specified for ${name}. client-cert-data will override.`]
      : []),
    ...(key && keyData
      ? [`client-key-data and client-key are both specified for ${name}; client-key-data will override`]
      : []),
    ...(key || keyData
      ? []
      : [`client-key-data or client-key must be specified for ${name} to use the clientCert authentication method.`]),
  ];
}

function providerFaults({ exec, 'auth-provider': provider }: KubeconfigUser, name: string): string[] {
  if (provider === undefined) return [];
  const isKnown = provider.name === 'oidc';
  return [
    ...(isKnown
      ? []
      : [
          `user ${JSON.stringify(name)} uses the auth provider ${JSON.stringify(provider.name)}, which is not supported, use an exec plugin`,
        ]),
    ...(exec === undefined ? [] : [`authProvider cannot be provided in combination with an exec plugin for ${name}`]),
  ];
}

function methodFaults({ token, tokenFile, username, password }: KubeconfigUser, name: string): string[] {
  const methods = [...(token || tokenFile ? ['token'] : []), ...(username || password ? ['basicAuth'] : [])];
  if (methods.length < 2) return [];
  return [`more than one authentication method found for ${name}; found [${methods.join(' ')}], only one is allowed`];
}

function actingFaults(user: KubeconfigUser, name: string): string[] {
  const { as, 'as-uid': uid, 'as-groups': groups = [], 'as-user-extra': extra = {} } = user;
  if (as || (!uid && groups.length === 0 && Object.keys(extra).length === 0)) return [];
  return [`requesting uid, groups or user-extra for ${name} without impersonating a user`];
}
