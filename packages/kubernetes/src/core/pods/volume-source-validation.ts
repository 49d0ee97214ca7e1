// Rules for volume sources that pods and persistent volumes share: required members, ranges, forms. Used by
// volume-validation.ts and persistentvolumes/. Source: pkg/apis/core/validation validate*VolumeSource.
import type { DeepReadonly } from '@kapstan/api';
import { dnsLabelErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { validateDriverName } from '../../validation/driver-name.ts';
import { rangeErrors } from '../../validation/value-rules.ts';

/** A source of any kind. Members are read by name, because most rules hold for many sources. */
type Source = Readonly<Record<string, unknown>>;
type Rule = (at: Field, source: Source) => void;

/** Required members of each source: non-empty strings and lists. */
const requiredMembers: Readonly<Record<string, readonly string[]>> = {
  hostPath: ['path'],
  gitRepo: ['repository'],
  gcePersistentDisk: ['pdName'],
  awsElasticBlockStore: ['volumeID'],
  nfs: ['server', 'path'],
  iscsi: ['targetPortal', 'iqn'],
  glusterfs: ['endpoints', 'path'],
  rbd: ['monitors', 'image'],
  cinder: ['volumeID'],
  cephfs: ['monitors'],
  quobyte: ['volume'],
  flexVolume: ['driver'],
  azureFile: ['secretName', 'shareName'],
  vsphereVolume: ['volumePath'],
  photonPersistentDisk: ['pdID'],
  portworxVolume: ['volumeID'],
  azureDisk: ['diskName', 'diskURI'],
  scaleIO: ['gateway', 'system', 'volumeName'],
  storageos: ['volumeName'],
  local: ['path'],
};

/** Places at which Kubernetes reports errors of a source, if not at its own name. */
const places: Readonly<Record<string, string>> = { gcePersistentDisk: 'persistentDisk' };

const rules: Readonly<Record<string, Rule>> = {
  hostPath: validateHostPath,
  gitRepo: (at, { directory }) => validateLocalPath(at.child('directory'), textOf(directory)),
  gcePersistentDisk: validatePartition,
  awsElasticBlockStore: validatePartition,
  nfs: (at, { path }) => {
    if (!textOf(path).startsWith('/')) at.child('path').invalid(textOf(path), 'must be an absolute path');
  },
  iscsi: validateIscsi,
  flocker: validateFlocker,
  fc: validateFibreChannel,
  quobyte: validateQuobyte,
  flexVolume: validateFlex,
  azureDisk: validateAzureDisk,
  storageos: validateStorageOs,
  local: (at, { path }) => validatePathWithoutDots(at.child('path'), textOf(path)),
  csi: (at, { driver }) => validateDriverName(at.child('driver'), textOf(driver)),
};

/** `at` is the volume; `name` is the name of a source that is set. */
export function validateVolumeSource(at: Field, name: string, sources: object): void {
  const source = ((sources as Source)[name] ?? {}) as Source;
  const place = at.child(places[name] ?? name);
  for (const member of requiredMembers[name] ?? []) {
    const value = source[member];
    if (Array.isArray(value) ? value.length === 0 : !value) place.child(member).required();
  }
  rules[name]?.(place, source);
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);

const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];

function validateHostPath(at: Field, { path, type }: Source): void {
  if (textOf(path) === '') return;
  validatePathWithoutDots(at.child('path'), textOf(path));
  at.child('type').oneOf(textOf(type), hostPathTypes);
}

function validatePartition(at: Field, { partition }: Source): void {
  const number = numberOf(partition);
  // 0 means absent, which the error text omits.
  if (number !== 0) at.child('partition').invalidAll(number, rangeErrors(number, 1, 255));
}

const initiators: Readonly<Record<string, (name: string) => boolean>> = {
  iqn: isQualifiedInitiator,
  eui: (name) => /^eui.[a-zA-Z0-9]{16}$/.test(name),
  naa: (name) => /^naa.[a-zA-Z0-9]{32}$/.test(name),
};

/**
 * Matches iqn\.\d{4}-\d{2}\.[a-zA-Z0-9-.]+:[^,;*&$|\s]+ at the end of the name, as Kubernetes' pattern does. A pattern
 * would search from each "iqn." to the end, whereas this function reads the text between two colons once.
 */
function isQualifiedInitiator(name: string): boolean {
  const end = name.split(/[,;*&$|\s]/).at(-1) ?? '';
  return end
    .slice(0, -1)
    .split(':')
    .slice(0, -1)
    .some((part) => {
      const domain = part.split(/[^a-zA-Z0-9.-]/).at(-1) ?? '';
      return /iqn\.\d{4}-\d{2}\.[a-zA-Z0-9.-]/.test(domain);
    });
}

function validateIscsi(at: Field, source: Source): void {
  const iqn = textOf(source.iqn);
  // Persistent volumes have the shorter text.
  const text = at.path.startsWith('spec.iscsi')
    ? 'must be valid format'
    : 'must be valid format starting with iqn, eui, or naa';
  if (iqn !== '') validateInitiator(at.child('iqn'), iqn, text);
  const lun = numberOf(source.lun);
  at.child('lun').invalidAll(lun, rangeErrors(lun, 0, 255));
  const needsSecret = source.chapAuthDiscovery === true || source.chapAuthSession === true;
  if (needsSecret && source.secretRef === undefined) at.child('secretRef').required();
  if (source.initiatorName !== undefined)
    validateInitiator(at.child('initiatorname'), textOf(source.initiatorName), text);
}

function validateInitiator(at: Field, name: string, text: string): void {
  const form = initiators[name.slice(0, 3)];
  if (form === undefined) at.invalid(name, text);
  else if (!form(name)) at.invalid(name, 'must be valid format');
}

function validateFlocker(at: Field, { datasetName, datasetUUID }: Source): void {
  if (!datasetName && !datasetUUID) at.required('one of datasetName and datasetUUID is required');
  if (datasetName && datasetUUID)
    at.invalid('resource', 'datasetName and datasetUUID can not be specified simultaneously');
  if (textOf(datasetName).includes('/')) at.child('datasetName').invalid(datasetName, "must not contain '/'");
}

function validateFibreChannel(at: Field, source: Source): void {
  const targets = (source.targetWWNs ?? []) as readonly string[];
  const ids = (source.wwids ?? []) as readonly string[];
  const place = at.child('targetWWNs');
  if (targets.length === 0 && ids.length === 0) place.required('must specify either targetWWNs or wwids, but not both');
  if (targets.length === 0) return;
  if (ids.length > 0) place.invalid(targets, 'targetWWNs and wwids can not be specified simultaneously');
  if (source.lun === undefined) at.child('lun').required('lun is required if targetWWNs is specified');
  else at.child('lun').invalidAll(source.lun, rangeErrors(numberOf(source.lun), 0, 255));
}

const registryForm = 'must be a host:port pair or multiple pairs separated by commas';

function validateQuobyte(at: Field, source: Source): void {
  const registry = textOf(source.registry);
  if (registry === '') return at.child('registry').required(registryForm);
  if (Buffer.byteLength(textOf(source.tenant)) >= 65)
    return at.child('tenant').required('must be a UUID and may not exceed a length of 64 characters');
  for (const pair of registry.split(',')) {
    if (!/^(\[[^\][]*\]|[^:[\]]*):[^:[\]]*$/.test(pair)) at.child('registry').invalid(registry, registryForm);
  }
}

function validateFlex(at: Field, { options }: Source): void {
  at.child('options').eachKey(options as Readonly<Record<string, unknown>> | undefined, (key, _value, place) => {
    const namespace = `.${(key.includes('/') ? key.slice(0, key.indexOf('/')) : key).toLowerCase()}`;
    if (namespace.endsWith('.kubernetes.io') || namespace.endsWith('.k8s.io'))
      place.invalid(key, 'kubernetes.io and k8s.io namespaces are reserved');
  });
}

const diskUris = {
  managed: '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}',
  blob: 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd',
};

function validateAzureDisk(at: Field, { cachingMode, kind, diskURI }: Source): void {
  if (cachingMode !== undefined) at.child('cachingMode').oneOf(textOf(cachingMode), ['None', 'ReadOnly', 'ReadWrite']);
  if (kind === undefined) return;
  at.child('kind').oneOf(textOf(kind), ['Dedicated', 'Managed', 'Shared']);
  const uri = textOf(diskURI);
  const isManaged = kind === 'Managed';
  if (!uri.startsWith(isManaged ? '/subscriptions/' : 'https://'))
    at.child('diskURI').notSupported(uri, [isManaged ? diskUris.managed : diskUris.blob]);
}

function validateStorageOs(at: Field, source: Source): void {
  for (const name of ['volumeName', 'volumeNamespace']) {
    const value = textOf(source[name]);
    if (value !== '') at.child(name).invalidAll(value, dnsLabelErrors(value));
  }
}

/** Source: validatePathNoBacksteps. */
export function validatePathWithoutDots(at: Field, path: string): void {
  if (path.split('/').includes('..')) at.invalid(path, "must not contain '..'");
}

/** Source: validateLocalDescendingPath. */
export function validateDescendingPath(at: Field, path: string): void {
  if (path.startsWith('/')) at.invalid(path, 'must be a relative path');
  validatePathWithoutDots(at, path);
}

/** Checks a path inside a volume. Source: ValidateLocalNonReservedPath. */
export function validateLocalPath(at: Field, path: string): void {
  validateDescendingPath(at, path);
  if (path.startsWith('..') && !path.startsWith('../')) at.invalid(path, "must not start with '..'");
}

/** Checks a reference to a secret: its name and, where secrets may be in another namespace, the namespace. */
export function validateSecretName(
  at: Field,
  reference: DeepReadonly<{ name?: string; namespace?: string }> | undefined,
  members: readonly ('name' | 'namespace')[],
): void {
  if (reference === undefined) return;
  for (const member of members) if (!reference[member]) at.child('secretRef', member).required();
}
