// Access to an API server that joins a main one: the main server provides the trusted authorities, and decides about
// tokens and permissions. Source: apiserver options (DelegatingAuthenticationOptions, DelegatingAuthorizationOptions).
import {
  type AuthenticationOptions,
  type Authorizer,
  certificateAuthenticator,
  mastersAuthorizer,
  type RequestHeaderOptions,
  unionAuthorizer,
} from '@kapstan/apiserver';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { type DelegationOptions, delegatedAuthenticator } from '../authentication/delegated-authenticator.ts';
import { delegatedAuthorizer } from './delegated-authorizer.ts';

/** Options for `startApiServer`. */
export interface DelegatedAccess {
  readonly authentication: AuthenticationOptions;
  readonly authorizer: Authorizer;
  /** Authorities that sign client certificates, in PEM, for the TLS options. Undefined = the main server has none. */
  readonly clientCa: string | undefined;
}

const published = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };
const alwaysAllowedPaths: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz']);

/** Probes carry no credentials. */
const healthAuthorizer: Authorizer = {
  authorize: (attributes) => {
    const isHealth = attributes.type === 'path' && alwaysAllowedPaths.has(attributes.path);
    return { decision: isHealth ? 'allow' : 'noOpinion', reason: '' };
  },
};

/**
 * Reads the authorities and front proxies that the main server trusts, which are accepted from then on; later changes
 * take effect after the next call. Rejects when the main server cannot be asked, and with TypeError for malformed data.
 */
export async function delegatedAccess(options: DelegationOptions): Promise<DelegatedAccess> {
  const { data = {} } = await options.client.get(ConfigMap, published);
  const clientCa = data['client-ca-file'] || undefined;
  return {
    authentication: {
      requestHeader: requestHeaderOf(data),
      authenticators: [certificateAuthenticator, delegatedAuthenticator(options)],
      anonymous: true,
    },
    authorizer: unionAuthorizer([mastersAuthorizer, healthAuthorizer, delegatedAuthorizer(options)]),
    clientCa,
  };
}

type Data = Readonly<Record<string, string | undefined>>;

function requestHeaderOf(data: Data): RequestHeaderOptions | undefined {
  const clientCa = data['requestheader-client-ca-file'] ?? '';
  if (clientCa === '') return undefined;
  return {
    clientCa,
    allowedNames: listOf(data, 'requestheader-allowed-names'),
    usernameHeaders: listOf(data, 'requestheader-username-headers'),
    uidHeaders: listOf(data, 'requestheader-uid-headers'),
    groupHeaders: listOf(data, 'requestheader-group-headers'),
    extraHeaderPrefixes: listOf(data, 'requestheader-extra-headers-prefix'),
  };
}

function listOf(data: Data, name: string): readonly string[] {
  const list: unknown = JSON.parse(data[name] || '[]');
  if (Array.isArray(list) && list.every((entry) => typeof entry === 'string')) return list;
  throw new TypeError(`${name} in ${published.namespace}/${published.name} is not a list of strings`);
}
