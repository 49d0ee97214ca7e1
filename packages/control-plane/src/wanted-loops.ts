// Which control loops a control plane runs, and whether it has to be elected for it. Used by control-plane.ts; the loops are in
// control-loops/.
import { selectControlLoops } from './control-loops/control-loop-names.ts';
import { ControlLoops, type RunningLoops } from './control-loops/control-loops.ts';
import { ElectedLoops } from './control-loops/elected-loops.ts';
import type { ControlPlaneOptions } from './control-plane-options.ts';
import type { ServerParts } from './serving.ts';
import { StartError } from './start-error.ts';

/**
 * How long after the deletion of a namespace its content may still arrive. On a store of our own all that writes is in this
 * process: late is only a request that was admitted before and is under way. On an etcd others write too, each admitting by
 * its own watch cache, which may not have heard of the deletion: what Kubernetes waits. Source: namespaceDeletionGracePeriod.
 */
const namespaceGraceMs = { ownStore: 500, sharedStore: 5000 };

/** The loops that the options name: at once where this server is alone, else when it is elected. Throws TypeError and StartError. */
export function wantedLoops(
  { controlLoops: list = [], collectsGarbage = true, etcd, leaderElection }: ControlPlaneOptions,
  parts: Pick<ServerParts, 'resources' | 'clock' | 'logger'> & { readonly caCert: string | undefined },
): RunningLoops {
  const { resources, ...ports } = parts;
  const { client, catalog, access } = resources;
  const secretTokens = access.serviceAccountTokens;
  const names = selectControlLoops(list, { collectsGarbage });
  const graceMs = etcd === undefined ? namespaceGraceMs.ownStore : namespaceGraceMs.sharedStore;
  const loops = { names, client, catalog, secretTokens, namespaceGraceMs: graceMs, ...ports };
  const isAlone = etcd === undefined || leaderElection === 'off' || names.length === 0;
  if (isAlone) return new ControlLoops(loops);
  try {
    return new ElectedLoops({ ...loops, ...(leaderElection !== undefined && { times: leaderElection }) });
  } catch (error) {
    throw new StartError('leaderElection', { cause: error });
  }
}
