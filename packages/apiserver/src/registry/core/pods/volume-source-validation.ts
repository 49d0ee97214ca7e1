// Rules for volume sources that pods and persistent volumes share: paths, required names. Source: pkg/apis/core/validation.
import type { DeepReadonly } from '@kapstan/api';
import type { PersistentVolumeSpec, Volume } from '@kapstan/kinds/core/v1';
import type { Field } from '../../validation/field.ts';

type Source = DeepReadonly<Pick<PersistentVolumeSpec, 'hostPath' | 'nfs'> & Pick<Volume, 'hostPath' | 'nfs'>>;

/** String members that each source must have. Sources that are not here have none. */
const requiredMembers: Readonly<Record<string, readonly string[]>> = {
  hostPath: ['path'],
  gitRepo: ['repository'],
  gcePersistentDisk: ['pdName'],
  awsElasticBlockStore: ['volumeID'],
  nfs: ['server', 'path'],
  iscsi: ['targetPortal', 'iqn'],
  glusterfs: ['endpoints', 'path'],
  rbd: ['image'],
  cinder: ['volumeID'],
  quobyte: ['volume'],
  flexVolume: ['driver'],
  azureFile: ['secretName', 'shareName'],
  vsphereVolume: ['volumePath'],
  photonPersistentDisk: ['pdID'],
  portworxVolume: ['volumeID'],
  azureDisk: ['diskName', 'diskURI'],
  scaleIO: ['gateway', 'system', 'volumeName'],
  csi: ['driver'],
};

/** `at` is the place of the source itself. */
export function validateVolumeSource(at: Field, name: string, sources: Source): void {
  const source = (sources as unknown as Readonly<Record<string, unknown>>)[name] as
    | Readonly<Record<string, unknown>>
    | undefined;
  for (const member of requiredMembers[name] ?? []) at.child(member).present(source?.[member]);
  if (name === 'hostPath') validateHostPath(at, sources.hostPath);
  const nfsPath = name === 'nfs' ? sources.nfs?.path : undefined;
  if (nfsPath && !nfsPath.startsWith('/')) at.child('path').invalid(nfsPath, 'must be an absolute path');
}

const hostPathTypes = [
  '',
  'DirectoryOrCreate',
  'Directory',
  'FileOrCreate',
  'File',
  'Socket',
  'CharDevice',
  'BlockDevice',
];

function validateHostPath(at: Field, source: Source['hostPath']): void {
  const path = source?.path ?? '';
  if (path === '') return;
  validatePathWithoutDots(at.child('path'), path);
  const type = source?.type ?? '';
  if (!hostPathTypes.includes(type)) at.child('type').notSupported(type, hostPathTypes);
}

/** Source: validatePathNoBacksteps. */
export function validatePathWithoutDots(at: Field, path: string): void {
  if (path.split('/').includes('..')) at.invalid(path, "must not contain '..'");
}
