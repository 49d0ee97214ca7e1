// Which users are kubelets, and of which nodes. Source: pkg/auth/nodeidentifier.
import type { UserInfo } from '@kapstan/apiserver';

export const nodeUserPrefix = 'system:node:';
const nodesGroup = 'system:nodes';

/** Returns the name of the node, which may be ""; undefined for a user who is no node. */
export function nodeNameOf({ name, groups }: UserInfo): string | undefined {
  return name.startsWith(nodeUserPrefix) && groups.includes(nodesGroup) ? name.slice(nodeUserPrefix.length) : undefined;
}
