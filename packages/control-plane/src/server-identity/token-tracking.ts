// Keeps the config map with the date since which uses of service account tokens in Secrets are recorded; kube-controller-manager removes no
// such token that was used earlier. Used by server-identity.ts. Source: pkg/controlplane/controller/legacytokentracking.
import {
  type Clock,
  deepCopy,
  formatTime,
  isAlreadyExists,
  isNotFound,
  parseTime,
  type ResourceClient,
} from '@kapstan/api';
import { ConfigMap } from '@kapstan/kinds/core/v1';

const target = { namespace: 'kube-system', name: 'kube-apiserver-legacy-service-account-token-tracking' };
const date = /^\d{4}-\d{2}-\d{2}$/;

/** Creates the config map when it is missing. A valid date is kept; anything else is replaced by today's. */
export async function keepTokenTracking(client: ResourceClient, clock: Clock): Promise<void> {
  const since = formatTime(clock.now()).slice(0, 'yyyy-mm-dd'.length);
  const present = await client.get(ConfigMap, target).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return undefined;
  });
  if (present === undefined) {
    const created = { apiVersion: 'v1', kind: 'ConfigMap', metadata: target, data: { since } } as const;
    await client.create(ConfigMap, created).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
    return;
  }
  const { since: kept = '' } = present.data ?? {};
  if (date.test(kept) && !Number.isNaN(parseTime(kept))) return;
  const next = deepCopy(present) as ConfigMap;
  next.data = { ...next.data, since };
  await client.update(ConfigMap, next);
}
