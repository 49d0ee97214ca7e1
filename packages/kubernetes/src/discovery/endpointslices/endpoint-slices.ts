// Endpoint slices. Source: pkg/registry/discovery/endpointslice, pkg/apis/discovery/validation.
import type { DeepReadonly } from '@kapstan/api';
import { dnsLabelErrors, dnsSubdomainErrors, labelValueErrors, qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { Endpoint, EndpointHints, EndpointPort, EndpointSlice } from '@kapstan/kinds/discovery.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { repetitions } from '../../validation/repetition.ts';
import { canonicalIpErrors, ipErrors, specialIpErrors } from '../../validation/value-rules.ts';

const maxEndpoints = 1000;
const maxAddresses = 100;
const maxPorts = 20_000;
const maxHints = 8;

export const endpointSlices: BuiltinKind<EndpointSlice> = {
  id: 'discovery.k8s.io/v1/endpointslices',
  // Kubernetes compares the slice before it drops the topology, so an update that sends one raises the generation.
  strategy: { updateMetadata: 'whole', canonicalize: dropTopology },
  setDefaults: (object) => {
    for (const port of object.ports ?? []) {
      port.name ??= '';
      port.protocol ??= 'TCP';
    }
  },
  prepareForCreate: dropTopology,
  warnings: (object, old) =>
    old === undefined && object.addressType === 'FQDN' ? ['spec.addressType: FQDN endpoints are deprecated'] : [],
  validate: (root, object, old) => {
    const type = root.child('addressType');
    if (type.present(object.addressType)) type.oneOf(object.addressType, ['FQDN', 'IPv4', 'IPv6']);
    validatePorts(root.child('ports'), object.ports);
    // Objects stored before the rules became stricter may stay as they are.
    if (!jsonEqual(object.endpoints, old?.endpoints)) validateEndpoints(root.child('endpoints'), object);
    if (old !== undefined) type.immutable(object.addressType, object.addressType === old.addressType);
  },
};

/** Drops a field of v1beta1, which is no longer served. */
function dropTopology(slice: EndpointSlice): void {
  for (const endpoint of slice.endpoints ?? []) delete endpoint.deprecatedTopology;
}

function validateEndpoints(at: Field, slice: DeepReadonly<EndpointSlice>): void {
  const count = slice.endpoints?.length ?? 0;
  if (count > maxEndpoints) return at.tooMany(count, maxEndpoints);
  at.each(slice.endpoints, (endpoint, place) => validateEndpoint(place, endpoint, slice.addressType));
}

function validateEndpoint(at: Field, endpoint: DeepReadonly<Endpoint>, type: string): void {
  const addresses = endpoint.addresses ?? [];
  if (addresses.length === 0) at.child('addresses').required('must contain at least 1 address');
  else if (addresses.length > maxAddresses) at.child('addresses').tooMany(addresses.length, maxAddresses);
  addresses.forEach((address, index) => {
    validateAddress(at.child('addresses'), { address, index, type });
  });
  if (endpoint.nodeName !== undefined)
    at.child('nodeName').invalidAll(endpoint.nodeName, dnsSubdomainErrors(endpoint.nodeName));
  if (endpoint.hostname !== undefined)
    at.child('hostname').invalidAll(endpoint.hostname, dnsLabelErrors(endpoint.hostname));
  if (endpoint.hints !== undefined) validateHints(at.child('hints'), endpoint.hints);
}

interface Address {
  readonly address: string;
  readonly index: number;
  readonly type: string;
}

function validateAddress(at: Field, { address, index, type }: Address): void {
  const place = at.index(index);
  if (type === 'FQDN') return validateDomainName(place, address);
  if (type !== 'IPv4' && type !== 'IPv6') return;
  const errors = type === 'IPv4' ? ipErrors(address) : canonicalIpErrors(address);
  if (errors.length > 0) return place.invalidAll(address, errors);
  // A wrong family is reported at the list.
  if (address.includes(':') !== (type === 'IPv6')) at.invalid(address, `must be an ${type} address`);
  place.invalidAll(address, specialIpErrors(address));
}

/** Source: IsFullyQualifiedDomainName. */
function validateDomainName(at: Field, text: string): void {
  if (text === '') return at.required();
  const name = text.endsWith('.') ? text.slice(0, -1) : text;
  const errors = dnsSubdomainErrors(name);
  if (errors.length > 0) return at.invalid(name, errors.join(','));
  const labels = name.split('.');
  if (labels.length < 2) return at.invalid(name, 'should be a domain with at least two segments separated by dots');
  const bad = labels.find((label) => dnsLabelErrors(label).length > 0);
  if (bad !== undefined) at.invalid(bad, dnsLabelErrors(bad).join(','));
}

function validateHints(at: Field, { forZones = [], forNodes = [] }: DeepReadonly<EndpointHints>): void {
  if (forZones.length > maxHints) return at.child('forZones').tooMany(forZones.length, maxHints);
  validateNames(at.child('forZones'), forZones, labelValueErrors);
  if (forNodes.length > maxHints) return at.child('forNodes').tooMany(forNodes.length, maxHints);
  validateNames(at.child('forNodes'), forNodes, dnsSubdomainErrors);
}

function validateNames(
  at: Field,
  items: readonly { readonly name: string }[],
  errorsOf: (name: string) => readonly string[],
): void {
  const isRepeated = repetitions<string>();
  at.each(items, ({ name }, place) => {
    if (isRepeated(name)) place.child('name').duplicate(name);
    place.child('name').invalidAll(name, errorsOf(name));
  });
}

function validatePorts(at: Field, ports: readonly DeepReadonly<EndpointPort>[] | undefined): void {
  if ((ports?.length ?? 0) > maxPorts) return at.tooMany(ports?.length ?? 0, maxPorts);
  const names = new Set<string>();
  at.each(ports, (port, place) => {
    const name = port.name ?? '';
    if (name !== '') place.child('name').invalidAll(name, dnsLabelErrors(name));
    if (names.has(name)) place.child('name').duplicate(name);
    names.add(name);
    if (port.protocol === undefined) place.child('protocol').required();
    else place.child('protocol').oneOf(port.protocol, ['SCTP', 'TCP', 'UDP']);
    if (port.appProtocol !== undefined)
      place.child('appProtocol').invalidAll(port.appProtocol, qualifiedNameErrors(port.appProtocol));
  });
}
