// Names kinds as the inspector shows them. Used by the other files of this folder.
import type { Resource } from '@kapstan/api';

/** Returns "Deployment.apps", or "Pod". */
export function kindText({ kind, group }: Pick<Resource, 'kind' | 'group'>): string {
  return group === '' ? kind : `${kind}.${group}`;
}
