// Rules for the places at which containers mount volumes and block devices.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { Container, EphemeralContainer, PodSpec, VolumeMount } from '@kapstan/kinds/core/v1';
import { validateDescendingPath } from './volume-source-validation.ts';

type AnyContainer = DeepReadonly<Container> | DeepReadonly<EphemeralContainer>;
type Volume = NonNullable<DeepReadonly<PodSpec>['volumes']>[number];
/** Volumes by name; if several share a name, the first counts. */
export type NamedVolumes = ReadonlyMap<string, Volume>;

/** Each mount must name a volume of the pod and have a unique path. `at` is the container. */
export function validateVolumeMounts(at: Field, container: AnyContainer, volumes: NamedVolumes): void {
  const paths = new Set<string>();
  const list = at.child('volumeMounts');
  const devices = container.volumeDevices ?? [];
  const deviceNames = new Set(devices.map((device) => device.name));
  const devicePaths = new Set(devices.map((device) => device.devicePath));
  list.each(container.volumeMounts, (mount, place) => {
    const { name, mountPath } = mount;
    if (name === '') place.child('name').required();
    if (!volumes.has(name)) place.child('name').notFound(name);
    if (mountPath === '') place.child('mountPath').required();
    if (paths.has(mountPath)) place.child('mountPath').invalid(mountPath, 'must be unique');
    paths.add(mountPath);
    if (deviceNames.has(name)) place.child('name').invalid(name, 'must not already exist in volumeDevices');
    if (devicePaths.has(mountPath))
      place.child('mountPath').invalid(mountPath, 'must not already exist as a path in volumeDevices');
    validateSubPath(list, place, mount);
    validatePropagation(list.child('mountPropagation'), mount.mountPropagation, container);
    validateRecursive(list.child('recursiveReadOnly'), mount);
  });
}

/** Kubernetes reports errors of paths at the list. */
function validateSubPath(list: Field, at: Field, { subPath, subPathExpr }: DeepReadonly<VolumeMount>): void {
  if (subPath) validateDescendingPath(list.child('subPath'), subPath);
  if (!subPathExpr) return;
  if (subPath) at.child('subPathExpr').invalid(subPathExpr, 'subPathExpr and subPath are mutually exclusive');
  validateDescendingPath(list.child('subPathExpr'), subPathExpr);
}

function validatePropagation(at: Field, propagation: string | undefined, container: AnyContainer): void {
  if (propagation === undefined) return;
  at.oneOf(propagation, ['Bidirectional', 'HostToContainer', 'None']);
  if (propagation === 'Bidirectional' && container.securityContext?.privileged !== true)
    at.forbidden('Bidirectional mount propagation is available only to privileged containers');
}

function validateRecursive(at: Field, mount: DeepReadonly<VolumeMount>): void {
  const mode = mount.recursiveReadOnly;
  if (mode === undefined || mode === 'Disabled') return;
  if (mode !== 'Enabled' && mode !== 'IfPossible') return at.notSupported(mode, ['Disabled', 'Enabled', 'IfPossible']);
  if (mount.readOnly !== true) at.forbidden('may only be specified when readOnly is true');
  if (mount.mountPropagation !== undefined && mount.mountPropagation !== 'None')
    at.forbidden('may only be specified when mountPropagation is None or not specified');
}

/** Each block device needs a claim. `at` is the container. */
export function validateVolumeDevices(at: Field, container: AnyContainer, volumes: NamedVolumes): void {
  const names = new Set<string>();
  const paths = new Set<string>();
  const mounts = container.volumeMounts ?? [];
  const mountNames = new Set(mounts.map((mount) => mount.name));
  const mountPaths = new Set(mounts.map((mount) => mount.mountPath));
  at.child('volumeDevices').each(container.volumeDevices, ({ name, devicePath }, place) => {
    const namePlace = place.child('name');
    const volume = volumes.get(name);
    if (name === '') namePlace.required();
    if (names.has(name)) namePlace.invalid(name, 'must be unique');
    if (volume === undefined) namePlace.notFound(name);
    else if (volume.persistentVolumeClaim === undefined && volume.ephemeral === undefined)
      namePlace.invalid(name, 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode');
    validateDevicePath(place.child('devicePath'), devicePath, paths);
    if (mountNames.has(name)) namePlace.invalid(name, 'must not already exist in volumeMounts');
    if (mountPaths.has(devicePath))
      place.child('devicePath').invalid(devicePath, 'must not already exist as a path in volumeMounts');
    if (name !== '') names.add(name);
  });
}

function validateDevicePath(at: Field, path: string, taken: Set<string>): void {
  if (path === '') at.required();
  if (taken.has(path)) at.invalid(path, 'must be unique');
  if (path.split('/').includes('..')) at.invalid(path, "can not contain backsteps ('..')");
  else taken.add(path);
}
