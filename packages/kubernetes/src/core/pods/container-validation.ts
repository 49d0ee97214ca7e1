// Rules for the containers of a pod. Parts of them: probe-validation.ts, restart-validation.ts, mount-validation.ts,
// security-validation.ts, env-validation.ts. Source: pkg/apis/core/validation validateContainers.
import type { DeepReadonly } from '@kapstan/api';
import { dnsLabelErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { Container, ContainerPort, EphemeralContainer, PodSpec } from '@kapstan/kinds/core/v1';
import { validateResourceRequirements } from '../../validation/resource-rules.ts';
import { portNameErrors, portNumberErrors } from '../../validation/value-rules.ts';
import { validateEnv, validateEnvFrom } from './env-validation.ts';
import { type NamedVolumes, validateVolumeDevices, validateVolumeMounts } from './mount-validation.ts';
import { validateLifecycle, validateProbes } from './probe-validation.ts';
import { validateContainerRestart, validateInitRestart, validateResizePolicy } from './restart-validation.ts';
import { validateSecurityContext } from './security-validation.ts';

type ReadonlySpec = DeepReadonly<PodSpec>;
type ReadonlyContainer = DeepReadonly<Container>;
type AnyContainer = ReadonlyContainer | DeepReadonly<EphemeralContainer>;

/** Parts of the pod that a container may refer to. */
export interface ContainerScope {
  readonly spec: ReadonlySpec;
  /** Valid volumes only. */
  readonly volumes: NamedVolumes;
  readonly claimNames: ReadonlySet<string>;
  /** In a template, fewer rules apply to pods than in a pod. */
  readonly owner: 'pod' | 'template';
}

/** Checks all containers of a pod. Regular, init and ephemeral containers must not share names. */
export function validateContainers(at: Field, scope: ContainerScope): void {
  const { spec } = scope;
  const names = new Set<string>();
  const regular = at.child('containers');
  if ((spec.containers?.length ?? 0) === 0) regular.required();
  regular.each(spec.containers, (container, place) => {
    validateContainer(place, container, scope);
    takeName(place, container.name, names);
    if (container.lifecycle !== undefined) validateLifecycle(place.child('lifecycle'), container.lifecycle, spec);
    validateProbes(place, container);
    validateContainerRestart(place, container);
  });
  validateHostPorts(regular, spec.containers ?? []);
  at.child('initContainers').each(spec.initContainers, (container, place) => {
    validateContainer(place, container, scope);
    takeName(place, container.name, names);
    if (container.name === '') names.delete('');
    validateInitContainer(place, container, spec);
    validateHostPorts(at.child('initContainers'), [container]);
  });
  const targets = new Set([...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(({ name }) => name));
  at.child('ephemeralContainers').each(spec.ephemeralContainers, (container, place) => {
    validateContainer(place, container, scope);
    takeName(place, container.name, names);
    validateEphemeralContainer(place, container, targets);
  });
  validateHostNetworkPorts(regular, scope);
}

function takeName(at: Field, name: string, names: Set<string>): void {
  if (names.has(name)) at.child('name').duplicate(name);
  names.add(name);
}

/** Checks the common parts of all kinds of containers. Source: validateContainerCommon, validateContainerOnlyForPod. */
function validateContainer(at: Field, container: AnyContainer, scope: ContainerScope): void {
  const { spec, volumes, claimNames } = scope;
  const { name, image = '' } = container;
  if (name === '') at.child('name').required();
  else at.child('name').invalidAll(name, dnsLabelErrors(name));
  if (image === '') at.child('image').required();
  else if (scope.owner === 'pod' && image !== image.trim())
    at.child('image').invalid(image, 'must not have leading or trailing whitespace');
  validateTermination(at, container);
  validatePorts(at.child('ports'), container.ports);
  validateEnv(at.child('env'), container.env);
  validateEnvFrom(at.child('envFrom'), container.envFrom);
  validateVolumeMounts(at, container, volumes);
  validateVolumeDevices(at, container, volumes);
  at.child('imagePullPolicy').oneOf(container.imagePullPolicy, ['Always', 'IfNotPresent', 'Never']);
  validateResourceRequirements(at.child('resources'), container.resources, { claimNames });
  validateResizePolicy(at.child('resizePolicy'), container.resizePolicy, spec.restartPolicy);
  if (container.securityContext !== undefined)
    validateSecurityContext(at.child('securityContext'), container.securityContext, spec.hostUsers);
}

function validateTermination(at: Field, container: ReadonlyContainer | DeepReadonly<EphemeralContainer>): void {
  const policy = container.terminationMessagePolicy ?? '';
  if (policy === '') at.child('terminationMessagePolicy').required();
  else at.child('terminationMessagePolicy').oneOf(policy, ['File', 'FallbackToLogsOnError']);
}

const protocols = ['SCTP', 'TCP', 'UDP'];

function validatePorts(at: Field, ports: readonly DeepReadonly<ContainerPort>[] | undefined): void {
  const names = new Set<string>();
  at.each(ports, (port, place) => {
    validatePortName(place.child('name'), port.name ?? '', names);
    if (!port.containerPort) place.child('containerPort').required();
    else place.child('containerPort').invalidAll(port.containerPort, portNumberErrors(port.containerPort));
    if (port.hostPort) place.child('hostPort').invalidAll(port.hostPort, portNumberErrors(port.hostPort));
    if (!port.protocol) place.child('protocol').required();
    else place.child('protocol').oneOf(port.protocol, protocols);
  });
}

/** With the host's network, a container port is a port of the host. Source: validatePodHostNetworkDeps. */
function validateHostNetworkPorts(at: Field, { spec, owner }: ContainerScope): void {
  if (spec.hostNetwork !== true) return;
  at.each(spec.containers, ({ ports }, place) => {
    place.child('ports').each(ports, ({ hostPort = 0, containerPort }, portPlace) => {
      if (hostPort !== containerPort && (owner === 'pod' || hostPort !== 0))
        portPlace.child('hostPort').invalid(hostPort, 'must match `containerPort` when `hostNetwork` is true');
    });
  });
}

function validatePortName(at: Field, name: string, names: Set<string>): void {
  if (name === '') return;
  const errors = portNameErrors(name);
  at.invalidAll(name, errors);
  if (errors.length > 0) return;
  if (names.has(name)) at.duplicate(name);
  names.add(name);
}

/** Two containers may not use the same port of the host. Source: checkHostPortConflicts. */
function validateHostPorts(at: Field, containers: readonly ReadonlyContainer[]): void {
  const taken = new Set<string>();
  at.each(containers, (container, place) => {
    place.child('ports').each(container.ports, (port, portPlace) => {
      if (!port.hostPort) return;
      const id = `${port.protocol ?? ''}/${port.hostIP ?? ''}/${port.hostPort}`;
      if (taken.has(id)) portPlace.child('hostPort').duplicate(id);
      taken.add(id);
    });
  });
}

function validateInitContainer(at: Field, container: ReadonlyContainer, spec: ReadonlySpec): void {
  validateInitRestart(at, container);
  if (container.restartPolicy === 'Always') {
    if (container.lifecycle !== undefined) validateLifecycle(at.child('lifecycle'), container.lifecycle, spec);
    return validateProbes(at, container);
  }
  const refused = 'may not be set for init containers without restartPolicy=Always';
  for (const name of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
    if (container[name] !== undefined) at.child(name).forbidden(refused);
  }
  at.child('resizePolicy').each(container.resizePolicy, ({ restartPolicy }, place) => {
    if (restartPolicy === 'RestartContainer')
      place
        .child('restartPolicy')
        .invalid(restartPolicy, "must not be set to 'RestartContainer' for non-sidecar initContainers");
  });
}

const notForEphemeral = [
  'ports',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
] as const;

function validateEphemeralContainer(
  at: Field,
  container: DeepReadonly<EphemeralContainer>,
  targets: ReadonlySet<string>,
): void {
  const target = container.targetContainerName ?? '';
  if (target !== '' && !targets.has(target)) at.child('targetContainerName').notFound(target);
  for (const name of notForEphemeral) {
    if (container[name] !== undefined) at.child(name).forbidden('cannot be set for an Ephemeral Container');
  }
  const resources = container.resources ?? {};
  if (Object.keys(resources).length > 0) at.child('resources').forbidden('cannot be set for an Ephemeral Container');
  at.child('volumeMounts').each(container.volumeMounts, (mount, place) => {
    if (mount.subPath) place.child('subPath').forbidden('cannot be set for an Ephemeral Container');
    if (mount.subPathExpr) place.child('subPathExpr').forbidden('cannot be set for an Ephemeral Container');
  });
}
