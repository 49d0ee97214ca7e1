// Rules for the spec of a claim: requests, constraints between them, configurations. Source:
// pkg/apis/resource/validation validateDeviceClaim.
import type { DeepReadonly } from '@kapstan/api';
import { dnsLabelErrors, dnsSubdomainErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type {
  DeviceClaim,
  DeviceConstraint,
  DeviceRequest,
  DeviceSubRequest,
  ExactDeviceRequest,
} from '@kapstan/kinds/resource.k8s.io/v1';
import {
  maxListItems,
  validateConfiguration,
  validateFullName,
  validateItems,
  validateSelectors,
  validateToleration,
  validateUnique,
} from '../device-validation.ts';

const maxAlternatives = 8;

export function validateDeviceClaim(at: Field, claim: DeepReadonly<DeviceClaim>): void {
  const names = requestNames(claim);
  validateItems(at.child('requests'), claim.requests, (request, place) => validateRequest(place, request));
  if ((claim.requests?.length ?? 0) <= maxListItems)
    validateUnique(at.child('requests'), claim.requests, ({ name }) => name);
  validateItems(at.child('constraints'), claim.constraints, (constraint, place) =>
    validateConstraint(place, constraint, names),
  );
  validateItems(at.child('config'), claim.config, (config, place) => {
    validateReferences(place.child('requests'), config.requests, names);
    validateConfiguration(place, config);
  });
}

/** Returns names such as "request" and "request/alternative". */
export function requestNames(claim: DeepReadonly<DeviceClaim>): ReadonlySet<string> {
  return new Set(
    (claim.requests ?? []).flatMap(({ name, firstAvailable }) => [
      name,
      ...(firstAvailable ?? []).map((alternative) => `${name}/${alternative.name}`),
    ]),
  );
}

function validateRequest(at: Field, request: DeepReadonly<DeviceRequest>): void {
  const { name, exactly, firstAvailable = [] } = request;
  at.child('name').invalidAll(name, dnsLabelErrors(name));
  const either = 'exactly one of `exactly` or `firstAvailable` is required';
  if (exactly === undefined && firstAvailable.length === 0) return at.required(either);
  if (exactly !== undefined && firstAvailable.length > 0)
    return at.invalid(null, `${either}, but multiple fields are set`);
  if (exactly !== undefined) return validateDevices(at.child('exactly'), exactly);
  const place = at.child('firstAvailable');
  if (firstAvailable.length > maxAlternatives) return place.tooMany(firstAvailable.length, maxAlternatives);
  place.each(firstAvailable, (alternative, item) => {
    item.child('name').invalidAll(alternative.name, dnsLabelErrors(alternative.name));
    validateDevices(item, alternative);
  });
  validateUnique(place, firstAvailable, (alternative) => alternative.name);
}

function validateDevices(at: Field, wanted: DeepReadonly<ExactDeviceRequest | DeviceSubRequest>): void {
  const { deviceClassName, allocationMode = '', count = 0, tolerations = [] } = wanted;
  const className = at.child('deviceClassName');
  if (className.present(deviceClassName)) className.invalidAll(deviceClassName, dnsSubdomainErrors(deviceClassName));
  validateSelectors(at.child('selectors'), wanted.selectors);
  const mode = at.child('allocationMode');
  if (allocationMode === 'All') {
    if (count !== 0) at.child('count').invalid(count, "must not be specified when allocationMode is 'All'");
  } else if (allocationMode !== 'ExactCount') mode.notSupported(allocationMode, ['All', 'ExactCount']);
  else if (count <= 0) at.child('count').invalid(count, 'must be greater than zero');
  at.child('tolerations').each(tolerations, (toleration, place) => validateToleration(place, toleration));
}

function validateConstraint(at: Field, constraint: DeepReadonly<DeviceConstraint>, names: ReadonlySet<string>): void {
  validateReferences(at.child('requests'), constraint.requests, names);
  const { matchAttribute, distinctAttribute } = constraint;
  if (matchAttribute !== undefined) validateFullName(at.child('matchAttribute'), matchAttribute);
  else if (distinctAttribute !== undefined) validateFullName(at.child('distinctAttribute'), distinctAttribute);
  else at.required('exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set');
}

/** Source: validateRequestNameRef. */
export function validateReference(at: Field, reference: string, names: ReadonlySet<string>): void {
  const unknown =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
  const segments = reference.split('/');
  if (segments.length > 2) return at.invalid(reference, unknown);
  for (const segment of segments) at.invalidAll(segment, dnsLabelErrors(segment));
  if (!names.has(reference)) at.invalid(reference, unknown);
}

export function validateReferences(
  at: Field,
  references: readonly string[] | undefined,
  names: ReadonlySet<string>,
): void {
  validateItems(at, references, (reference, place) => validateReference(place, reference, names));
  if ((references?.length ?? 0) <= maxListItems) validateUnique(at, references, (reference) => reference);
}
