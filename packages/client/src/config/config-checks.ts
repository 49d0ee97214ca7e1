// Checks a ClientConfig before it is used. An impersonation given as a string, for example, would be ignored, and its calls would run
// with the caller's own rights. create-transport.ts refuses contradictions.
import { inspect } from 'node:util';
import {
  type OptionCheck,
  type OptionTable,
  objectWith,
  optional,
  requireBoolean,
  requireFunction,
  requireKnownOptions,
  requireObject,
  requireOptions,
  requireString,
} from '@kapstan/api/internal';
import type { TlsConfig } from '../connection/tls-config.ts';
import type { ExecConfig } from '../credentials/exec-plugin.ts';
import type { OidcConfig } from '../credentials/oidc.ts';
import type { ClientConfig, Impersonation } from './client-config.ts';

type Members = Readonly<Record<string, unknown>>;

const tlsTable: OptionTable<TlsConfig> = {
  ca: optional(requireText),
  caFile: optional(requireText),
  cert: optional(requireText),
  certFile: optional(requireText),
  key: optional(requireText),
  keyFile: optional(requireText),
  serverName: optional(requireText),
  insecureSkipVerify: optional(requireBoolean),
};
const execTable: OptionTable<ExecConfig> = {
  apiVersion: optional(requireText),
  command: optional(requireText),
  args: optional(requireTexts),
  env: optional(requireList),
  installHint: optional(requireText),
  provideClusterInfo: optional(requireBoolean),
  interactiveMode: optional(requireText),
  // The value goes to the plug-in unchanged.
  clusterConfig: () => undefined,
};
const oidcTable: OptionTable<OidcConfig> = {
  issuerUrl: optional(requireText),
  clientId: optional(requireText),
  clientSecret: optional(requireText),
  idToken: optional(requireText),
  refreshToken: optional(requireText),
  ca: optional(requireText),
  caFile: optional(requireText),
  persist: requireFunction,
};
const impersonateTable: OptionTable<Impersonation> = {
  user: optional(requireText),
  uid: optional(requireText),
  groups: optional(requireTexts),
  extra: optional(requireExtra),
};
const configTable: OptionTable<ClientConfig> = {
  server: requireServer,
  namespace: optional(requireText),
  tls: optional(membersOf(tlsTable)),
  token: optional(requireText),
  tokenFile: optional(requireText),
  username: optional(requireText),
  password: optional(requireText),
  exec: optional(membersOf(execTable)),
  oidc: optional(membersOf(oidcTable)),
  credentials: optional(objectWith('headers')),
  impersonate: optional(membersOf(impersonateTable)),
  proxyUrl: optional(requireText),
  disableCompression: optional(requireBoolean),
};

/** Throws TypeError that names the member. Values are not shown because they may be secrets. */
export function requireConfig(config: ClientConfig): void {
  requireObject(config, 'a ClientConfig, such as { server },');
  requireOptions(config, configTable, 'a ClientConfig');
}

/** Checks an object whose members are named after it: "tls.ca". */
function membersOf<O extends object>(table: OptionTable<O>): OptionCheck {
  const checks: Readonly<Record<string, OptionCheck>> = table;
  return (value, name) => {
    requireObject(value, name);
    requireKnownOptions(value as object, checks, name);
    for (const member in checks) checks[member]?.((value as Members)[member], `${name}.${member}`);
  };
}

/** "" means localhost, as in a kubeconfig without a server and in client-go. An undefined server would become the host "undefined". */
function requireServer(server: unknown): void {
  if (server === undefined)
    throw new TypeError('a ClientConfig needs a server (config.server of connect()), such as "https://10.0.0.1:6443"');
  requireText(server, 'server');
}

/** Unlike requireString it does not show the given value, and it allows "", which counts as absent elsewhere. */
function requireText(value: unknown, what: string): void {
  if (typeof value !== 'string')
    throw new TypeError(`${what} must be a string, not one of the type ${value === null ? 'null' : typeof value}`);
}

function requireExtra(value: unknown, what: string): void {
  requireObject(value, what);
  for (const [key, values] of Object.entries(value as object)) requireTexts(values, `${what}.${key}`);
}

function requireList(value: unknown, what: string): void {
  if (!Array.isArray(value)) throw new TypeError(`${what} must be a list, not one of the type ${typeof value}`);
}

/** Throws TypeError unless given an array of strings; a plain string would be read letter by letter. */
export function requireTexts(value: unknown, what: string): void {
  if (!Array.isArray(value)) throw new TypeError(`${what} must be a list of strings, not ${inspect(value)}`);
  for (const one of value as readonly unknown[]) requireString(one, `each of ${what}`);
}
