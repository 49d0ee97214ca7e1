// Rules for the containers of a pod. Source: pkg/apis/core/validation validateContainers.
import { type DeepReadonly, dnsLabelErrors } from '@kapstan/api';
import type {
  Container,
  ContainerPort,
  EphemeralContainer,
  LifecycleHandler,
  PodSpec,
  Probe,
} from '@kapstan/kinds/core/v1';
import type { Field } from '../../validation/field.ts';
import { validateResourceRequirements } from '../../validation/resource-rules.ts';
import { portErrors, portNameErrors, portNumberErrors } from '../../validation/value-rules.ts';
import { validateEnv, validateEnvFrom } from './env-validation.ts';
import { validateVolumeMounts } from './volume-validation.ts';

type ReadonlySpec = DeepReadonly<PodSpec>;
type ReadonlyContainer = DeepReadonly<Container>;

/** All containers of a pod: regular, init and ephemeral ones share their names. */
export function validateContainers(at: Field, spec: ReadonlySpec): void {
  const names = new Set<string>();
  const regular = at.child('containers');
  if ((spec.containers?.length ?? 0) === 0) regular.required();
  regular.each(spec.containers, (container, place) => {
    validateName(place, container.name, names);
    validateContainer(place, container, spec);
    validateProbes(place, container);
    validateLifecycle(place, container, spec);
  });
  at.child('initContainers').each(spec.initContainers, (container, place) => {
    validateName(place, container.name, names);
    validateContainer(place, container, spec);
    validateInitContainer(place, container, spec);
  });
  at.child('ephemeralContainers').each(spec.ephemeralContainers, (container, place) => {
    validateName(place, container.name, names);
    validateContainer(place, container, spec);
    validateEphemeralContainer(place, container, spec);
  });
  validateHostPortConflicts(at, spec);
}

function validateName(at: Field, name: string, names: Set<string>): void {
  const place = at.child('name');
  if (name === '') place.required();
  else place.invalidAll(name, dnsLabelErrors(name));
  if (name !== '' && names.has(name)) place.duplicate(name);
  names.add(name);
}

function validateContainer(
  at: Field,
  container: ReadonlyContainer | DeepReadonly<EphemeralContainer>,
  spec: ReadonlySpec,
): void {
  const image = container.image ?? '';
  if (image === '') at.child('image').required();
  else if (image !== image.trim()) at.child('image').invalid(image, 'must not have leading or trailing whitespace');
  validateTermination(at, container);
  validatePorts(at.child('ports'), container.ports, spec.hostNetwork === true);
  validateEnv(at.child('env'), container.env);
  validateEnvFrom(at.child('envFrom'), container.envFrom);
  validateVolumeMounts(at.child('volumeMounts'), container, spec);
  at.child('imagePullPolicy').oneOf(container.imagePullPolicy, ['Always', 'IfNotPresent', 'Never']);
  validateResourceRequirements(at.child('resources'), container.resources);
}

function validateTermination(at: Field, container: ReadonlyContainer | DeepReadonly<EphemeralContainer>): void {
  const policy = container.terminationMessagePolicy ?? '';
  if (policy === '') at.child('terminationMessagePolicy').required();
  else at.child('terminationMessagePolicy').oneOf(policy, ['File', 'FallbackToLogsOnError']);
}

const protocols = ['SCTP', 'TCP', 'UDP'];

function validatePorts(
  at: Field,
  ports: readonly DeepReadonly<ContainerPort>[] | undefined,
  isHostNetwork: boolean,
): void {
  const names = new Set<string>();
  at.each(ports, (port, place) => {
    validatePortName(place.child('name'), port.name ?? '', names);
    if (!port.containerPort) place.child('containerPort').required();
    else place.child('containerPort').invalidAll(port.containerPort, portNumberErrors(port.containerPort));
    if (port.hostPort) place.child('hostPort').invalidAll(port.hostPort, portNumberErrors(port.hostPort));
    if (!port.protocol) place.child('protocol').required();
    else place.child('protocol').oneOf(port.protocol, protocols);
    if (isHostNetwork && port.hostPort !== port.containerPort) {
      place.child('hostPort').invalid(port.hostPort ?? 0, 'must match `containerPort` when `hostNetwork` is true');
    }
  });
}

function validatePortName(at: Field, name: string, names: Set<string>): void {
  if (name === '') return;
  const errors = portNameErrors(name);
  at.invalidAll(name, errors);
  if (errors.length === 0 && names.has(name)) at.duplicate(name);
  names.add(name);
}

/** Two containers may not take one port of the host. Source: checkHostPortConflicts. */
function validateHostPortConflicts(at: Field, spec: ReadonlySpec): void {
  const taken = new Set<string>();
  at.child('containers').each(spec.containers, (container, place) => {
    place.child('ports').each(container.ports, (port, portPlace) => {
      if (!port.hostPort) return;
      const id = `${port.protocol ?? ''}/${port.hostIP ?? ''}/${port.hostPort}`;
      if (taken.has(id)) portPlace.child('hostPort').duplicate(id);
      taken.add(id);
    });
  });
}

function validateProbes(at: Field, container: ReadonlyContainer): void {
  const { livenessProbe, readinessProbe, startupProbe } = container;
  for (const [name, probe] of Object.entries({ livenessProbe, readinessProbe, startupProbe })) {
    if (probe === undefined) continue;
    const place = at.child(name);
    validateProbe(place, probe);
    if (name !== 'readinessProbe' && probe.successThreshold !== 1)
      place.child('successThreshold').invalid(probe.successThreshold ?? 0, 'must be 1');
  }
  if (readinessProbe?.terminationGracePeriodSeconds !== undefined) {
    at.child('readinessProbe', 'terminationGracePeriodSeconds').invalid(
      readinessProbe.terminationGracePeriodSeconds,
      'must not be set for readinessProbes',
    );
  }
}

function validateProbe(at: Field, probe: DeepReadonly<Probe>): void {
  validateHandler(at, probe);
  for (const name of [
    'initialDelaySeconds',
    'timeoutSeconds',
    'periodSeconds',
    'successThreshold',
    'failureThreshold',
  ] as const) {
    at.child(name).nonNegative(probe[name]);
  }
  if (probe.terminationGracePeriodSeconds !== undefined && probe.terminationGracePeriodSeconds <= 0) {
    at.child('terminationGracePeriodSeconds').invalid(probe.terminationGracePeriodSeconds, 'must be greater than 0');
  }
}

const handlerNames = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'] as const;
type Handler = DeepReadonly<LifecycleHandler & Probe>;

/** Exactly one of the handlers, and it must be whole. Source: validateHandler. */
function validateHandler(at: Field, handler: Handler): void {
  const [first, ...more] = handlerNames.filter((name) => handler[name] !== undefined);
  if (first === undefined) return at.required('must specify a handler type');
  for (const name of more) at.child(name).forbidden('may not specify more than 1 handler type');
  const place = at.child(first);
  if (handler.exec !== undefined && first === 'exec' && (handler.exec.command?.length ?? 0) === 0)
    place.child('command').required();
  if (handler.httpGet !== undefined && first === 'httpGet') validateHttpGet(place, handler.httpGet);
  if (handler.tcpSocket !== undefined && first === 'tcpSocket') validatePort(place, handler.tcpSocket.port);
  if (handler.grpc !== undefined && first === 'grpc') validatePort(place, handler.grpc.port);
}

function validateHttpGet(at: Field, action: NonNullable<Handler['httpGet']>): void {
  if (!action.path) at.child('path').required();
  validatePort(at, action.port);
  at.child('scheme').oneOf(action.scheme, ['HTTP', 'HTTPS']);
  at.child('httpHeaders').each(action.httpHeaders, (header, place) => {
    if (/^[-A-Za-z0-9]+$/.test(header.name)) return;
    place
      .child('name')
      .invalid(
        header.name,
        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
      );
  });
}

function validatePort(at: Field, port: number | string): void {
  at.child('port').invalidAll(port, portErrors(port));
}

function validateLifecycle(at: Field, container: ReadonlyContainer, spec: ReadonlySpec): void {
  const { postStart, preStop } = container.lifecycle ?? {};
  const place = at.child('lifecycle');
  if (postStart !== undefined) validateHandler(place.child('postStart'), postStart);
  if (preStop !== undefined) validateHandler(place.child('preStop'), preStop);
  const grace = spec.terminationGracePeriodSeconds ?? 0;
  for (const [name, handler] of Object.entries({ postStart, preStop })) {
    const seconds = handler?.sleep?.seconds;
    if (seconds === undefined || (seconds >= 0 && seconds <= grace)) continue;
    place
      .child(name, 'sleep')
      .invalid(seconds, `must be non-negative and less than terminationGracePeriodSeconds (${grace})`);
  }
}

function validateInitContainer(at: Field, container: ReadonlyContainer, spec: ReadonlySpec): void {
  if (container.restartPolicy === 'Always') {
    validateLifecycle(at, container, spec);
    return validateProbes(at, container);
  }
  const refused = 'may not be set for init containers without restartPolicy=Always';
  for (const name of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
    if (container[name] !== undefined) at.child(name).forbidden(refused);
  }
}

const notForEphemeral = [
  'ports',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
  'resizePolicy',
] as const;

function validateEphemeralContainer(at: Field, container: DeepReadonly<EphemeralContainer>, spec: ReadonlySpec): void {
  const target = container.targetContainerName ?? '';
  const known = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].some((other) => other.name === target);
  if (target !== '' && !known) at.child('targetContainerName').notFound(target);
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
