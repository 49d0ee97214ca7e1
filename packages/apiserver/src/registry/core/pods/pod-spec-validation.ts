// Rules for the spec of a pod, alone or in a template. Source: pkg/apis/core/validation ValidatePodSpec.
import { type DeepReadonly, dnsLabelErrors, dnsSubdomainErrors, qualifiedNameErrors } from '@kapstan/api';
import type { PodSpec, PodTemplateSpec } from '@kapstan/kinds/core/v1';
import type { Field } from '../../validation/field.ts';
import { validateLabels } from '../../validation/label-rules.ts';
import { ipErrors, rangeErrors } from '../../validation/value-rules.ts';
import { validateContainers } from './container-validation.ts';
import { validateAffinity, validateSpread, validateTolerations } from './scheduling-validation.ts';
import { validateVolumes } from './volume-validation.ts';

type ReadonlySpec = DeepReadonly<PodSpec>;

/** What an absent spec is in Go: a struct without anything. */
const emptySpec: ReadonlySpec = { containers: [] };

export function validatePodSpec(at: Field, given: ReadonlySpec | undefined): void {
  const spec = given ?? emptySpec;
  validateVolumes(at.child('volumes'), spec.volumes);
  validateContainers(at, spec);
  validatePolicies(at, spec);
  validateLabels(at.child('nodeSelector'), spec.nodeSelector);
  validateAffinity(at.child('affinity'), spec.affinity);
  validateDns(at, spec);
  at.child('readinessGates').each(spec.readinessGates, (gate, place) => {
    place.child('conditionType').invalidAll(gate.conditionType, qualifiedNameErrors(gate.conditionType));
  });
  validateSchedulingGates(at.child('schedulingGates'), spec);
  validateSpread(at.child('topologySpreadConstraints'), spec.topologySpreadConstraints);
  validateNames(at, spec);
  const deadline = spec.activeDeadlineSeconds;
  if (deadline !== undefined)
    at.child('activeDeadlineSeconds').invalidAll(deadline, rangeErrors(deadline, 1, 2_147_483_647));
  validateTolerations(at.child('tolerations'), spec.tolerations);
  at.child('hostAliases').each(spec.hostAliases, (alias, place) => {
    place.child('ip').invalidAll(alias.ip, ipErrors(alias.ip));
    place
      .child('hostnames')
      .each(alias.hostnames, (name, hostPlace) => hostPlace.invalidAll(name, dnsSubdomainErrors(name)));
  });
}

const dnsPolicies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];

function validatePolicies(at: Field, spec: ReadonlySpec): void {
  if (!spec.restartPolicy) at.child('restartPolicy').required();
  else at.child('restartPolicy').oneOf(spec.restartPolicy, ['Always', 'OnFailure', 'Never']);
  if (!spec.dnsPolicy) at.child('dnsPolicy').required();
  else at.child('dnsPolicy').oneOf(spec.dnsPolicy, dnsPolicies);
  if (spec.preemptionPolicy !== undefined)
    at.child('preemptionPolicy').oneOf(spec.preemptionPolicy, ['PreemptLowerPriority', 'Never']);
  if (spec.os !== undefined) {
    if (spec.os.name === '') at.child('os', 'name').required('cannot be empty');
    else at.child('os', 'name').oneOf(spec.os.name, ['linux', 'windows']);
  }
}

const maxNameservers = 3;

function validateDns(at: Field, spec: ReadonlySpec): void {
  const config = spec.dnsConfig;
  const place = at.child('dnsConfig');
  const servers = config?.nameservers ?? [];
  if (spec.dnsPolicy === 'None' && servers.length === 0) {
    (config === undefined ? place : place.child('nameservers')).required(
      `must provide at least one DNS nameserver when \`dnsPolicy\` is None`,
    );
  }
  if (servers.length > maxNameservers)
    place.child('nameservers').invalid(servers, `must not have more than ${maxNameservers} nameservers`);
  place.child('nameservers').each(servers, (server, serverPlace) => serverPlace.invalidAll(server, ipErrors(server)));
}

function validateSchedulingGates(at: Field, spec: ReadonlySpec): void {
  const seen = new Set<string>();
  at.each(spec.schedulingGates, (gate, place) => {
    place.invalidAll(gate.name, qualifiedNameErrors(gate.name));
    if (seen.has(gate.name)) place.duplicate(gate.name);
    seen.add(gate.name);
  });
}

function validateNames(at: Field, spec: ReadonlySpec): void {
  const rules = {
    serviceAccountName: dnsSubdomainErrors,
    nodeName: dnsSubdomainErrors,
    hostname: dnsLabelErrors,
    subdomain: dnsLabelErrors,
    priorityClassName: dnsSubdomainErrors,
    runtimeClassName: dnsSubdomainErrors,
  } as const;
  for (const [name, rule] of Object.entries(rules)) {
    const value = spec[name as keyof typeof rules];
    if (value) at.child(name).invalidAll(value, rule(value));
  }
}

/** A pod's metadata and spec inside another object. Metadata errors stand at the template itself. Source: ValidatePodTemplateSpec. */
export function validatePodTemplate(at: Field, template: DeepReadonly<PodTemplateSpec> | undefined): void {
  validateLabels(at.child('labels'), template?.metadata?.labels);
  for (const key of Object.keys(template?.metadata?.annotations ?? {})) {
    at.child('annotations').invalidAll(key, qualifiedNameErrors(key.toLowerCase()));
  }
  validatePodSpec(at.child('spec'), template?.spec);
  if ((template?.spec?.ephemeralContainers?.length ?? 0) > 0) {
    at.child('spec', 'ephemeralContainers').forbidden('ephemeral containers not allowed in pod template');
  }
}
