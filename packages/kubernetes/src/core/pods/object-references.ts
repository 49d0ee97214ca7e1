// The secrets and config maps that a pod refers to. Used by admission plug-ins and by the Node authorizer. Source:
// pkg/api/v1/pod VisitPodSecretNames, VisitPodConfigmapNames.
import type { DeepReadonly } from '@kapstan/api';
import type { Container, EphemeralContainer, PodSpec, Volume } from '@kapstan/kinds/core/v1';

type Spec = DeepReadonly<PodSpec>;
type AnyContainer = DeepReadonly<Container | EphemeralContainer>;
/**
 * A list of names without the empty ones. All names of a pod go into one list, because a list for each of ten thousands of volumes takes
 * long.
 */
class NameList {
  readonly names: string[] = [];

  add(name: string | undefined): void {
    if (name !== undefined && name !== '') this.names.push(name);
  }
}

/** Returns the names of all secrets, some of them several times. */
export function secretsOf(spec: Spec): readonly string[] {
  const list = new NameList();
  for (const { name } of spec.imagePullSecrets ?? []) list.add(name);
  for (const { env = [], envFrom = [] } of containersOf(spec)) {
    for (const { secretRef } of envFrom) list.add(secretRef?.name);
    for (const { valueFrom } of env) list.add(valueFrom?.secretKeyRef?.name);
  }
  for (const volume of spec.volumes ?? []) addSecretsOfVolume(list, volume);
  return list.names;
}

/** Returns the names of all config maps, some of them several times. */
export function configMapsOf(spec: Spec): readonly string[] {
  const list = new NameList();
  for (const { env = [], envFrom = [] } of containersOf(spec)) {
    for (const { configMapRef } of envFrom) list.add(configMapRef?.name);
    for (const { valueFrom } of env) list.add(valueFrom?.configMapKeyRef?.name);
  }
  for (const { configMap, projected } of spec.volumes ?? []) {
    list.add(configMap?.name);
    for (const source of projected?.sources ?? []) list.add(source.configMap?.name);
  }
  return list.names;
}

function containersOf({
  initContainers = [],
  containers = [],
  ephemeralContainers = [],
}: Spec): readonly AnyContainer[] {
  return [...initContainers, ...containers, ...ephemeralContainers];
}

function addSecretsOfVolume(list: NameList, volume: DeepReadonly<Volume>): void {
  list.add(volume.azureFile?.secretName);
  list.add(volume.secret?.secretName);
  list.add(volume.csi?.nodePublishSecretRef?.name);
  list.add(volume.cephfs?.secretRef?.name);
  list.add(volume.cinder?.secretRef?.name);
  list.add(volume.flexVolume?.secretRef?.name);
  list.add(volume.rbd?.secretRef?.name);
  list.add(volume.scaleIO?.secretRef?.name);
  list.add(volume.iscsi?.secretRef?.name);
  list.add(volume.storageos?.secretRef?.name);
  for (const source of volume.projected?.sources ?? []) list.add(source.secret?.name);
}
