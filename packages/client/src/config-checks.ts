// Checks a ClientConfig before it is used. An impersonation given as a string, for example, would be ignored, and its calls would run
// with the caller's own rights. create-transport.ts refuses contradictions.
import { inspect } from 'node:util';
import {
  type OptionNames,
  requireFunctions,
  requireKnownOptions,
  requireObject,
  requireString,
} from '@kapstan/api/internal';
import type { ClientConfig, Impersonation } from './client-config.ts';
import type { ExecConfig } from './credentials/exec-plugin.ts';
import type { OidcConfig } from './credentials/oidc.ts';
import type { TlsConfig } from './tls-config.ts';

type Members = Readonly<Record<string, unknown>>;

const configMembers: OptionNames<ClientConfig> = {
  server: true,
  namespace: true,
  tls: true,
  token: true,
  tokenFile: true,
  username: true,
  password: true,
  exec: true,
  oidc: true,
  credentials: true,
  impersonate: true,
  proxyUrl: true,
};
const tlsMembers: OptionNames<TlsConfig> = {
  ca: true,
  caFile: true,
  cert: true,
  certFile: true,
  key: true,
  keyFile: true,
  serverName: true,
  insecureSkipVerify: true,
};
const execMembers: OptionNames<ExecConfig> = {
  apiVersion: true,
  command: true,
  args: true,
  env: true,
  installHint: true,
  provideClusterInfo: true,
  interactiveMode: true,
  clusterConfig: true,
};
const oidcMembers: OptionNames<OidcConfig> = {
  issuerUrl: true,
  clientId: true,
  clientSecret: true,
  idToken: true,
  refreshToken: true,
  ca: true,
  caFile: true,
  persist: true,
};
const impersonateMembers: OptionNames<Impersonation> = { user: true, uid: true, groups: true, extra: true };

/** Throws TypeError that names the member. Values are not shown because they may be secrets. */
export function requireConfig(config: ClientConfig): void {
  requireObject(config, 'a ClientConfig, such as { server },');
  const { tls, impersonate, exec, oidc, credentials } = config;
  requireStrings(config, ['server', 'namespace', 'token', 'tokenFile', 'username', 'password', 'proxyUrl']);
  for (const [name, value] of Object.entries({ tls, impersonate, exec, oidc }))
    if (value !== undefined) requireObject(value, name);
  requireKnownOptions(config, configMembers, 'a ClientConfig');
  requireServer(config.server);
  requireKnownOptions(tls ?? {}, tlsMembers, 'tls');
  requireKnownOptions(exec ?? {}, execMembers, 'exec');
  requireKnownOptions(oidc ?? {}, oidcMembers, 'oidc');
  requireKnownOptions(impersonate ?? {}, impersonateMembers, 'impersonate');
  if (credentials !== undefined) requireFunctions(credentials, 'credentials', ['headers']);
  requireStrings(tls, ['ca', 'caFile', 'cert', 'certFile', 'key', 'keyFile', 'serverName'], 'tls.');
  const { insecureSkipVerify = false } = tls ?? {};
  if (typeof insecureSkipVerify !== 'boolean')
    throw new TypeError(`tls.insecureSkipVerify must be true or false, not ${inspect(insecureSkipVerify)}`);
  requireStrings(exec, ['command', 'apiVersion', 'interactiveMode', 'installHint'], 'exec.');
  requireTexts(exec?.args ?? [], 'exec.args');
  requireStrings(oidc, ['issuerUrl', 'clientId', 'clientSecret', 'idToken', 'refreshToken', 'ca', 'caFile'], 'oidc.');
  requireStrings(impersonate, ['user', 'uid'], 'impersonate.');
  requireTexts(impersonate?.groups ?? [], 'impersonate.groups');
  requireObject(impersonate?.extra ?? {}, 'impersonate.extra');
  for (const [key, values] of Object.entries(impersonate?.extra ?? {}))
    requireTexts(values, `impersonate.extra.${key}`);
}

/** "" means localhost, as in a kubeconfig without a server and in client-go. An undefined server would become the host "undefined". */
function requireServer(server: string | undefined): void {
  if (server === undefined)
    throw new TypeError('a ClientConfig needs a server (config.server of connect()), such as "https://10.0.0.1:6443"');
}

/** Checks those members that are present; "" counts as absent elsewhere. */
function requireStrings(of: object | undefined, names: readonly string[], prefix = ''): void {
  for (const name of names) {
    const value = (of as Members | undefined)?.[name];
    if (value === undefined || typeof value === 'string') continue;
    throw new TypeError(
      `${prefix}${name} must be a string, not one of the type ${value === null ? 'null' : typeof value}`,
    );
  }
}

/** Throws TypeError unless given an array of strings; a plain string would be read letter by letter. */
export function requireTexts(value: unknown, what: string): void {
  if (!Array.isArray(value)) throw new TypeError(`${what} must be a list of strings, not ${inspect(value)}`);
  for (const one of value as readonly unknown[]) requireString(one, `each of ${what}`);
}
