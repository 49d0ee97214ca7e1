// Rules for volumes of pods. Their sources: volume-source-validation.ts, projected-volume-validation.ts; where
// containers mount them: mount-validation.ts. Source: pkg/apis/core/validation ValidateVolumes.
import { type DeepReadonly, type ObjectMeta, parseQuantity } from '@kapstan/api';
import { dnsLabelErrors, dnsSubdomainErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { KeyToPath, PersistentVolumeClaimTemplate, Volume } from '@kapstan/kinds/core/v1';
import { validateAnnotationKeys } from '../../validation/annotation-rules.ts';
import { validateLabels } from '../../validation/label-rules.ts';
import { validateClaimSpec } from '../persistentvolumeclaims/claim-validation.ts';
import { validateFieldRef, validateResourceField, volumeFields } from './env-validation.ts';
import type { NamedVolumes } from './mount-validation.ts';
import { validateProjected } from './projected-volume-validation.ts';
import { validateLocalPath, validateSecretName, validateVolumeSource } from './volume-source-validation.ts';

type ReadonlyVolume = DeepReadonly<Volume>;
type Meta = DeepReadonly<ObjectMeta> | undefined;

/** Returns the valid volumes by name; containers can refer only to these. `meta` is the pod's; templates have none. */
export function validateVolumes(at: Field, volumes: readonly ReadonlyVolume[] | undefined, meta: Meta): NamedVolumes {
  const valid = new Map<string, ReadonlyVolume>();
  const made = new Set(
    volumes?.filter(({ ephemeral }) => ephemeral !== undefined).map(({ name }) => `${meta?.name ?? ''}-${name}`),
  );
  at.each(volumes, (volume, place) => {
    const { name, persistentVolumeClaim: claim } = volume;
    const before = place.errorCount;
    validateSources(place, volume, meta);
    if (name === '') place.child('name').required();
    else place.child('name').invalidAll(name, dnsLabelErrors(name));
    if (valid.has(name)) place.child('name').duplicate(name);
    if (place.errorCount === before) valid.set(name, volume);
    if (meta?.name && claim !== undefined && made.has(claim.claimName)) {
      place
        .child('persistentVolumeClaim', 'claimName')
        .invalid(claim.claimName, 'must not reference a PVC that gets created for an ephemeral volume');
    }
  });
  return valid;
}

/** Sources in the order of the Go function: the first one present is validated, further ones are refused. */
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
type SourceName = (typeof sourceOrder)[number];

/** The names that Kubernetes uses when it refuses a further source. */
export const refusedAs: Readonly<Record<string, string>> = { cephfs: 'cephFS', downwardAPI: 'downwarAPI' };

function validateSources(at: Field, volume: ReadonlyVolume, meta: Meta): void {
  const [first, ...more] = sourceOrder.filter((name) => volume[name] !== undefined);
  if (first === undefined) return at.required('must specify a volume type');
  validateSource(at, { name: first, volume, meta });
  for (const name of more) at.child(refusedAs[name] ?? name).forbidden('may not specify more than 1 volume type');
  const { iscsi } = volume;
  if (iscsi?.initiatorName !== undefined && Buffer.byteLength(`${volume.name}:${iscsi.targetPortal}`) > 64) {
    at.child('name').invalid(
      volume.name,
      'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.',
    );
  }
  if (first === 'ephemeral') validateClaimName(at.child('name'), volume.name, meta);
}

/** An ephemeral volume's claim is named after pod and volume. */
function validateClaimName(at: Field, volume: string, meta: Meta): void {
  if (!meta?.name || volume === '') return;
  const claim = `${meta.name}-${volume}`;
  for (const error of dnsSubdomainErrors(claim)) at.invalid(volume, `PVC name ${JSON.stringify(claim)}: ${error}`);
}

function validateSource(
  at: Field,
  { name, volume, meta }: { readonly name: SourceName; readonly volume: ReadonlyVolume; readonly meta: Meta },
): void {
  const place = at.child(name);
  switch (name) {
    case 'emptyDir': {
      const limit = volume.emptyDir?.sizeLimit;
      if (limit !== undefined && parseQuantity(String(limit)).compare(parseQuantity('0')) < 0)
        place.child('sizeLimit').forbidden('SizeLimit field must be a valid resource quantity');
      return;
    }
    case 'secret':
      place.child('secretName').present(volume.secret?.secretName);
      return validateFiles(place, volume.secret?.items, volume.secret?.defaultMode);
    case 'configMap':
      place.child('name').present(volume.configMap?.name);
      return validateFiles(place, volume.configMap?.items, volume.configMap?.defaultMode);
    case 'persistentVolumeClaim':
      place.child('claimName').present(volume.persistentVolumeClaim?.claimName);
      return;
    case 'downwardAPI':
      validateMode(place.child('defaultMode'), volume.downwardAPI?.defaultMode);
      return validateDownwardItems(place, volume.downwardAPI?.items);
    case 'projected':
      validateMode(place.child('defaultMode'), volume.projected?.defaultMode);
      return validateProjected(place, volume.projected, { validateItems, validateDownwardItems });
    case 'image':
      // A template may leave the image to be filled in later.
      if (meta !== undefined) place.child('reference').present(volume.image?.reference);
      return place.child('pullPolicy').oneOf(volume.image?.pullPolicy, ['Always', 'IfNotPresent', 'Never']);
    case 'ephemeral':
      return validateClaimTemplate(place.child('volumeClaimTemplate'), volume.ephemeral?.volumeClaimTemplate);
    default:
      validateVolumeSource(at, name, volume);
      return validateSecret(place, name, volume);
  }
}

function validateSecret(at: Field, name: SourceName, volume: ReadonlyVolume): void {
  if (name === 'cinder' || name === 'storageos') validateSecretName(at, volume[name]?.secretRef, ['name']);
  const secret = name === 'csi' ? volume.csi?.nodePublishSecretRef : undefined;
  if (secret === undefined) return;
  if (!secret.name) at.child('nodePublishSecretRef', 'name').required();
  else at.child('name').invalidAll(secret.name, dnsSubdomainErrors(secret.name));
}

function validateFiles(
  at: Field,
  items: readonly DeepReadonly<KeyToPath>[] | undefined,
  mode: number | undefined,
): void {
  validateMode(at.child('defaultMode'), mode);
  validateItems(at, items);
}

function validateItems(at: Field, items: readonly DeepReadonly<KeyToPath>[] | undefined): void {
  at.child('items').each(items, (item, place) => {
    if (item.key === '') place.child('key').required();
    if (item.path === '') place.child('path').required();
    validateLocalPath(place.child('path'), item.path);
    validateMode(place.child('mode'), item.mode);
  });
}

/** Errors are reported at the source, not at the item. Source: validateDownwardAPIVolumeFile. */
function validateDownwardItems(at: Field, items: NonNullable<ReadonlyVolume['downwardAPI']>['items']): void {
  for (const item of items ?? []) {
    if (item.path === '') at.child('path').required();
    validateLocalPath(at.child('path'), item.path);
    if (item.fieldRef !== undefined) {
      validateFieldRef(at.child('fieldRef'), item.fieldRef, volumeFields);
      if (item.resourceFieldRef !== undefined)
        at.invalid('resource', 'fieldRef and resourceFieldRef can not be specified simultaneously');
    } else if (item.resourceFieldRef !== undefined) {
      const place = at.child('resourceFieldRef');
      validateResourceField(place, item.resourceFieldRef, 'container');
    } else at.required('one of fieldRef and resourceFieldRef is required');
    validateMode(at.child('mode'), item.mode);
  }
}

const maxMode = 0o777;

function validateMode(at: Field, mode: number | undefined): void {
  if (mode !== undefined && (mode < 0 || mode > maxMode))
    at.invalid(mode, 'must be a number between 0 and 0777 (octal), both inclusive');
}

function validateClaimTemplate(at: Field, template: DeepReadonly<PersistentVolumeClaimTemplate> | undefined): void {
  if (template === undefined) return at.required();
  const { annotations, labels, ...others } = template.metadata ?? {};
  validateAnnotationKeys(at.child('metadata', 'annotations'), annotations);
  validateLabels(at.child('metadata', 'labels'), labels);
  for (const [name, value] of Object.entries(others))
    if (value !== undefined && value !== null) at.child('metadata', name).forbidden('cannot be set');
  validateClaimSpec(at.child('spec'), template.spec ?? {});
}
