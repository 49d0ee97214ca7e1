// Endpoints. Source: pkg/registry/core/endpoint, pkg/apis/core/validation validateEndpointSubsets.
import type { DeepReadonly } from '@kapstan/api';
import { dnsLabelErrors, dnsSubdomainErrors, qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { EndpointAddress, EndpointPort, Endpoints } from '@kapstan/kinds/core/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { ipErrors, portNumberErrors, specialIpErrors } from '../../validation/value-rules.ts';

export const endpoints: BuiltinKind<Endpoints> = {
  id: 'v1/endpoints',
  deprecationWarning: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  strategy: { updateMetadata: 'both' },
  setDefaults: (object) => {
    for (const subset of object.subsets ?? []) for (const port of subset.ports ?? []) port.protocol ||= 'TCP';
  },
  validate: (root, object) => {
    root.child('subsets').each(object.subsets, (subset, place) => {
      const addresses = [...(subset.addresses ?? []), ...(subset.notReadyAddresses ?? [])];
      if (addresses.length === 0) place.required('must specify `addresses` or `notReadyAddresses`');
      for (const name of ['addresses', 'notReadyAddresses'] as const) {
        place.child(name).each(subset[name], (address, addressPlace) => validateAddress(addressPlace, address));
      }
      const isNameNeeded = (subset.ports?.length ?? 0) > 1;
      place.child('ports').each(subset.ports, (port, portPlace) => validatePort(portPlace, port, isNameNeeded));
    });
  },
};

function validateAddress(at: Field, address: DeepReadonly<EndpointAddress>): void {
  at.child('ip').invalidAll(address.ip, ipErrors(address.ip));
  if (address.hostname) at.child('hostname').invalidAll(address.hostname, dnsLabelErrors(address.hostname));
  if (address.nodeName !== undefined)
    at.child('nodeName').invalidAll(address.nodeName, dnsSubdomainErrors(address.nodeName));
  at.child('ip').invalidAll(address.ip, specialIpErrors(address.ip));
}

function validatePort(at: Field, port: DeepReadonly<EndpointPort>, isNameNeeded: boolean): void {
  const name = port.name ?? '';
  if (name !== '') at.child('name').invalidAll(name, dnsLabelErrors(name));
  else if (isNameNeeded) at.child('name').required();
  at.child('port').invalidAll(port.port, portNumberErrors(port.port));
  if (!port.protocol) at.child('protocol').required();
  else at.child('protocol').oneOf(port.protocol, ['SCTP', 'TCP', 'UDP']);
  if (port.appProtocol !== undefined)
    at.child('appProtocol').invalidAll(port.appProtocol, qualifiedNameErrors(port.appProtocol));
}
