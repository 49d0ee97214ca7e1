// Recognises the users that are kubelets, and their nodes. Source: pkg/auth/nodeidentifier.
import type { UserInfo } from '@kapstan/apiserver';

export const nodeUserPrefix = 'system:node:';
const nodesGroup = 'system:nodes';

/** Returns the name of the node, which may be ""; undefined for a user that is not a node. */
export function nodeNameOf({ name, groups }: UserInfo): string | undefined {
  return name.startsWith(nodeUserPrefix) && groups.includes(nodesGroup) ? name.slice(nodeUserPrefix.length) : undefined;
}
