// Rules for probes and lifecycle handlers of containers. Source: pkg/apis/core/validation validateProbe, validateHandler,
// validateLifecycle.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { Container, Lifecycle, LifecycleHandler, PodSpec, Probe } from '@kapstan/kinds/core/v1';
import { portErrors } from '../../validation/value-rules.ts';

/** `at` is the container. */
export function validateProbes(at: Field, container: DeepReadonly<Container>): void {
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
  validateHandler(at, probe, undefined);
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

/** Requires exactly one complete handler. Source: validateHandler. */
function validateHandler(at: Field, handler: Handler, graceSeconds: number | undefined): void {
  const [first, ...more] = handlerNames.filter((name) => handler[name] !== undefined);
  if (first === undefined) return at.required('must specify a handler type');
  for (const name of more) at.child(name).forbidden('may not specify more than 1 handler type');
  const place = at.child(first);
  switch (first) {
    case 'exec':
      if ((handler.exec?.command?.length ?? 0) === 0) place.child('command').required();
      return;
    case 'httpGet':
      return validateHttpGet(place, handler.httpGet);
    case 'sleep': {
      const seconds = handler.sleep?.seconds ?? 0;
      if (graceSeconds === undefined || (seconds >= 0 && seconds <= graceSeconds)) return;
      return place.invalid(
        seconds,
        `must be non-negative and less than terminationGracePeriodSeconds (${graceSeconds})`,
      );
    }
    default:
      validatePort(place, handler[first]?.port ?? 0);
  }
}

function validateHttpGet(at: Field, action: Handler['httpGet']): void {
  if (!action?.path) at.child('path').required();
  validatePort(at, action?.port ?? 0);
  at.child('scheme').oneOf(action?.scheme, ['HTTP', 'HTTPS']);
  for (const { name } of action?.httpHeaders ?? []) {
    if (/^[-A-Za-z0-9]+$/.test(name)) continue;
    at.child('httpHeaders').invalid(
      name,
      "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
    );
  }
}

function validatePort(at: Field, port: number | string): void {
  at.child('port').invalidAll(port, portErrors(port));
}

/** `at` is the lifecycle. */
export function validateLifecycle(at: Field, lifecycle: DeepReadonly<Lifecycle>, spec: DeepReadonly<PodSpec>): void {
  for (const name of ['postStart', 'preStop'] as const) {
    const handler = lifecycle[name];
    if (handler !== undefined) validateHandler(at.child(name), handler, spec.terminationGracePeriodSeconds);
  }
}
