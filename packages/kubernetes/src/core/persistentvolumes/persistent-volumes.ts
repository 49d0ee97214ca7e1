// Persistent volumes. Source: pkg/registry/core/persistentvolume, pkg/apis/core/validation ValidatePersistentVolumeSpec.
import { type DeepReadonly, formatTime } from '@kapstan/api';
import { dnsLabelErrors, dnsSubdomainErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { PersistentVolume, PersistentVolumeSpec } from '@kapstan/kinds/core/v1';
import type { BuiltinKind, BuiltinServer } from '../../builtin/builtin-kind.ts';
import { internalForm } from '../../validation/internal-form.ts';
import { internalDiff } from '../../validation/json-diff.ts';
import { goStringMap } from '../../validation/label-rules.ts';
import { amount, validatePositiveAmount } from '../../validation/resource-rules.ts';
import { validateAccessModes, volumeModes } from '../persistentvolumeclaims/claim-validation.ts';
import { validateNodeSelector } from '../pods/scheduling-validation.ts';
import { setSourceDefaults } from '../pods/volume-defaults.ts';
import { validateSecretName, validateVolumeSource } from '../pods/volume-source-validation.ts';
import { refusedAs } from '../pods/volume-validation.ts';
import { volumeWarnings } from './volume-warnings.ts';

export function persistentVolumes(server: BuiltinServer): BuiltinKind<PersistentVolume> {
  return {
    id: 'v1/persistentvolumes',
    strategy: { updateMetadata: 'whole' },
    returnsDeletedObject: true,
    warnings: volumeWarnings,
    repeatsValidation: true,
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
    validate: (root, { metadata, spec }) => validateSpec(root.child('spec'), spec ?? {}, metadata?.name ?? ''),
    validateChange: (root, next, old) => {
      const [before, after] = [sourceOf(old.spec), withoutNewExpandSecret(next, old)];
      if (!jsonEqual(before, after)) {
        root
          .child('spec', 'persistentvolumesource')
          .forbidden(
            `spec.persistentvolumesource is immutable after creation\n${internalDiff('core.PersistentVolumeSource', before, after)}`,
          );
      }
      root.child('volumeMode').immutable(next.spec?.volumeMode, next.spec?.volumeMode === old.spec?.volumeMode);
      validateKeptAffinity(root.child('nodeAffinity'), next.spec?.nodeAffinity, old.spec?.nodeAffinity);
      const wasNamed = old.spec?.volumeAttributesClassName !== undefined;
      if (wasNamed && next.spec?.volumeAttributesClassName === undefined)
        root.child('spec', 'volumeAttributesClassName').forbidden('update from non-nil value to nil is forbidden');
    },
    status: {
      prepare: (next, old) => {
        const { status = {} } = next;
        const before = old.status?.lastPhaseTransitionTime;
        const given = status.lastPhaseTransitionTime;
        if (status.phase !== old.status?.phase) {
          if (given === undefined || given === before) status.lastPhaseTransitionTime = formatTime(server.clock.now());
        } else if (given === undefined && before !== undefined) status.lastPhaseTransitionTime = before;
        next.status = status;
      },
    },
  };
}

/** Only beta labels may be replaced, by the labels that took their place. Source: validatePvNodeAffinity. */
function validateKeptAffinity(at: Field, next: ReadonlySpec['nodeAffinity'], old: ReadonlySpec['nodeAffinity']): void {
  if (old === undefined || jsonEqual(next, withNewLabels(old, next))) return;
  const shown = internalForm('core.VolumeNodeAffinity', next);
  at.invalid(shown, 'field is immutable, except for updating from beta label to GA');
}

const newLabels: ReadonlyMap<string, string> = new Map([
  ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['failure-domain.beta.kubernetes.io/region', 'topology.kubernetes.io/region'],
  ['beta.kubernetes.io/os', 'kubernetes.io/os'],
  ['beta.kubernetes.io/arch', 'kubernetes.io/arch'],
  ['beta.kubernetes.io/instance-type', 'node.kubernetes.io/instance-type'],
]);

/** Returns the old affinity with the new label wherever `next` has it. */
function withNewLabels(old: NonNullable<ReadonlySpec['nodeAffinity']>, next: ReadonlySpec['nodeAffinity']): unknown {
  const copy = structuredClone(old) as NonNullable<PersistentVolumeSpec['nodeAffinity']>;
  for (const [place, term] of (copy.required?.nodeSelectorTerms ?? []).entries()) {
    const after = next?.required?.nodeSelectorTerms?.[place]?.matchExpressions;
    for (const [index, expression] of (term.matchExpressions ?? []).entries()) {
      const label = newLabels.get(expression.key);
      if (label !== undefined && after?.[index]?.key === label) expression.key = label;
    }
  }
  return copy;
}

/** Sources in the order of the Go function. */
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

/** Removes the secret for expansion, which may be added later, from the comparison. */
function withoutNewExpandSecret(next: DeepReadonly<PersistentVolume>, old: DeepReadonly<PersistentVolume>): unknown {
  const after = sourceOf(next.spec);
  if (next.spec?.csi === undefined || old.spec?.csi === undefined) return after;
  if (old.spec.csi.controllerExpandSecretRef !== undefined) return after;
  const { controllerExpandSecretRef: _new, ...csi } = next.spec.csi;
  return { ...(after as object), csi };
}

function validateSpec(at: Field, spec: ReadonlySpec, name: string): void {
  const modes = spec.accessModes ?? [];
  if (modes.length === 0) at.child('accessModes').required();
  validateAccessModes(at.child('accessModes'), modes);
  validateCapacity(at.child('capacity'), spec);
  if (spec.persistentVolumeReclaimPolicy)
    at.child('persistentVolumeReclaimPolicy').oneOf(spec.persistentVolumeReclaimPolicy, [
      'Delete',
      'Recycle',
      'Retain',
    ]);
  validateNodeAffinity(at.child('nodeAffinity'), spec);
  validateSources(at, spec, name);
  if (spec.hostPath?.path === '/' && spec.persistentVolumeReclaimPolicy === 'Recycle') {
    at.child('persistentVolumeReclaimPolicy').forbidden("may not be 'recycle' for a hostPath mount of '/'");
  }
  if (spec.storageClassName)
    at.child('storageClassName').invalidAll(spec.storageClassName, dnsSubdomainErrors(spec.storageClassName));
  if (spec.volumeMode !== undefined) at.child('volumeMode').oneOf(spec.volumeMode, volumeModes);
  validateAttributes(at, spec);
}

function validateCapacity(at: Field, { capacity }: ReadonlySpec): void {
  const names = Object.keys(capacity ?? {});
  if (names.length === 0) at.required();
  if (capacity?.storage === undefined || names.length > 1) at.notSupported(goStringMap(capacity), ['storage']);
  at.eachKey(capacity, (_name, value, place) => {
    const whole = amount(value).scaledValue(0);
    if (whole < 0n) place.invalid(Number(whole), 'must be a valid resource quantity');
    validatePositiveAmount(place, value);
  });
}

function validateNodeAffinity(at: Field, { nodeAffinity }: ReadonlySpec): void {
  if (nodeAffinity === undefined) return;
  if (nodeAffinity.required === undefined) at.child('required').required('must specify required node constraints');
  else validateNodeSelector(at.child('required'), nodeAffinity.required);
}

/** Requires exactly one valid source. `name` is the volume's. */
export function validateSources(at: Field, spec: ReadonlySpec, name: string): void {
  const [first, ...more] = sources.filter((source) => spec[source] !== undefined);
  if (first === undefined) return at.required('must specify a volume type');
  validateVolumeSource(at, first, spec);
  validateOwnRules(at.child(first), first, spec);
  for (const other of more) {
    // Kubernetes does not count this source, and checks it nevertheless.
    if (other === 'flexVolume') validateVolumeSource(at, other, spec);
    else at.child(refusedAs[other] ?? other).forbidden('may not specify more than 1 volume type');
  }
  if (first === 'local' && spec.nodeAffinity === undefined)
    at.child('nodeAffinity').required('Local volume requires node affinity');
  const { iscsi } = spec;
  if (first === 'iscsi' && iscsi?.initiatorName !== undefined) {
    if (Buffer.byteLength(`${name}:${iscsi.targetPortal}`) > 64)
      at.child('iscsi', 'targetportal').invalid(
        iscsi.targetPortal,
        'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.',
      );
  }
}

/** Checks the rules that persistent volumes have and volumes of pods have not: their secrets name a namespace. */
function validateOwnRules(at: Field, source: (typeof sources)[number], spec: ReadonlySpec): void {
  switch (source) {
    case 'glusterfs': {
      const namespace = spec.glusterfs?.endpointsNamespace;
      if (namespace === '')
        at.child('endpointsNamespace').invalid(
          '',
          'if the endpointnamespace is set, it must be a valid namespace name',
        );
      else if (namespace !== undefined) at.child('endpointsNamespace').invalidAll(namespace, dnsLabelErrors(namespace));
      return;
    }
    case 'azureFile':
      if (spec.azureFile?.secretNamespace === '') at.child('secretNamespace').required();
      return;
    case 'iscsi':
      return validateSecretName(at, spec.iscsi?.secretRef, ['name']);
    case 'cinder':
      return validateSecretName(at, spec.cinder?.secretRef, ['name', 'namespace']);
    case 'storageos':
      return validateSecretName(at, spec.storageos?.secretRef, ['name', 'namespace']);
    case 'csi':
      return validateCsi(at, spec);
    default:
      return;
  }
}

const csiSecrets = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodePublishSecretRef',
  'nodeExpandSecretRef',
] as const;

function validateCsi(at: Field, { csi }: ReadonlySpec): void {
  if (!csi?.volumeHandle) at.child('volumeHandle').required();
  for (const name of csiSecrets) {
    const secret = csi?.[name];
    if (secret === undefined) continue;
    const place = at.child(name);
    if (!secret.name) place.child('name').required();
    else place.child('name').invalidAll(secret.name, dnsSubdomainErrors(secret.name));
    if (!secret.namespace) place.child('namespace').required();
    else place.child('namespace').invalidAll(secret.namespace, dnsLabelErrors(secret.namespace));
  }
}

function validateAttributes(at: Field, spec: ReadonlySpec): void {
  const name = spec.volumeAttributesClassName;
  if (name === undefined) return;
  if (name === '') at.child('volumeAttributesClassName').required('an empty string is disallowed');
  else at.child('volumeAttributesClassName').invalidAll(name, dnsSubdomainErrors(name));
  if (spec.csi === undefined) at.child('csi').required('has to be specified when using volumeAttributesClassName');
}
