// Endpoint slices. Source: pkg/registry/discovery/endpointslice, pkg/apis/discovery/validation.
import { type DeepReadonly, dnsLabelErrors, dnsSubdomainErrors } from '@kapstan/api';
import type { Endpoint, EndpointPort, EndpointSlice } from '@kapstan/kinds/discovery.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import type { Field } from '../../validation/field.ts';
import { ipErrors, specialIpErrors } from '../../validation/value-rules.ts';

const maxEndpoints = 1000;
const maxAddresses = 100;
const maxPorts = 20_000;

export const endpointSlices: BuiltinKind<EndpointSlice> = {
  id: 'discovery.k8s.io/v1/endpointslices',
  strategy: { updateMetadata: 'whole' },
  setDefaults: (object) => {
    for (const port of object.ports ?? []) {
      port.name ??= '';
      port.protocol ??= 'TCP';
    }
  },
  validate: (root, object) => {
    if ((object.addressType as string) === '') root.child('addressType').required();
    else root.child('addressType').oneOf(object.addressType, ['FQDN', 'IPv4', 'IPv6']);
    validateEndpoints(root.child('endpoints'), object);
    validatePorts(root.child('ports'), object.ports);
  },
  validateChange: (root, next, old) =>
    root.child('addressType').immutable(next.addressType, next.addressType === old.addressType),
};

function validateEndpoints(at: Field, slice: DeepReadonly<EndpointSlice>): void {
  const count = slice.endpoints?.length ?? 0;
  if (count > maxEndpoints) return at.tooMany(count, maxEndpoints);
  at.each(slice.endpoints, (endpoint, place) => validateEndpoint(place, endpoint, slice.addressType));
}

function validateEndpoint(at: Field, endpoint: DeepReadonly<Endpoint>, type: string): void {
  const addresses = endpoint.addresses ?? [];
  if (addresses.length === 0) at.child('addresses').required('must contain at least 1 address');
  else if (addresses.length > maxAddresses) at.child('addresses').tooMany(addresses.length, maxAddresses);
  at.child('addresses').each(addresses, (address, place) => place.invalidAll(address, addressErrors(address, type)));
  if (endpoint.nodeName !== undefined)
    at.child('nodeName').invalidAll(endpoint.nodeName, dnsSubdomainErrors(endpoint.nodeName));
  if (endpoint.hostname !== undefined)
    at.child('hostname').invalidAll(endpoint.hostname, dnsLabelErrors(endpoint.hostname));
}

function addressErrors(address: string, type: string): readonly string[] {
  if (type === 'FQDN') return dnsSubdomainErrors(address);
  if (type !== 'IPv4' && type !== 'IPv6') return [];
  const errors = ipErrors(address);
  if (errors.length > 0) return errors;
  const isIpv6 = address.includes(':');
  if (isIpv6 !== (type === 'IPv6')) return [type === 'IPv4' ? 'must be an IPv4 address' : 'must be an IPv6 address'];
  return specialIpErrors(address);
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
  });
}
