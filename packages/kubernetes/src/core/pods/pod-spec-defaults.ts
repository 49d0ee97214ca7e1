// Defaults of pods and pod templates. Source: pkg/apis/core/v1/defaults.go.
import { runWhole, type SlicedWork, SlicePace } from '@kapstan/api/internal';
import type {
  Container,
  EphemeralContainer,
  HTTPGetAction,
  LifecycleHandler,
  Pod,
  PodSpec,
  PodTemplateSpec,
  Probe,
  Volume,
} from '@kapstan/kinds/core/v1';
import { isLatest } from './image-name.ts';
import { setPodResourceDefaults } from './pod-resource-defaults.ts';
import { setVolumeDefaults } from './volume-defaults.ts';

/** Steps of a walk that the defaults of one container take. */
const stepsPerContainer = 4;

/**
 * Sets the defaults of a pod itself, which include requests from limits, host ports and service links. Source:
 * SetDefaults_Pod.
 */
export function setPodDefaults(pod: Pod): void {
  runWhole(podDefaultsInSlices(pod));
}

/** Does what {@link setPodDefaults} does, for a pod of any size. */
export function* podDefaultsInSlices(pod: Pod): SlicedWork<void> {
  const spec = pod.spec;
  if (spec === undefined) return;
  const pace = new SlicePace();
  yield* specDefaultsInSlices(spec, pace);
  for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    setRequestsFromLimits(container);
    if (pace.isDue(stepsPerContainer)) yield;
  }
  yield* setPodResourceDefaults(spec);
  spec.enableServiceLinks ??= true;
  if (spec.hostNetwork === true) setHostPorts(spec);
}

export function setPodTemplateDefaults(template: PodTemplateSpec | undefined): void {
  if (template?.spec !== undefined) runWhole(specDefaultsInSlices(template.spec, new SlicePace()));
}

/** Sets defaults of the spec and everything in it. Source: SetDefaults_PodSpec and others. */
function* specDefaultsInSlices(spec: PodSpec, pace: SlicePace): SlicedWork<void> {
  spec.restartPolicy ||= 'Always';
  spec.dnsPolicy ||= 'ClusterFirst';
  spec.schedulerName ||= 'default-scheduler';
  spec.terminationGracePeriodSeconds ??= 30;
  // The feature gate GenericWorkload is off.
  delete spec.schedulingGroup;
  spec.securityContext ??= {};
  for (const container of [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ]) {
    setContainerDefaults(container);
    if (pace.isDue(stepsPerContainer + (container.ports?.length ?? 0) + (container.env?.length ?? 0))) yield;
  }
  for (const volume of spec.volumes ?? []) {
    setVolumeDefaults(volume as Volume);
    if (pace.isDue()) yield;
  }
  // The old field gets the value of the new one. Source: Convert_core_PodSpec_To_v1_PodSpec.
  if (spec.serviceAccountName) spec.serviceAccount = spec.serviceAccountName;
  else if (spec.serviceAccount) spec.serviceAccountName = spec.serviceAccount;
}

function setContainerDefaults(container: Container | EphemeralContainer): void {
  container.imagePullPolicy ||= isLatest(container.image ?? '') ? 'Always' : 'IfNotPresent';
  container.terminationMessagePath ||= '/dev/termination-log';
  container.terminationMessagePolicy ||= 'File';
  for (const port of container.ports ?? []) port.protocol ||= 'TCP';
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.fieldRef) valueFrom.fieldRef.apiVersion ||= 'v1';
    if (valueFrom?.fileKeyRef) valueFrom.fileKeyRef.optional ??= false;
  }
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe])
    setProbeDefaults(probe);
  for (const handler of [container.lifecycle?.postStart, container.lifecycle?.preStop]) setHandlerDefaults(handler);
  dropStopSignal(container);
}

/** The feature gate ContainerStopSignals is off. Source: dropContainerStopSignals. */
function dropStopSignal(container: Container | EphemeralContainer): void {
  if (container.lifecycle?.stopSignal === undefined) return;
  const { stopSignal: _dropped, ...rest } = container.lifecycle;
  if (Object.keys(rest).length > 0) container.lifecycle = rest;
  else delete container.lifecycle;
}

function setProbeDefaults(probe: Probe | undefined): void {
  if (probe === undefined) return;
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  setHttpGetDefaults(probe.httpGet);
  if (probe.grpc) probe.grpc.service ??= '';
}

function setHandlerDefaults(handler: LifecycleHandler | undefined): void {
  setHttpGetDefaults(handler?.httpGet);
}

function setHttpGetDefaults(action: HTTPGetAction | undefined): void {
  if (action === undefined) return;
  action.path ||= '/';
  action.scheme ||= 'HTTP';
}

function setRequestsFromLimits({ resources }: Container): void {
  if (resources?.limits === undefined) return;
  resources.requests = { ...resources.limits, ...resources.requests };
}

function setHostPorts(spec: PodSpec): void {
  for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    for (const port of container.ports ?? []) port.hostPort ||= port.containerPort;
  }
}
