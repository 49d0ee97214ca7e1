// Persistent volumes. Source: pkg/registry/core/persistentvolume, pkg/apis/core/validation ValidatePersistentVolumeSpec.
import { type DeepReadonly, dnsSubdomainErrors, formatTime } from '@kapstan/api';
import type { PersistentVolume, PersistentVolumeSpec } from '@kapstan/kinds/core/v1';
import type { BuiltinKind, BuiltinServer } from '../../builtin-kind.ts';
import { jsonEqual } from '../../json-equality.ts';
import type { Field } from '../../validation/field.ts';
import { jsonDiff } from '../../validation/json-diff.ts';
import { goStringMap } from '../../validation/label-rules.ts';
import { validatePositiveAmount } from '../../validation/resource-rules.ts';
import { validateAccessModes, volumeModes } from '../persistentvolumeclaims/strategy.ts';
import { setSourceDefaults } from '../pods/volume-defaults.ts';
import { validateVolumeSource } from '../pods/volume-source-validation.ts';

export function persistentVolumes(server: BuiltinServer): BuiltinKind<PersistentVolume> {
  return {
    id: 'v1/persistentvolumes',
    strategy: { updateMetadata: 'both' },
    returnsDeletedObject: true,
    setDefaults: ({ spec, status }) => {
      if (status !== undefined) status.phase ||= 'Pending';
      if (spec === undefined) return;
      spec.persistentVolumeReclaimPolicy ||= 'Retain';
      spec.volumeMode ??= 'Filesystem';
      setSourceDefaults(spec);
    },
    prepareForCreate: (object) => {
      object.status = { phase: 'Pending', lastPhaseTransitionTime: formatTime(server.clock.now()) };
    },
    validate: (root, { spec }) => validateSpec(root.child('spec'), spec ?? {}),
    validateChange: (root, next, old) => {
      const [before, after] = [sourceOf(old.spec), sourceOf(next.spec)];
      if (!jsonEqual(before, after)) {
        root
          .child('spec', 'persistentvolumesource')
          .forbidden(`spec.persistentvolumesource is immutable after creation\n${jsonDiff(before, after)}`);
      }
      root.child('spec', 'volumeMode').immutable(next.spec?.volumeMode, next.spec?.volumeMode === old.spec?.volumeMode);
    },
    status: {
      prepare: (next, old) => {
        if (next.status !== undefined && next.status.phase !== old.status?.phase) {
          next.status.lastPhaseTransitionTime = formatTime(server.clock.now());
        }
      },
    },
  };
}

/** In the order of the Go function. */
const sources = [
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'flocker',
  'nfs',
  'rbd',
  'quobyte',
  'cephfs',
  'iscsi',
  'cinder',
  'fc',
  'flexVolume',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'scaleIO',
  'local',
  'storageos',
  'csi',
] as const;

type ReadonlySpec = DeepReadonly<PersistentVolumeSpec>;

function sourceOf(spec: ReadonlySpec | undefined): unknown {
  return Object.fromEntries(sources.flatMap((name) => (spec?.[name] === undefined ? [] : [[name, spec[name]]])));
}

function validateSpec(at: Field, spec: ReadonlySpec): void {
  const modes = spec.accessModes ?? [];
  if (modes.length === 0) at.child('accessModes').required();
  validateAccessModes(at.child('accessModes'), modes);
  const capacity = spec.capacity ?? {};
  if (Object.keys(capacity).length === 0) at.child('capacity').required();
  if (capacity.storage === undefined || Object.keys(capacity).length > 1) {
    at.child('capacity').notSupported(goStringMap(spec.capacity), ['storage']);
  }
  at.child('capacity').eachKey(capacity, (_name, value, place) => validatePositiveAmount(place, value));
  if (spec.persistentVolumeReclaimPolicy)
    at.child('persistentVolumeReclaimPolicy').oneOf(spec.persistentVolumeReclaimPolicy, [
      'Delete',
      'Recycle',
      'Retain',
    ]);
  validateSources(at, spec);
  if (spec.hostPath?.path === '/' && spec.persistentVolumeReclaimPolicy === 'Recycle') {
    at.child('persistentVolumeReclaimPolicy').forbidden("may not be 'recycle' for a hostPath mount of '/'");
  }
  if (spec.storageClassName)
    at.child('storageClassName').invalidAll(spec.storageClassName, dnsSubdomainErrors(spec.storageClassName));
  if (spec.volumeMode !== undefined) at.child('volumeMode').oneOf(spec.volumeMode, volumeModes);
}

/** Exactly one source, and a valid one. */
export function validateSources(at: Field, spec: ReadonlySpec): void {
  const [first, ...more] = sources.filter((name) => spec[name] !== undefined);
  if (first === undefined) at.required('must specify a volume type');
  else validateVolumeSource(at.child(first), first, spec);
  for (const name of more) at.child(name).forbidden('may not specify more than 1 volume type');
}
