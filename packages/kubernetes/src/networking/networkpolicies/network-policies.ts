// Network policies. Source: pkg/apis/networking/v1/defaults.go, pkg/apis/networking/validation ValidateNetworkPolicySpec.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { IPBlock, NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '@kapstan/kinds/networking.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { parseIpv4Network } from '../../core/services/ipv4.ts';
import { cidrWarnings } from '../../validation/ip-warnings.ts';
import { validateLabelSelector } from '../../validation/label-rules.ts';
import { cidrErrors, portErrors, portNumberErrors, strictCidrErrors } from '../../validation/value-rules.ts';

export const networkPolicies: BuiltinKind<NetworkPolicy> = {
  id: 'networking.k8s.io/v1/networkpolicies',
  countsEmpties: true,
  setDefaults: ({ spec }) => {
    if (spec === undefined) return;
    if ((spec.policyTypes?.length ?? 0) === 0)
      spec.policyTypes = (spec.egress?.length ?? 0) > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
    for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])])
      for (const port of rule.ports ?? []) port.protocol ??= 'TCP';
  },
  warnings: policyWarnings,
  validate: (root, { spec }) => {
    const at = root.child('spec');
    validateLabelSelector(at.child('podSelector'), spec?.podSelector);
    at.child('ingress').each(spec?.ingress, (rule, place) => {
      place.child('ports').each(rule.ports, (port, portPlace) => validatePort(portPlace, port));
      place.child('from').each(rule.from, (peer, peerPlace) => validatePeer(peerPlace, peer));
    });
    at.child('egress').each(spec?.egress, (rule, place) => {
      place.child('ports').each(rule.ports, (port, portPlace) => validatePort(portPlace, port));
      place.child('to').each(rule.to, (peer, peerPlace) => validatePeer(peerPlace, peer));
    });
    const types = spec?.policyTypes ?? [];
    if (types.length > 2) return at.child('policyTypes').invalid(types, 'may not specify more than two policyTypes');
    at.child('policyTypes').each(types, (type, place) => place.oneOf(type, ['Ingress', 'Egress']));
  },
};

function validatePort(at: Field, port: DeepReadonly<NetworkPolicyPort>): void {
  if (port.protocol !== undefined) at.child('protocol').oneOf(port.protocol, ['TCP', 'UDP', 'SCTP']);
  if (port.port === undefined) {
    if (port.endPort !== undefined)
      at.child('endPort').invalid(port.endPort, 'may not be specified when `port` is not specified');
    return;
  }
  at.child('port').invalidAll(port.port, portErrors(port.port));
  if (port.endPort === undefined) return;
  if (typeof port.port === 'string')
    return at.child('endPort').invalid(port.endPort, 'may not be specified when `port` is non-numeric');
  if (port.endPort < port.port) at.child('endPort').invalid(port.port, 'must be greater than or equal to `port`');
  at.child('endPort').invalidAll(port.endPort, portNumberErrors(port.endPort));
}

function policyWarnings({ spec }: DeepReadonly<NetworkPolicy>): string[] {
  const inbound = (spec?.ingress ?? []).flatMap(({ from }, index) => peerWarnings(from, `spec.ingress[${index}].from`));
  const outbound = (spec?.egress ?? []).flatMap(({ to }, index) => peerWarnings(to, `spec.egress[${index}].to`));
  return [...inbound, ...outbound];
}

function peerWarnings(peers: readonly DeepReadonly<NetworkPolicyPeer>[] | undefined, at: string): string[] {
  return (peers ?? []).flatMap(({ ipBlock }, index) => [
    ...cidrWarnings(`${at}[${index}].ipBlock.cidr`, ipBlock?.cidr ?? ''),
    ...(ipBlock?.except ?? []).flatMap((except, place) =>
      cidrWarnings(`${at}[${index}].ipBlock.except[${place}]`, except),
    ),
  ]);
}

function validatePeer(at: Field, peer: DeepReadonly<NetworkPolicyPeer>): void {
  const count = [peer.podSelector, peer.namespaceSelector].filter((selector) => selector !== undefined).length;
  validateLabelSelector(at.child('podSelector'), peer.podSelector);
  validateLabelSelector(at.child('namespaceSelector'), peer.namespaceSelector);
  if (peer.ipBlock !== undefined) validateBlock(at.child('ipBlock'), peer.ipBlock);
  if (count === 0 && peer.ipBlock === undefined) at.required('must specify a peer');
  else if (count > 0 && peer.ipBlock !== undefined) at.forbidden('may not specify both ipBlock and another peer');
}

function validateBlock(at: Field, block: DeepReadonly<IPBlock>): void {
  if (block.cidr === '') return at.child('cidr').required();
  at.child('cidr').invalidAll(block.cidr, strictCidrErrors(block.cidr));
  at.child('except').each(block.except, (except, place) => {
    place.invalidAll(except, strictCidrErrors(except));
    // Networks are compared by value, however they are written.
    if ([block.cidr, except].every((cidr) => cidrErrors(cidr).length === 0) && !isStrictSubset(except, block.cidr))
      place.invalid(except, 'must be a strict subset of `cidr`');
  });
}

/** Compares IPv4 by numbers; for IPv6 it only checks that the mask is longer. */
function isStrictSubset(inner: string, outer: string): boolean {
  const isLonger = Number(inner.split('/')[1]) > Number(outer.split('/')[1]);
  if (inner.includes(':') || outer.includes(':')) return isLonger && inner.includes(':') === outer.includes(':');
  const innerBits = Number(inner.split('/')[1]);
  if (innerBits > 30) return isLonger && contains(outer, `${inner.split('/')[0]}/30`);
  return isLonger && contains(outer, inner);
}

function contains(outer: string, inner: string): boolean {
  if (Number(outer.split('/')[1]) > 30) return outer.split('/')[0] === inner.split('/')[0];
  const [large, small] = [parseIpv4Network(outer), parseIpv4Network(inner)];
  return small.first >= large.first && small.first + small.size <= large.first + large.size;
}
