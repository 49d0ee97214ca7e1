// The secrets and config maps that a pod refers to. Used by admission plug-ins and by the Node authorizer. Source:
// pkg/api/v1/pod VisitPodSecretNames, VisitPodConfigmapNames.
import type { DeepReadonly } from '@kapstan/api';
import type { Container, EphemeralContainer, PodSpec, Volume } from '@kapstan/kinds/core/v1';

type Spec = DeepReadonly<PodSpec>;
type AnyContainer = DeepReadonly<Container | EphemeralContainer>;
type Names = readonly (string | undefined)[];

/** Returns the names of all secrets, some of them several times. */
export function secretsOf(spec: Spec): readonly string[] {
  return present([
    ...(spec.imagePullSecrets ?? []).map(({ name }) => name),
    ...containersOf(spec).flatMap(({ env = [], envFrom = [] }) => [
      ...envFrom.map(({ secretRef }) => secretRef?.name),
      ...env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
    ]),
    ...(spec.volumes ?? []).flatMap(secretsOfVolume),
  ]);
}

/** Returns the names of all config maps, some of them several times. */
export function configMapsOf(spec: Spec): readonly string[] {
  return present([
    ...containersOf(spec).flatMap(({ env = [], envFrom = [] }) => [
      ...envFrom.map(({ configMapRef }) => configMapRef?.name),
      ...env.map(({ valueFrom }) => valueFrom?.configMapKeyRef?.name),
    ]),
    ...(spec.volumes ?? []).flatMap(({ configMap, projected }) => [
      configMap?.name,
      ...(projected?.sources ?? []).map((source) => source.configMap?.name),
    ]),
  ]);
}

function containersOf({
  initContainers = [],
  containers = [],
  ephemeralContainers = [],
}: Spec): readonly AnyContainer[] {
  return [...initContainers, ...containers, ...ephemeralContainers];
}

function secretsOfVolume(volume: DeepReadonly<Volume>): Names {
  const { azureFile, cephfs, cinder, flexVolume, projected, rbd, secret, scaleIO, iscsi, storageos, csi } = volume;
  const references = [cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos].map((source) => source?.secretRef);
  return [
    azureFile?.secretName,
    secret?.secretName,
    csi?.nodePublishSecretRef?.name,
    ...references.map((reference) => reference?.name),
    ...(projected?.sources ?? []).map((source) => source.secret?.name),
  ];
}

function present(names: Names): readonly string[] {
  return names.filter((name) => name !== undefined && name !== '') as string[];
}
