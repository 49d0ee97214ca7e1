// Warnings about pods and pod templates: deprecated fields, labels and annotations, and likely mistakes. Used by the
// strategies of pods and of all kinds with pod templates. Source: pkg/api/pod/warnings.go, pkg/api/node/util.go (1.36).
import type { DeepReadonly, KubernetesObject, ObjectMeta } from '@kapstan/api';
import { dnsLabelErrors, fieldChild, fieldIndex, fieldKey, labelValueErrors } from '@kapstan/api/errors';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { NodeSelectorTerm, PodAffinity, PodAntiAffinity, PodSpec, PodTemplateSpec } from '@kapstan/kinds/core/v1';
import { ipWarnings } from '../../validation/ip-warnings.ts';
import { deprecatedNodeLabels, labelKeyWarnings, termWarnings } from '../../validation/node-label-warnings.ts';
import { repetitions } from '../../validation/repetition.ts';
import { claimSpecWarnings } from '../persistentvolumeclaims/claim-warnings.ts';
import { annotationOf, appArmorPrefix, seccompAnnotation, seccompPrefix } from './annotation-validation.ts';
import { appArmorOf } from './app-armor.ts';
import { containerWarnings, placedContainers } from './container-warnings.ts';
import { volumePathWarnings } from './volume-path-warnings.ts';

interface PodLike {
  readonly metadata?: DeepReadonly<ObjectMeta>;
  readonly spec?: DeepReadonly<PodSpec>;
}

/** `path` is the place of the pod; "" for a pod itself. */
export function podWarnings({ metadata = {}, spec }: PodLike, path = ''): string[] {
  if (spec === undefined) return [];
  const at = fieldChild(path, 'spec');
  return [
    ...nodeLabelWarnings(spec, at),
    ...annotationWarnings(metadata, spec, path),
    ...volumeWarnings(spec, at),
    ...volumePathWarnings(spec),
    ...repetitionWarnings(spec, at),
    ...containerWarnings(spec, at),
    ...graceWarnings(spec, at),
    ...affinityWarnings(spec, at),
    ...addressWarnings(spec, at),
  ];
}

function addressWarnings({ dnsConfig, hostAliases }: DeepReadonly<PodSpec>, at: string): string[] {
  const servers = ['dnsConfig', 'nameservers'].reduce(fieldChild, at);
  const aliases = fieldChild(at, 'hostAliases');
  return [
    ...(dnsConfig?.nameservers ?? []).flatMap((ip, index) => ipWarnings(fieldIndex(servers, index), ip)),
    ...(hostAliases ?? []).flatMap(({ ip }, index) => ipWarnings(fieldChild(fieldIndex(aliases, index), 'ip'), ip)),
  ];
}

/** Returns warnings about a pod template: on a create, and on an update that changed the template. */
export function templateWarnings(
  path: string,
  template: DeepReadonly<PodTemplateSpec> | undefined,
  change: { readonly next: DeepReadonly<KubernetesObject>; readonly old: DeepReadonly<KubernetesObject> | undefined },
): string[] {
  const isSame = change.old !== undefined && change.next.metadata?.generation === change.old.metadata?.generation;
  return template === undefined || isSame ? [] : podWarnings(template, path);
}

/**
 * Warns about a name that becomes part of host names. `where`: the names that are made from it, as the warning calls
 * them.
 */
export function hostNameWarnings({ metadata }: DeepReadonly<KubernetesObject>, where: string): string[] {
  const messages = dnsLabelErrors(metadata?.name ?? '');
  if (messages.length === 0) return [];
  const why = `this is used in ${where}, which can result in surprising behavior; a DNS label is recommended`;
  return [`metadata.name: ${why}: [${messages.join(' ')}]`];
}

function nodeLabelWarnings(
  { nodeSelector, affinity, topologySpreadConstraints }: DeepReadonly<PodSpec>,
  at: string,
): string[] {
  const node = affinity?.nodeAffinity;
  const path = ['affinity', 'nodeAffinity'].reduce(fieldChild, at);
  const required = ['requiredDuringSchedulingIgnoredDuringExecution', 'nodeSelectorTerms'].reduce(fieldChild, path);
  const preferred = fieldChild(path, 'preferredDuringSchedulingIgnoredDuringExecution');
  return [
    ...labelKeyWarnings(nodeSelector, (key) => fieldKey(fieldChild(at, 'nodeSelector'), key)),
    ...(node?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []).flatMap((term, index) =>
      termWarnings(term, fieldIndex(required, index)),
    ),
    ...(node?.preferredDuringSchedulingIgnoredDuringExecution ?? []).flatMap(({ preference }, index) => {
      const where = fieldChild(fieldIndex(preferred, index), 'preference');
      return [...termWarnings(preference, where), ...valueWarnings(preference, where)];
    }),
    ...(topologySpreadConstraints ?? []).flatMap(({ topologyKey, labelSelector }, index) => {
      const where = fieldIndex(fieldChild(at, 'topologySpreadConstraints'), index);
      const why = deprecatedNodeLabels.get(topologyKey);
      return [
        ...(why === undefined ? [] : [`${fieldChild(where, 'topologyKey')}: ${topologyKey} is ${why}`]),
        ...(labelSelector === undefined ? [matchesNothing(where)] : []),
      ];
    }),
  ];
}

function valueWarnings({ matchExpressions = [] }: DeepReadonly<NodeSelectorTerm>, at: string): string[] {
  return matchExpressions.flatMap(({ values = [] }, index) => {
    const where = fieldChild(fieldIndex(fieldChild(at, 'matchExpressions'), index), 'values');
    return values.flatMap((value, valueIndex) =>
      labelValueErrors(value).map((why) => `${fieldIndex(where, valueIndex)}: ${value} is invalid, ${why}`),
    );
  });
}

const seccompText = 'non-functional in v1.27+; use the "seccompProfile" field instead';
const deprecatedAnnotations: ReadonlyMap<string, string> = new Map([
  ['scheduler.alpha.kubernetes.io/critical-pod', 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  [seccompAnnotation, seccompText],
  ['security.alpha.kubernetes.io/sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
  ['security.alpha.kubernetes.io/unsafe-sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
]);

function annotationWarnings(
  { annotations = {} }: DeepReadonly<ObjectMeta>,
  spec: DeepReadonly<PodSpec>,
  path: string,
): string[] {
  const where = fieldChild(fieldChild(path, 'metadata'), 'annotations');
  const deprecated = Object.keys(annotations).flatMap((key) => {
    const why = deprecatedAnnotations.get(key) ?? (key.startsWith(seccompPrefix) ? seccompText : undefined);
    return why === undefined ? [] : [`${fieldKey(where, key)}: ${why}`];
  });
  // For a pod itself these warnings are made when its fields are set.
  const templated = path === '' ? [] : placedContainers(spec, '');
  const appArmor = templated.flatMap(({ container }) => {
    const key = `${appArmorPrefix}${container.name}`;
    const said = annotationOf(annotations, key);
    if (said === undefined || container.securityContext?.appArmorProfile !== undefined) return [];
    const profile = spec.securityContext?.appArmorProfile;
    return profile !== undefined && jsonEqual(profile, appArmorOf(said)) ? [] : [appArmorWarning(path, key)];
  });
  return [...deprecated, ...appArmor];
}

/** `path` is where the pod is. */
export function appArmorWarning(path: string, key: string): string {
  const where = fieldKey(['metadata', 'annotations'].reduce(fieldChild, path), key);
  return `${where}: deprecated since v1.30; use the "appArmorProfile" field instead`;
}

const deprecatedSources: Readonly<Record<string, string>> = {
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  gitRepo: 'deprecated in v1.11, and disabled by default in v1.33+',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  flocker: 'deprecated in v1.22, non-functional in v1.25+',
  storageos: 'deprecated in v1.22, non-functional in v1.25+',
  quobyte: 'deprecated in v1.22, non-functional in v1.25+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
};

/** Names that Kubernetes shows instead of the field's name. */
const shownAs: Readonly<Record<string, string>> = { storageos: 'storageOS' };

function volumeWarnings({ volumes }: DeepReadonly<PodSpec>, at: string): string[] {
  return (volumes ?? []).flatMap((volume, index) => {
    const where = fieldIndex(fieldChild(at, 'volumes'), index);
    const claim = ['ephemeral', 'volumeClaimTemplate', 'spec'].reduce(fieldChild, where);
    return [
      ...Object.keys(volume)
        .filter((name) => Object.hasOwn(deprecatedSources, name))
        .map((name) => `${fieldChild(where, shownAs[name] ?? name)}: ${deprecatedSources[name]}`),
      ...claimSpecWarnings(volume.ephemeral?.volumeClaimTemplate?.spec, claim),
    ];
  });
}

/** Warns about repeated keys in lists that are merged by key, because apply would drop the repetition. */
function repetitionWarnings({ hostAliases = [], imagePullSecrets = [] }: DeepReadonly<PodSpec>, at: string): string[] {
  const aliases = hostAliases.map(({ ip }) => ip);
  const secrets = imagePullSecrets.map(({ name = '' }) => name);
  const empty = secrets.flatMap((name, index) =>
    name === ''
      ? [`${fieldChild(fieldIndex(fieldChild(at, 'imagePullSecrets'), index), 'name')}: invalid empty name ""`]
      : [],
  );
  return [
    ...repeated(aliases, fieldChild(at, 'hostAliases'), 'ip'),
    ...repeated(secrets, fieldChild(at, 'imagePullSecrets'), 'name'),
    ...empty,
  ];
}

function repeated(values: readonly string[], at: string, field: string): string[] {
  const isRepeated = repetitions<string>();
  return values.flatMap((value, index) =>
    isRepeated(value)
      ? [`${fieldChild(fieldIndex(at, index), field)}: duplicate ${field} ${JSON.stringify(value)}`]
      : [],
  );
}

function graceWarnings({ terminationGracePeriodSeconds = 0 }: DeepReadonly<PodSpec>, at: string): string[] {
  if (terminationGracePeriodSeconds >= 0) return [];
  const why = 'must be >= 0; negative values are invalid and will be treated as 1';
  return [`${fieldChild(at, 'terminationGracePeriodSeconds')}: ${why}`];
}

function affinityWarnings({ affinity }: DeepReadonly<PodSpec>, at: string): string[] {
  const path = fieldChild(at, 'affinity');
  return [
    ...podAffinityWarnings(affinity?.podAffinity, fieldChild(path, 'podAffinity')),
    ...podAffinityWarnings(affinity?.podAntiAffinity, fieldChild(path, 'podAntiAffinity')),
  ];
}

function podAffinityWarnings(affinity: DeepReadonly<PodAffinity | PodAntiAffinity> | undefined, at: string): string[] {
  const required = fieldChild(at, 'requiredDuringSchedulingIgnoredDuringExecution');
  const preferred = fieldChild(at, 'preferredDuringSchedulingIgnoredDuringExecution');
  return [
    ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).flatMap(({ labelSelector }, index) =>
      labelSelector === undefined ? [matchesNothing(fieldIndex(required, index))] : [],
    ),
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).flatMap(({ podAffinityTerm }, index) =>
      podAffinityTerm.labelSelector === undefined
        ? [matchesNothing(fieldChild(fieldIndex(preferred, index), 'podAffinityTerm'))]
        : [],
    ),
  ];
}

function matchesNothing(at: string): string {
  return `${fieldChild(at, 'labelSelector')}: a null labelSelector results in matching no pod`;
}
