// The objects to which nodes get access because of pods and volumes. Read by node-graph-feed.ts. Source:
// plugin/pkg/auth/authorizer/node/graph.go (AddPod, AddPV), pkg/api/v1/persistentvolume VisitPVSecretNames.
import type { DeepReadonly } from '@kapstan/api';
import type { PersistentVolume, Pod, PodResourceClaim, SecretReference } from '@kapstan/kinds/core/v1';
import { configMapsOf, secretsOf } from '../core/pods/object-references.ts';
import type { Vertex, VertexType } from './node-graph.ts';

const mirrorAnnotation = 'kubernetes.io/config.mirror';

/** Returns nothing for a mirror pod, because nodes create those, and must not gain access through them. */
export function relatedOfPod(pod: DeepReadonly<Pod>): readonly Vertex[] {
  const { annotations = {}, namespace = '', name: podName = '' } = pod.metadata ?? {};
  const { spec, status } = pod;
  if (spec === undefined || Object.hasOwn(annotations, mirrorAnnotation)) return [];
  const vertices = (type: VertexType, names: readonly (string | undefined)[]): Vertex[] =>
    [...new Set(names)].flatMap((name) => (name === undefined || name === '' ? [] : [{ type, namespace, name }]));
  const claims = (spec.volumes ?? []).map(({ name, persistentVolumeClaim: claim, ephemeral }) => {
    if (claim !== undefined) return claim.claimName;
    return ephemeral === undefined ? undefined : `${podName}-${name}`;
  });
  return [
    ...vertices('serviceAccount', [spec.serviceAccountName]),
    ...vertices('secret', secretsOf(spec)),
    ...vertices('configmap', configMapsOf(spec)),
    ...vertices('pvc', claims),
    ...vertices('resourceclaim', [
      ...(spec.resourceClaims ?? []).map((claim) => claimNameOf(claim, pod)),
      status?.extendedResourceClaimStatus?.resourceClaimName,
    ]),
  ];
}

/** A claim made from a template has its name in the status of the pod. Source: resourceclaim.Name. */
function claimNameOf(claim: DeepReadonly<PodResourceClaim>, { status }: DeepReadonly<Pod>): string | undefined {
  if (claim.resourceClaimName !== undefined) return claim.resourceClaimName;
  if (claim.resourceClaimTemplateName === undefined) return undefined;
  return status?.resourceClaimStatuses?.find(({ name }) => name === claim.name)?.resourceClaimName;
}

/**
 * Everything in a pod that can change the objects its node may see. The rest of its spec never changes once it has a
 * node.
 */
export function changeMarkOf({ metadata, spec, status }: DeepReadonly<Pod>): string {
  return JSON.stringify([
    metadata?.uid,
    spec?.nodeName,
    spec?.ephemeralContainers?.length ?? 0,
    status?.resourceClaimStatuses,
    status?.extendedResourceClaimStatus?.resourceClaimName,
  ]);
}

type Source = DeepReadonly<NonNullable<PersistentVolume['spec']>>;

/** Returns the secrets that kubelets need for a volume; those for controllers only are left out. */
export function secretsOfVolume(spec: Source): readonly Vertex[] {
  const claimed = spec.claimRef?.namespace ?? '';
  const { azureFile, cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos, csi } = spec;
  // Volumes of older versions name no namespace; the claim's is used.
  const old = [cephfs, flexVolume, rbd, scaleIO, iscsi].map((source) =>
    inNamespace(source?.secretRef, source?.secretRef?.namespace || claimed),
  );
  const named = [
    cinder?.secretRef,
    storageos?.secretRef,
    csi?.nodePublishSecretRef,
    csi?.nodeStageSecretRef,
    csi?.nodeExpandSecretRef,
  ].map((reference) => inNamespace(reference, reference?.namespace ?? ''));
  const azure = inNamespace({ name: azureFile?.secretName ?? '' }, azureFile?.secretNamespace || claimed);
  return [...azure, ...old.flat(), ...named.flat()];
}

function inNamespace(
  reference: DeepReadonly<SecretReference> | { readonly name?: string } | undefined,
  namespace: string,
): readonly Vertex[] {
  const name = reference?.name ?? '';
  return name === '' ? [] : [{ type: 'secret', namespace, name }];
}
