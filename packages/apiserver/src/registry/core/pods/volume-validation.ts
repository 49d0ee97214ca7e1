// Rules for volumes and their mounts. Source: pkg/apis/core/validation ValidateVolumes, ValidateVolumeMounts.
import { type DeepReadonly, dnsLabelErrors } from '@kapstan/api';
import type {
  Container,
  EphemeralContainer,
  KeyToPath,
  PodSpec,
  ServiceAccountTokenProjection,
  Volume,
  VolumeMount,
} from '@kapstan/kinds/core/v1';
import type { Field } from '../../validation/field.ts';
import { configKeyErrors } from '../../validation/value-rules.ts';
import { validateFieldRef, volumeFields } from './env-validation.ts';
import { validatePathWithoutDots, validateVolumeSource } from './volume-source-validation.ts';

type ReadonlyVolume = DeepReadonly<Volume>;

export function validateVolumes(at: Field, volumes: readonly ReadonlyVolume[] | undefined): void {
  const names = new Set<string>();
  at.each(volumes, (volume, place) => {
    validateSources(place, volume);
    const errors = volume.name === '' ? [] : dnsLabelErrors(volume.name);
    if (volume.name === '') place.child('name').required();
    place.child('name').invalidAll(volume.name, errors);
    if (volume.name !== '' && errors.length === 0 && names.has(volume.name)) place.child('name').duplicate(volume.name);
    names.add(volume.name);
  });
}

/** In the order of the Go function: the first source that is there is validated, any further one is refused. */
const sourceOrder = [
  'emptyDir',
  'hostPath',
  'gitRepo',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'secret',
  'nfs',
  'iscsi',
  'glusterfs',
  'flocker',
  'persistentVolumeClaim',
  'rbd',
  'cinder',
  'cephfs',
  'quobyte',
  'downwardAPI',
  'fc',
  'flexVolume',
  'configMap',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'storageos',
  'projected',
  'scaleIO',
  'csi',
  'ephemeral',
  'image',
] as const;

function validateSources(at: Field, volume: ReadonlyVolume): void {
  const [first, ...more] = sourceOrder.filter((name) => volume[name] !== undefined);
  if (first === undefined) return at.required('must specify a volume type');
  validateSource(at.child(first), first, volume);
  for (const name of more) at.child(name).forbidden('may not specify more than 1 volume type');
}

function validateSource(at: Field, name: (typeof sourceOrder)[number], volume: ReadonlyVolume): void {
  switch (name) {
    case 'secret':
      at.child('secretName').present(volume.secret?.secretName);
      return validateFiles(at, volume.secret?.items, volume.secret?.defaultMode);
    case 'configMap':
      at.child('name').present(volume.configMap?.name);
      return validateFiles(at, volume.configMap?.items, volume.configMap?.defaultMode);
    case 'persistentVolumeClaim':
      at.child('claimName').present(volume.persistentVolumeClaim?.claimName);
      return;
    case 'downwardAPI':
      validateMode(at.child('defaultMode'), volume.downwardAPI?.defaultMode);
      return validateDownwardItems(at, volume.downwardAPI?.items);
    case 'projected':
      return validateProjected(at, volume.projected);
    default:
      return validateVolumeSource(at, name, volume);
  }
}

function validateFiles(
  at: Field,
  items: readonly DeepReadonly<KeyToPath>[] | undefined,
  mode: number | undefined,
): void {
  validateMode(at.child('defaultMode'), mode);
  at.child('items').each(items, (item, place) => {
    if (item.key === '') place.child('key').required();
    else place.child('key').invalidAll(item.key, configKeyErrors(item.key));
    validateLocalPath(place.child('path'), item.path);
    validateMode(place.child('mode'), item.mode);
  });
}

function validateDownwardItems(at: Field, items: NonNullable<ReadonlyVolume['downwardAPI']>['items']): void {
  at.child('items').each(items, (item, place) => {
    validateLocalPath(place.child('path'), item.path);
    if (item.fieldRef !== undefined) {
      validateFieldRef(place.child('fieldRef'), item.fieldRef, volumeFields);
      if (item.resourceFieldRef !== undefined)
        place.invalid('resource', 'fieldRef and resourceFieldRef can not be specified simultaneously');
    } else if (item.resourceFieldRef === undefined)
      place.child('fieldRef').required('one of fieldRef and resourceFieldRef is required');
    validateMode(place.child('mode'), item.mode);
  });
}

const projections = [
  'secret',
  'configMap',
  'downwardAPI',
  'serviceAccountToken',
  'clusterTrustBundle',
  'podCertificate',
] as const;

function validateProjected(at: Field, projected: ReadonlyVolume['projected']): void {
  validateMode(at.child('defaultMode'), projected?.defaultMode);
  at.child('sources').each(projected?.sources, (source, place) => {
    const [first, ...more] = projections.filter((name) => source[name] !== undefined);
    if (first === undefined) place.required('must specify at least 1 projection type');
    for (const name of more) place.child(name).forbidden('may not specify more than 1 volume type per source');
    if (source.secret !== undefined) place.child('secret', 'name').present(source.secret.name);
    if (source.configMap !== undefined) place.child('configMap', 'name').present(source.configMap.name);
    validateDownwardItems(place.child('downwardAPI'), source.downwardAPI?.items);
    if (source.serviceAccountToken !== undefined)
      validateToken(place.child('serviceAccountToken'), source.serviceAccountToken);
  });
}

const minTokenSeconds = 600;

function validateToken(at: Field, token: DeepReadonly<ServiceAccountTokenProjection>): void {
  const seconds = token.expirationSeconds ?? 0;
  if (seconds < minTokenSeconds)
    at.child('expirationSeconds').invalid(seconds, 'may not specify a duration less than 10 minutes');
  validateLocalPath(at.child('path'), token.path);
}

const maxMode = 0o777;

function validateMode(at: Field, mode: number | undefined): void {
  if (mode !== undefined && (mode < 0 || mode > maxMode))
    at.invalid(mode, 'must be a number between 0 and 0777 (octal), both inclusive');
}

/** A path inside a volume. Source: validateLocalNonReservedPath. */
function validateLocalPath(at: Field, path: string): void {
  if (path === '') return at.required();
  if (path.startsWith('/')) at.invalid(path, 'must be a relative path');
  validatePathWithoutDots(at, path);
  if (path.startsWith('..') && !path.startsWith('../')) at.invalid(path, "must not start with '..'");
}

/** Mounts name a volume of the pod, each at a path of its own. */
export function validateVolumeMounts(
  at: Field,
  container: DeepReadonly<Container> | DeepReadonly<EphemeralContainer>,
  spec: DeepReadonly<PodSpec>,
): void {
  const paths = new Set<string>();
  at.each(container.volumeMounts, (mount, place) => {
    if (mount.name === '') place.child('name').required();
    if (!spec.volumes?.some((volume) => volume.name === mount.name)) place.child('name').notFound(mount.name);
    if (mount.mountPath === '') place.child('mountPath').required();
    if (paths.has(mount.mountPath)) place.child('mountPath').invalid(mount.mountPath, 'must be unique');
    paths.add(mount.mountPath);
    validateSubPath(place, mount);
  });
}

function validateSubPath(at: Field, { subPath, subPathExpr }: DeepReadonly<VolumeMount>): void {
  if (!subPath) return;
  if (subPath.startsWith('/')) at.child('subPath').invalid(subPath, 'must be a relative path');
  validatePathWithoutDots(at.child('subPath'), subPath);
  if (subPathExpr) at.child('subPathExpr').invalid(subPathExpr, 'subPathExpr and subPath are mutually exclusive');
}
