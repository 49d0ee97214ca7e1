// The config map extension-apiserver-authentication names the authorities that sign client certificates, and the front proxies that may
// name users in headers. Other API servers and controllers read it. Used by server-identity.ts. Source:
// pkg/controlplane/controller/clusterauthenticationtrust.
import { X509Certificate } from 'node:crypto';
import { type Clock, deepCopy, isAlreadyExists, isNotFound, parseTime, type ResourceClient } from '@kapstan/api';
import type { RequestHeaderOptions } from '@kapstan/apiserver';
import { ConfigMap } from '@kapstan/kinds/core/v1';

const target = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };

export interface TrustedClients {
  /** Authorities (PEM) that client certificates are verified against; each text holds one certificate or several. */
  readonly clientAuthorities: readonly string[];
  readonly frontProxies: RequestHeaderOptions | undefined;
}

/**
 * Adds the authorities that this server trusts to those that other servers have stored, and drops expired certificates. Rejects on a
 * conflict; the caller retries.
 */
export async function keepClientAuthorities(client: ResourceClient, own: TrustedClients, clock: Clock): Promise<void> {
  const present = await client.get(ConfigMap, target).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return undefined;
  });
  const data = combinedData(present?.data ?? {}, own, clock.now());
  if (present === undefined) {
    const created = { apiVersion: 'v1', kind: 'ConfigMap', metadata: target, data } as const;
    await client.create(ConfigMap, created).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
    return;
  }
  if (Object.entries(data).every(([name, text]) => present.data?.[name] === text)) return;
  const next = deepCopy(present) as ConfigMap;
  next.data = { ...next.data, ...data };
  await client.update(ConfigMap, next);
}

type Data = Readonly<Record<string, string>>;

function combinedData(present: Data, { clientAuthorities, frontProxies }: TrustedClients, nowMs: number): Data {
  const certificates = (name: string, own: readonly string[]): string => combined([present[name] ?? '', ...own], nowMs);
  const clients = { 'client-ca-file': certificates('client-ca-file', clientAuthorities) };
  if (frontProxies === undefined) return clients;
  const ca = certificates('requestheader-client-ca-file', [frontProxies.clientCa].flat().map(String));
  const list = (name: string, own: readonly string[]): string => combinedList(present[name], own);
  const { allowedNames = [], usernameHeaders = ['X-Remote-User'], uidHeaders = ['X-Remote-Uid'] } = frontProxies;
  const { groupHeaders = ['X-Remote-Group'], extraHeaderPrefixes = ['X-Remote-Extra-'] } = frontProxies;
  return {
    ...clients,
    'requestheader-client-ca-file': ca,
    'requestheader-allowed-names': list('requestheader-allowed-names', allowedNames),
    'requestheader-username-headers': list('requestheader-username-headers', usernameHeaders),
    'requestheader-uid-headers': list('requestheader-uid-headers', uidHeaders),
    'requestheader-group-headers': list('requestheader-group-headers', groupHeaders),
    'requestheader-extra-headers-prefix': list('requestheader-extra-headers-prefix', extraHeaderPrefixes),
  };
}

/** Returns each entry once, as JSON. Text that is not a list of strings, which others may have written, is left out. */
function combinedList(present: string | undefined, own: readonly string[]): string {
  return JSON.stringify([...new Set([...readList(present), ...own])]);
}

function readList(text: string = '[]'): readonly string[] {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list.filter((entry) => typeof entry === 'string') : [];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

const begin = '-----BEGIN CERTIFICATE-----';
const end = '-----END CERTIFICATE-----';

/** Returns each certificate once, in order of first appearance. Leaves out unreadable ones, which others may have written. */
function combined(bundles: readonly string[], nowMs: number): string {
  const all = new Map<string, string>();
  for (const block of bundles.join('\n').split(begin).slice(1)) {
    const length = block.indexOf(end);
    const pem = `${begin}${block.slice(0, length)}${end}`;
    const parsed = length < 0 ? undefined : parse(pem);
    if (parsed === undefined || parseTime(parsed.validTo) < nowMs) continue;
    if (!all.has(parsed.fingerprint256)) all.set(parsed.fingerprint256, `${pem}\n`);
  }
  return [...all.values()].join('');
}

function parse(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}
