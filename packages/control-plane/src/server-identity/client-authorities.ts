// The config map extension-apiserver-authentication: whom servers of other API groups, and controllers, may trust to have signed
// client certificates. For server-identity.ts. Source: pkg/controlplane/controller/clusterauthenticationtrust.
import { X509Certificate } from 'node:crypto';
import { type Clock, deepCopy, isAlreadyExists, isNotFound, parseTime, type ResourceClient } from '@kapstan/api';
import { ConfigMap } from '@kapstan/kinds/core/v1';

const target = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };
const entry = 'client-ca-file';

/** Adds our own to those of other servers that are there; what has run out goes. Rejects on a conflict, to be tried again. */
export async function keepClientAuthorities(
  client: ResourceClient,
  own: readonly string[],
  clock: Clock,
): Promise<void> {
  const present = await client.get(ConfigMap, target).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return undefined;
  });
  const text = combined([present?.data?.[entry] ?? '', ...own], clock.now());
  if (present === undefined) {
    const created = { apiVersion: 'v1', kind: 'ConfigMap', metadata: target, data: { [entry]: text } } as const;
    await client.create(ConfigMap, created).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
    return;
  }
  if (present.data?.[entry] === text) return;
  const next = deepCopy(present) as ConfigMap;
  next.data = { ...next.data, [entry]: text };
  await client.update(ConfigMap, next);
}

const begin = '-----BEGIN CERTIFICATE-----';
const end = '-----END CERTIFICATE-----';

/** Each certificate once, in the order of their first appearance. What cannot be read, and others may have written, is left out. */
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
