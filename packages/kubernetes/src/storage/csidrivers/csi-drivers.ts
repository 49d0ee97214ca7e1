// CSI drivers. Source: pkg/apis/storage/v1/defaults.go, pkg/apis/storage/validation ValidateCSIDriver.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { CSIDriver, CSIDriverSpec } from '@kapstan/kinds/storage.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';

const minUpdatePeriodSeconds = 10;
const minTokenSeconds = 600;
const maxTokenSeconds = 2 ** 32;

const tokenAdvice =
  'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes';

export const csiDrivers: BuiltinKind<CSIDriver> = {
  id: 'storage.k8s.io/v1/csidrivers',
  returnsDeletedObject: true,
  setDefaults: ({ spec }) => {
    spec.attachRequired ??= true;
    spec.podInfoOnMount ??= false;
    spec.storageCapacity ??= false;
    spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType';
    if ((spec.volumeLifecycleModes?.length ?? 0) === 0) spec.volumeLifecycleModes = ['Persistent'];
    spec.requiresRepublish ??= false;
    spec.seLinuxMount ??= false;
  },
  // The feature gate of this field is off.
  prepareForCreate: ({ spec }) => void delete spec.preventPodSchedulingIfMissing,
  prepareForUpdate: ({ spec }) => void delete spec.preventPodSchedulingIfMissing,
  raisesGeneration: true,
  validate: (root, { spec }, old) => {
    const at = root.child('spec');
    validateSpec(at, spec);
    if (old === undefined) return;
    const { attachRequired, volumeLifecycleModes } = spec;
    // The path is wrong in Kubernetes, too.
    at.child('attachedRequired').immutable(attachRequired, attachRequired === old.spec.attachRequired);
    at.child('volumeLifecycleModes').immutable(
      volumeLifecycleModes,
      jsonEqual(volumeLifecycleModes, old.spec.volumeLifecycleModes),
    );
  },
  warnings: ({ spec }, old) => tokenWarnings(spec, old?.spec),
};

function validateSpec(at: Field, spec: DeepReadonly<CSIDriverSpec>): void {
  if (spec.fsGroupPolicy !== undefined)
    at.child('fsGroupPolicy').oneOf(spec.fsGroupPolicy, ['File', 'None', 'ReadWriteOnceWithFSType']);
  validateTokenRequests(at.child('tokenRequests'), spec.tokenRequests);
  for (const mode of spec.volumeLifecycleModes ?? [])
    at.child('volumeLifecycleModes').oneOf(mode, ['Persistent', 'Ephemeral']);
  const period = spec.nodeAllocatableUpdatePeriodSeconds;
  if (period !== undefined && period < minUpdatePeriodSeconds) {
    at.child('nodeAllocatableUpdatePeriodSeconds').invalid(
      period,
      `must be greater than or equal to ${minUpdatePeriodSeconds} seconds`,
    );
  }
  const inSecrets = spec.serviceAccountTokenInSecrets;
  if (inSecrets !== undefined && (spec.tokenRequests?.length ?? 0) === 0) {
    at.child('serviceAccountTokenInSecrets').invalid(
      inSecrets,
      'serviceAccountTokenInSecrets is set but no tokenRequests are specified',
    );
  }
}

function validateTokenRequests(at: Field, requests: DeepReadonly<CSIDriverSpec>['tokenRequests']): void {
  const audiences = new Set<string>();
  at.each(requests, ({ audience, expirationSeconds: seconds }, place) => {
    if (audiences.has(audience)) return place.child('audience').duplicate(audience);
    audiences.add(audience);
    if (seconds === undefined) return;
    const shown = place.child('expirationSeconds');
    if (seconds < minTokenSeconds) shown.invalid(seconds, 'may not specify a duration less than 10 minutes');
    if (seconds > maxTokenSeconds) shown.invalid(seconds, 'may not specify a duration larger than 2^32 seconds');
  });
}

/** Source: pkg/registry/storage/csidriver. */
function tokenWarnings(spec: DeepReadonly<CSIDriverSpec>, old: DeepReadonly<CSIDriverSpec> | undefined): string[] {
  const requests = spec.tokenRequests ?? [];
  if (requests.length === 0 || spec.serviceAccountTokenInSecrets !== undefined) return [];
  return jsonEqual(requests, old?.tokenRequests) ? [] : [tokenAdvice];
}
