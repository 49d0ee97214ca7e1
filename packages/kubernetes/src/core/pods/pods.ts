// Pods. Source: pkg/registry/core/pod/strategy.go, pkg/apis/core/validation ValidatePodCreate, ValidatePodUpdate.
import type { DeepReadonly } from '@kapstan/api';
import type { Pod, PodStatus } from '@kapstan/kinds/core/v1';
import type { BuiltinKind, BuiltinServer } from '../../builtin/builtin-kind.ts';
import { validateAnnotationChange, validatePodAnnotations, validateProfileMatches } from './annotation-validation.ts';
import { syncAppArmor } from './app-armor.ts';
import { bindingSubresource } from './binding.ts';
import { podProxySubresource, streamSubresources } from './connect.ts';
import { ephemeralContainersSubresource } from './ephemeral-containers.ts';
import { evictionSubresource } from './eviction.ts';
import { applyLabelKeys } from './label-keys.ts';
import { logSubresource } from './log.ts';
import { podDefaultsInSlices, setPodDefaults } from './pod-spec-defaults.ts';
import { validatePodChange } from './pod-update-validation.ts';
import { validatePod } from './pod-validation.ts';
import { appArmorWarning, hostNameWarnings, podWarnings } from './pod-warnings.ts';
import { qosClassOf } from './qos-class.ts';
import { resizeSubresource } from './resize.ts';
import { podStatusWarnings, preparePodStatus, validatePodStatus } from './status-validation.ts';

export function pods(server: BuiltinServer): BuiltinKind<Pod> {
  return {
    id: 'v1/pods',
    returnsDeletedObject: true,
    strategy: { gracePeriodSeconds, updateMetadata: 'both' },
    setDefaults: (object) => {
      setPodDefaults(object);
      limitGracePeriod(object);
      syncPodIps(object.status);
    },
    setDefaultsInSlices: function* (object) {
      yield* podDefaultsInSlices(object);
      limitGracePeriod(object);
      syncPodIps(object.status);
    },
    prepareForCreate: (object, context) => {
      object.status = { phase: 'Pending', qosClass: qosClassOf(object.spec) };
      if ((object.spec?.schedulingGates?.length ?? 0) > 0) object.status.conditions = [gatedCondition];
      applyLabelKeys(object);
      for (const key of syncAppArmor(object)) context.warn(appArmorWarning('', key));
    },
    validateCreate: (root, { metadata, spec }) => {
      const at = root.child('spec');
      validateProfileMatches(at, metadata?.annotations, spec);
      if ((spec?.ephemeralContainers?.length ?? 0) > 0)
        at.child('ephemeralContainers').forbidden('cannot be set on create');
      if (spec?.nodeName && (spec.schedulingGates?.length ?? 0) > 0) {
        at.child('nodeName').forbidden('cannot be set until all schedulingGates have been cleared');
      }
    },
    validate: validatePod,
    validateChange: (root, next, old) => {
      const annotations = root.child('metadata', 'annotations');
      validateAnnotationChange(annotations, next.metadata?.annotations, old.metadata?.annotations);
      // Kubernetes checks them twice, too.
      validatePodAnnotations(annotations, next.metadata?.annotations, next.spec);
      validatePodChange(root.child('spec'), next, old);
    },
    // Updates give no warnings, because programs and not people make them.
    warnings: (object, old) =>
      old === undefined ? [...hostNameWarnings(object, "the Pod's hostname"), ...podWarnings(object)] : [],
    fields: podFields,
    indexedFields: ['spec.nodeName'],
    status: {
      prepare: preparePodStatus,
      validate: validatePodStatus,
      warnings: podStatusWarnings,
      resetFields: [
        ['metadata', 'deletionTimestamp'],
        ['metadata', 'ownerReferences'],
      ],
    },
    subresources: [
      bindingSubresource(server),
      evictionSubresource(server),
      ephemeralContainersSubresource(server.capabilities),
      resizeSubresource(server.capabilities),
      logSubresource(server),
      ...streamSubresources(server),
      podProxySubresource(),
    ],
  };
}

const gatedCondition: NonNullable<PodStatus['conditions']>[number] = {
  type: 'PodScheduled',
  status: 'False',
  reason: 'SchedulingGated',
  message: 'Scheduling is blocked due to non-empty scheduling gates',
};

/** A negative time is the shortest one. Source: Convert_v1_Pod_To_core_Pod. */
function limitGracePeriod({ spec }: Pod): void {
  if (spec?.terminationGracePeriodSeconds !== undefined && spec.terminationGracePeriodSeconds < 0)
    spec.terminationGracePeriodSeconds = 1;
}

/** A pod that has no node or has ended needs no grace; a negative time counts as one second. Source: CheckGracefulDelete. */
function gracePeriodSeconds(pod: DeepReadonly<Pod>, asked: number | undefined): number {
  const isOver = pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded';
  if (!pod.spec?.nodeName || isOver) return 0;
  const seconds = asked ?? pod.spec.terminationGracePeriodSeconds ?? 0;
  return seconds < 0 ? 1 : seconds;
}

/** The old field podIP has the first of podIPs. Source: Convert_v1_PodStatus_To_core_PodStatus. */
function syncPodIps(status: PodStatus | undefined): void {
  if (status === undefined) return;
  const first = status.podIPs?.[0]?.ip;
  if (status.podIP && first !== status.podIP) status.podIPs = [{ ip: status.podIP }];
  else if (!status.podIP && first) status.podIP = first;
}

function podFields({ spec, status }: DeepReadonly<Pod>): Readonly<Record<string, string>> {
  return {
    'spec.nodeName': spec?.nodeName ?? '',
    'spec.host': spec?.nodeName ?? '',
    'spec.restartPolicy': spec?.restartPolicy ?? '',
    'spec.schedulerName': spec?.schedulerName ?? '',
    'spec.serviceAccountName': spec?.serviceAccountName ?? '',
    'spec.hostNetwork': String(spec?.hostNetwork ?? false),
    'status.phase': status?.phase ?? '',
    'status.podIP': status?.podIPs?.[0]?.ip ?? '',
    'status.podIPs': status?.podIPs?.[0]?.ip ?? '',
    'status.nominatedNodeName': status?.nominatedNodeName ?? '',
  };
}
