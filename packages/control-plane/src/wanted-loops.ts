// Decides which control loops a control plane runs, and whether it must be elected first. Used by control-plane.ts; the loops are in
// control-loops/.
import { selectControlLoops } from './control-loops/control-loop-names.ts';
import { ControlLoops, type RunningLoops } from './control-loops/control-loops.ts';
import { ElectedLoops } from './control-loops/elected-loops.ts';
import { StartError } from './lifetime/start-error.ts';
import type { ControlPlaneOptions } from './options/control-plane-options.ts';
import type { ServerParts } from './serving.ts';

/**
 * Time for which content may still arrive in a namespace after its deletion, in milliseconds. All writers of an embedded store are in this
 * process, so only requests admitted earlier can be late. On etcd, other servers admit by their own watch caches, which may not have seen
 * the deletion yet; the time is Kubernetes'. Source: namespaceDeletionGracePeriod.
 */
const namespaceGraceMs = { ownStore: 500, sharedStore: 5000 };

/**
 * Creates the loops that the options name, which run at once on a single server, otherwise when it is elected. Throws TypeError and
 * StartError.
 */
export function wantedLoops(
  { controlLoops: list = [], collectsGarbage = true, etcd, leaderElection }: ControlPlaneOptions,
  parts: Pick<ServerParts, 'resources' | 'clock' | 'logger'> & { readonly caCert: string | undefined },
): RunningLoops {
  const { resources, ...ports } = parts;
  const { client, catalog, access, quotas } = resources;
  const secretTokens = access.serviceAccountTokens;
  const names = selectControlLoops(list, { collectsGarbage });
  const graceMs = etcd === undefined ? namespaceGraceMs.ownStore : namespaceGraceMs.sharedStore;
  const loops = { names, client, catalog, secretTokens, quotas, namespaceGraceMs: graceMs, ...ports };
  const isAlone = etcd === undefined || leaderElection === 'off' || names.length === 0;
  if (isAlone) return new ControlLoops(loops);
  try {
    return new ElectedLoops({ ...loops, times: leaderElection });
  } catch (error) {
    throw new StartError('leaderElection', { cause: error });
  }
}
