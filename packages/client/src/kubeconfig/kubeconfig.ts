// The kubeconfig file: its entries as named maps, and a parser for the text of one file. Merged by load-kubeconfig.ts.
import { isJsonObject } from '@kapstan/api/internal';
import { parse } from './yaml.ts';

/** One `cluster` entry, with the member names of the file. */
export interface KubeconfigCluster {
  readonly server?: string;
  readonly 'tls-server-name'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'certificate-authority'?: string;
  readonly 'certificate-authority-data'?: string;
  readonly 'proxy-url'?: string;
  readonly 'disable-compression'?: boolean;
  readonly extensions?: readonly { readonly name: string; readonly extension: unknown }[];
}

/** A program of a kubeconfig that prints credentials. */
export interface KubeconfigExec {
  readonly apiVersion?: string;
  readonly command?: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly installHint?: string;
  readonly provideClusterInfo?: boolean;
  readonly interactiveMode?: string;
}

/** One `user` entry. */
export interface KubeconfigUser {
  readonly 'client-certificate'?: string;
  readonly 'client-certificate-data'?: string;
  readonly 'client-key'?: string;
  readonly 'client-key-data'?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly as?: string;
  readonly 'as-uid'?: string;
  readonly 'as-groups'?: readonly string[];
  readonly 'as-user-extra'?: Readonly<Record<string, readonly string[]>>;
  readonly 'auth-provider'?: { readonly name?: string; readonly config?: Readonly<Record<string, string>> | null };
  readonly exec?: KubeconfigExec;
}

/** One `context` entry. */
export interface KubeconfigContext {
  readonly cluster?: string;
  readonly user?: string;
  readonly namespace?: string;
}

/** A kubeconfig: clusters, users, contexts. */
export interface Kubeconfig {
  /** "" when no file sets one. */
  readonly currentContext: string;
  readonly clusters: ReadonlyMap<string, KubeconfigCluster>;
  readonly users: ReadonlyMap<string, KubeconfigUser>;
  readonly contexts: ReadonlyMap<string, KubeconfigContext>;
  /** The file of each user entry; refreshed tokens are written there. Absent for a parsed text, whose refreshed tokens are not kept. */
  readonly userFiles?: ReadonlyMap<string, string>;
  /** The files that were read, for error texts. Absent for a parsed text. */
  readonly files?: readonly string[];
  /** The files that were searched, when none exists. */
  readonly missing?: readonly string[];
  /** True when KUBECONFIG lists the missing files. */
  readonly isListed?: boolean;
}

/** Parses YAML or JSON. Throws TypeError when the text is not a kubeconfig, and for a duplicate name. */
export function parseKubeconfig(text: string): Kubeconfig {
  const document: unknown = parse(text) ?? {};
  if (!isJsonObject(document)) throw new TypeError('a kubeconfig must be a mapping');
  const { kind = 'Config', apiVersion = 'v1' } = document;
  if (kind !== 'Config' || apiVersion !== 'v1')
    throw new TypeError(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`);
  const currentContext = document['current-context'];
  return {
    currentContext: typeof currentContext === 'string' ? currentContext : '',
    clusters: namedEntries<KubeconfigCluster>(document.clusters, 'cluster'),
    users: namedEntries<KubeconfigUser>(document.users, 'user'),
    contexts: namedEntries<KubeconfigContext>(document.contexts, 'context'),
  };
}

const dataFields = ['certificate-authority-data', 'client-certificate-data', 'client-key-data'] as const;

/** Throws TypeError unless the value is padded base64 of the standard alphabet; line breaks are ignored. Source: Go encoding/base64. */
export function requireBase64(value: unknown, what: string): void {
  const isBase64 =
    typeof value === 'string' &&
    /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value.replace(/[\r\n]/g, ''));
  if (!isBase64) throw new TypeError(`${what}: illegal base64 data`);
}

function checkData(entry: Readonly<Record<string, unknown>>, what: string): void {
  for (const field of dataFields)
    if (entry[field] !== undefined && entry[field] !== null) requireBase64(entry[field], `${what}: ${field}`);
}

function namedEntries<T>(list: unknown, field: string): Map<string, T> {
  const entries = new Map<string, T>();
  if (list === undefined || list === null) return entries;
  if (!Array.isArray(list)) throw new TypeError(`${field}s must be a list`);
  for (const item of list as unknown[]) {
    if (!isJsonObject(item)) throw new TypeError(`an entry of ${field}s is not a mapping`);
    const name = typeof item.name === 'string' ? item.name : '';
    if (entries.has(name))
      throw new TypeError(`error converting ${field}s: duplicate name ${JSON.stringify(name)} in list`);
    const entry = isJsonObject(item[field]) ? item[field] : {};
    checkData(entry, `${field} ${JSON.stringify(name)}`);
    entries.set(name, entry as T);
  }
  return entries;
}
