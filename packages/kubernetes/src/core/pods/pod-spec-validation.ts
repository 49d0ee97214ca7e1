// Rules for the spec of a pod, alone or in a template. Source: pkg/apis/core/validation ValidatePodSpec.
import type { DeepReadonly, ObjectMeta } from '@kapstan/api';
import { dnsLabelErrors, dnsSubdomainErrors, qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { PodSpec, PodTemplateSpec } from '@kapstan/kinds/core/v1';
import { validateAnnotationKeys } from '../../validation/annotation-rules.ts';
import { internalForm } from '../../validation/internal-form.ts';
import { validateLabels } from '../../validation/label-rules.ts';
import { validateResourceRequirements } from '../../validation/resource-rules.ts';
import { ipErrors, rangeErrors, searchPathErrors } from '../../validation/value-rules.ts';
import { validatePodAnnotations, validateProfileMatches } from './annotation-validation.ts';
import { validateContainers } from './container-validation.ts';
import { validatePodResources } from './pod-resource-validation.ts';
import { validateAffinity, validateSpread, validateTolerations } from './scheduling-validation.ts';
import { validateHostUsers, validatePodSecurity } from './security-validation.ts';
import { validateVolumes } from './volume-validation.ts';
import { validateHostProcess, validateOs } from './windows-validation.ts';

type ReadonlySpec = DeepReadonly<PodSpec>;

/** An absent spec in Go is an empty struct. */
const emptySpec: ReadonlySpec = { containers: [] };

/** `meta` is the pod's; templates have none. */
export function validatePodSpec(at: Field, given: ReadonlySpec | undefined, meta?: DeepReadonly<ObjectMeta>): void {
  const spec = given ?? emptySpec;
  const volumes = validateVolumes(at.child('volumes'), spec.volumes, meta);
  const claimNames = new Set((spec.resourceClaims ?? []).map(({ name }) => name).filter((name) => name !== ''));
  validateResourceClaims(at.child('resourceClaims'), spec);
  validateContainers(at, { spec, volumes, claimNames, owner: meta === undefined ? 'template' : 'pod' });
  validatePodResources(at.child('resources'), spec);
  validatePolicies(at, spec);
  validateLabels(at.child('nodeSelector'), spec.nodeSelector);
  validatePodSecurity(at.child('securityContext'), spec);
  validateAffinity(at.child('affinity'), spec.affinity);
  validateDns(at.child('dnsConfig'), spec);
  at.child('readinessGates').each(spec.readinessGates, (gate, place) => {
    place.child('conditionType').invalidAll(gate.conditionType, qualifiedNameErrors(gate.conditionType));
  });
  validateSchedulingGates(at.child('schedulingGates'), spec);
  validateSpread(at.child('topologySpreadConstraints'), spec.topologySpreadConstraints);
  validateHostProcess(at, spec);
  validateHostUsers(at, spec);
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
  if (spec.overhead !== undefined) validateResourceRequirements(at.child('overhead'), { limits: spec.overhead });
  validateOs(at, spec);
  validateFileKeys(at, spec);
}

/** Source: validatePodResourceClaim. */
function validateResourceClaims(at: Field, { resourceClaims }: ReadonlySpec): void {
  const seen = new Set<string>();
  at.each(resourceClaims, (claim, place) => {
    const { name, resourceClaimName, resourceClaimTemplateName } = claim;
    if (name === '') place.child('name').required();
    else if (seen.has(name)) place.child('name').duplicate(name);
    else place.child('name').invalidAll(name, dnsLabelErrors(name));
    seen.add(name);
    const shown = internalForm('core.PodResourceClaim', claim);
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined)
      place.invalid(shown, 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified');
    if (resourceClaimName === undefined && resourceClaimTemplateName === undefined)
      place.invalid(shown, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`');
    for (const [member, value] of Object.entries({ resourceClaimName, resourceClaimTemplateName }))
      if (value !== undefined) place.child(member).invalidAll(value, dnsSubdomainErrors(value));
  });
}

/** Files for keys must be in a volume that lives as long as the pod. Source: validateFileKeyRefVolumes. */
function validateFileKeys(at: Field, spec: ReadonlySpec): void {
  const volumes = new Map((spec.volumes ?? []).toReversed().map((volume) => [volume.name, volume]));
  for (const name of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    for (const [index, { env }] of (spec[name] ?? []).entries()) {
      at.child(name)
        .index(index)
        .child('env')
        .each(env, ({ valueFrom }, place) => {
          const wanted = valueFrom?.fileKeyRef?.volumeName;
          if (wanted === undefined) return;
          const volume = volumes.get(wanted);
          const namePlace = place.child('valueFrom', 'fileKeyRef', 'volumeName');
          if (volume === undefined) namePlace.notFound(wanted);
          else if (volume.emptyDir === undefined)
            namePlace.invalid(wanted, 'referenced volume must be of type emptyDir');
        });
    }
  }
}

const dnsPolicies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];

function validatePolicies(at: Field, spec: ReadonlySpec): void {
  if (!spec.restartPolicy) at.child('restartPolicy').required();
  else at.child('restartPolicy').oneOf(spec.restartPolicy, ['Always', 'OnFailure', 'Never']);
  if (!spec.dnsPolicy) at.child('dnsPolicy').required();
  else at.child('dnsPolicy').oneOf(spec.dnsPolicy, dnsPolicies);
  const preemption = spec.preemptionPolicy;
  if ((preemption as string) === '') at.child('preemptionPolicy').required();
  else if (preemption !== undefined) at.child('preemptionPolicy').oneOf(preemption, ['PreemptLowerPriority', 'Never']);
  if (spec.terminationGracePeriodSeconds === undefined && spec !== emptySpec)
    at.child('terminationGracePeriodSeconds').required();
}

const maxNameservers = 3;

const maxSearches = 32;
const maxSearchBytes = 2048;

function validateDns(at: Field, spec: ReadonlySpec): void {
  const config = spec.dnsConfig;
  if (spec.dnsPolicy === 'None' && config === undefined)
    return at.required('must provide `dnsConfig` when `dnsPolicy` is None');
  if (config === undefined) return;
  const { nameservers: servers = [], searches = [] } = config;
  const serverPlace = at.child('nameservers');
  if (spec.dnsPolicy === 'None' && servers.length === 0)
    return serverPlace.required('must provide at least one DNS nameserver when `dnsPolicy` is None');
  if (servers.length > maxNameservers)
    serverPlace.invalid(servers, `must not have more than ${maxNameservers} nameservers`);
  serverPlace.each(servers, (server, place) => place.invalidAll(server, ipErrors(server)));
  const searchPlace = at.child('searches');
  if (searches.length > maxSearches)
    searchPlace.invalid(searches, `must not have more than ${maxSearches} search paths`);
  if (Buffer.byteLength(searches.join(' ')) > maxSearchBytes)
    searchPlace.invalid(
      searches,
      `must not have more than ${maxSearchBytes} characters (including spaces) in the search list`,
    );
  searchPlace.each(searches, (search, place) => {
    const name = search.replace(/\.$/, '');
    if (search !== '.') place.invalidAll(name, searchPathErrors(name));
  });
  at.child('options').each(config.options, ({ name }, place) => {
    if (!name) place.required('must not be empty');
  });
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
    // Only this member can be present and empty, which is then an error.
    if (value || (value === '' && name === 'runtimeClassName')) at.child(name).invalidAll(value, rule(value));
  }
  validateHostnameOverride(at.child('hostnameOverride'), spec);
}

const maxHostnameBytes = 64;

function validateHostnameOverride(at: Field, spec: ReadonlySpec): void {
  const name = spec.hostnameOverride;
  if (name === undefined) return;
  if (spec.setHostnameAsFQDN === true) at.forbidden('may not be specified when setHostnameAsFQDN is true');
  if (spec.hostNetwork === true) at.forbidden('may not be specified when hostNetwork is true');
  if (Buffer.byteLength(name) > maxHostnameBytes) at.tooLong(maxHostnameBytes);
  at.invalidAll(name, dnsSubdomainErrors(name));
}

/**
 * Checks a pod's metadata and spec inside another object. Metadata errors are reported at the template itself. Source:
 * ValidatePodTemplateSpec.
 */
export function validatePodTemplate(at: Field, template: DeepReadonly<PodTemplateSpec> | undefined): void {
  const annotations = template?.metadata?.annotations;
  validateTemplateMetadata(at, template);
  validatePodAnnotations(at.child('annotations'), annotations, template?.spec);
  validatePodSpec(at.child('spec'), template?.spec);
  validateProfileMatches(at.child('spec'), annotations, template?.spec);
  if ((template?.spec?.ephemeralContainers?.length ?? 0) > 0) {
    at.child('spec', 'ephemeralContainers').forbidden('ephemeral containers not allowed in pod template');
  }
}

/** Reports errors at the template itself. */
export function validateTemplateMetadata(at: Field, template: DeepReadonly<PodTemplateSpec> | undefined): void {
  validateLabels(at.child('labels'), template?.metadata?.labels);
  validateAnnotationKeys(at.child('annotations'), template?.metadata?.annotations);
}
