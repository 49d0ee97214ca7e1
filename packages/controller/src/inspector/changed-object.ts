// changedObject describes a change of an informer for the inspector: names and versions, without values. Used by controller-sources.ts.
import type { KubernetesObject, Resource } from '@kapstan/api';
import { isSecret } from '@kapstan/api/internal';
import type { ObjectChange } from '@kapstan/informers';
import type { ChangedObject, WakeCause } from '@kapstan/inspector';
import { kindText } from './kind-text.ts';

/** Names of Secrets are left out. */
export function changedObject(
  change: ObjectChange<KubernetesObject>,
  kind: Resource,
  through: ChangedObject['through'],
): ChangedObject {
  const { namespace = '', name = '', resourceVersion = '' } = change.object?.metadata ?? {};
  const oldVersion = change.type === 'updated' ? (change.oldObject.metadata?.resourceVersion ?? '') : '';
  const isHidden = isSecret(kind);
  return {
    kind: kindText(kind),
    namespace: isHidden ? '' : namespace,
    name: isHidden ? '' : name,
    oldVersion: change.type === 'deleted' ? resourceVersion : oldVersion,
    newVersion: change.type === 'deleted' ? '' : resourceVersion,
    through,
  };
}

export function causeType(change: ObjectChange<KubernetesObject>): WakeCause['type'] {
  if (change.type === 'added') return change.isInInitialList ? 'listed' : 'added';
  if (change.type === 'deleted') return 'deleted';
  const isSame = change.oldObject.metadata?.resourceVersion === change.object.metadata?.resourceVersion;
  return isSame ? 'resync' : 'updated';
}
