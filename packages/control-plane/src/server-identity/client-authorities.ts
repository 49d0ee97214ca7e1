// The config map extension-apiserver-authentication holds the authorities that sign client certificates, for other API servers and
// controllers to trust. Used by server-identity.ts. Source: pkg/controlplane/controller/clusterauthenticationtrust.
import { X509Certificate } from 'node:crypto';
import { type Clock, deepCopy, isAlreadyExists, isNotFound, parseTime, type ResourceClient } from '@kapstan/api';
import { ConfigMap } from '@kapstan/kinds/core/v1';

const target = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };
const entry = 'client-ca-file';

/** Adds our authorities to those that other servers have stored, and drops expired ones. Rejects on a conflict; the caller retries. */
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
