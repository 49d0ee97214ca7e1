// persistentvolumeclaim-protection-controller keeps a claim until no pod on a node uses it. Source: pkg/controller/volume/pvcprotection.
import { type DeepReadonly, objectKey } from '@kapstan/api';
import { isDeletedFinalStateUnknown } from '@kapstan/informers';
import { PersistentVolumeClaim, Pod } from '@kapstan/kinds/core/v1';
import type { ControlLoop } from './control-loop.ts';
import { protect } from './protected-objects.ts';

type Claim = DeepReadonly<PersistentVolumeClaim>;
type AnyPod = DeepReadonly<Pod>;

const podsByClaim = 'podsByClaim';

export const persistentVolumeClaimProtectionController: ControlLoop = protect({
  resource: PersistentVolumeClaim,
  finalizer: 'kubernetes.io/pvc-protection',
  queueName: 'pvcprotection',
  followUsers: ({ informers }, add) => {
    const addClaims = (pod: AnyPod): void => claimKeysOf(pod).forEach(add);
    const addFreed = (pod: AnyPod): void => {
      if (isOver(pod) || !pod.spec?.nodeName) addClaims(pod);
    };
    const registration = informers.informer(Pod, { indexers: { [podsByClaim]: claimKeysOf } }).addEventHandler({
      onAdd: addFreed,
      onUpdate: (old, next) => {
        addFreed(next);
        // Another pod of the same name has replaced the old one.
        if (old.metadata?.uid !== next.metadata?.uid) addClaims(old);
      },
      onDelete: (last) => {
        const pod = isDeletedFinalStateUnknown(last) ? last.object : last;
        if (pod !== undefined) addClaims(pod as AnyPod);
      },
    });
    return [registration];
  },
  isUsed: async ({ client, informers }, claim, signal) => {
    const { namespace = '', name = '' } = claim.metadata ?? {};
    const cached = informers.informer(Pod).indexer.byIndex(podsByClaim, objectKey(namespace, name));
    if (cached.some((pod) => uses(pod, claim))) return true;
    // A pod that has not reached the cache yet counts too.
    for await (const pod of client.list(Pod, { namespace, signal })) if (uses(pod, claim)) return true;
    return false;
  },
});

/** Returns the keys of the claims that the pod names, and of the claims made for its ephemeral volumes. */
function claimKeysOf({ metadata, spec }: AnyPod): string[] {
  const { namespace = '', name = '' } = metadata ?? {};
  return (spec?.volumes ?? []).flatMap((volume) => {
    if (volume.persistentVolumeClaim !== undefined) {
      return [objectKey(namespace, volume.persistentVolumeClaim.claimName)];
    }
    return volume.ephemeral === undefined ? [] : [objectKey(namespace, `${name}-${volume.name}`)];
  });
}

/**
 * Only pods assigned to a node count: a kubelet sees no others, and does not start a pod whose claim is being deleted.
 */
function uses(pod: AnyPod, claim: Claim): boolean {
  if (!pod.spec?.nodeName) return false;
  const { name: claimName, ownerReferences = [] } = claim.metadata ?? {};
  const isOwn = ownerReferences.some(({ controller, uid }) => controller === true && uid === pod.metadata?.uid);
  return (pod.spec.volumes ?? []).some(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim?.claimName === claimName) return true;
    return ephemeral !== undefined && isOwn && !isShutDown(pod) && `${pod.metadata?.name}-${name}` === claimName;
  });
}

/** The pod has ended on its node or was deleted by force. It only waits for finalizers, perhaps for the claim's. */
function isShutDown({ metadata }: AnyPod): boolean {
  return metadata?.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0;
}

/** Source: volumeutil.IsPodTerminated. */
function isOver({ metadata, status }: AnyPod): boolean {
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded') return true;
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const isRunning = containers.some(({ state }) => state?.terminated === undefined && state?.waiting === undefined);
  return metadata?.deletionTimestamp !== undefined && !isRunning;
}
