// Stateful sets. Source: pkg/registry/apps/statefulset, pkg/apis/apps/validation ValidateStatefulSetSpec.
import type { DeepReadonly } from '@kapstan/api';
import { dnsLabelErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual, nameIsDnsLabel } from '@kapstan/apiserver/internal';
import type { StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy } from '@kapstan/kinds/apps/v1';
import { scaleSubresource } from '../../autoscaling/scale.ts';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { validateClaimSpec } from '../../core/persistentvolumeclaims/claim-validation.ts';
import { claimSpecWarnings } from '../../core/persistentvolumeclaims/claim-warnings.ts';
import { setVolumeClaimDefaults } from '../../core/persistentvolumeclaims/persistent-volume-claims.ts';
import { setPodTemplateDefaults } from '../../core/pods/pod-spec-defaults.ts';
import { hostNameWarnings, templateWarnings } from '../../core/pods/pod-warnings.ts';
import { validateAtMost100Percent, validateIntOrPercent } from '../../validation/int-or-percent.ts';
import { internalForm } from '../../validation/internal-form.ts';
import { selectorText } from '../../validation/selector-text.ts';
import { validateCollisions, validateReplicaCounts, validateSelectorAndTemplate } from '../workload-validation.ts';

const keepsAll =
  'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended';

export const statefulSets: BuiltinKind<StatefulSet> = {
  id: 'apps/v1/statefulsets',
  warnings: (next, old) => [
    ...(old === undefined ? hostNameWarnings(next, 'Pod names and hostnames') : []),
    ...templateWarnings('spec.template', next.spec?.template, { next, old }),
    ...(next.spec?.volumeClaimTemplates ?? []).flatMap(({ spec }, index) =>
      // Kubernetes shows the path so.
      claimSpecWarnings(spec, `spec.volumeClaimTemplates[${index}]${old === undefined ? '' : '.Spec'}`),
    ),
    ...((next.spec?.revisionHistoryLimit ?? 0) < 0 ? [keepsAll] : []),
  ],
  validateName: nameIsDnsLabel,
  setDefaults: ({ spec }) => {
    if (spec !== undefined) setSpecDefaults(spec);
  },
  prepareForCreate: dropDisabledFields,
  prepareForUpdate: dropDisabledFields,
  validate: (root, { spec }, old) => {
    const at = root.child('spec');
    validatePolicies(at, spec ?? {});
    // Fields that cannot change are not checked again.
    if (old === undefined) validateFixed(at, spec ?? {});
    at.child('replicas').nonNegative(spec?.replicas);
    at.child('minReadySeconds').nonNegative(spec?.minReadySeconds);
    at.child('ordinals.start').nonNegative(spec?.ordinals?.start);
    validateSelectorAndTemplate(at, withClaims(spec ?? {}), 'statefulset');
  },
  validateChange: (root, next, old) => {
    if (jsonEqual(fixedPart(next.spec), fixedPart(old.spec))) return;
    root
      .child('spec')
      .forbidden(
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
      );
  },
  status: {
    validate: (root, next, old) => {
      const at = root.child('status');
      validateReplicaCounts(at, 'statefulset', next.status);
      validateCollisions(at, next.status, old.status);
    },
  },
  subresources: [
    scaleSubresource<StatefulSet>({
      resource: { group: 'apps', resource: 'statefulsets' },
      read: ({ spec, status }) => ({
        replicas: spec?.replicas ?? 0,
        current: status?.replicas ?? 0,
        selector: selectorText(spec?.selector),
      }),
      write: (object, replicas) => {
        if (object.spec !== undefined) object.spec.replicas = replicas;
      },
    }),
  ],
};

function setSpecDefaults(spec: StatefulSetSpec): void {
  setPodTemplateDefaults(spec.template);
  spec.podManagementPolicy ||= 'OrderedReady';
  spec.updateStrategy = defaultedStrategy(spec.updateStrategy);
  const retention = spec.persistentVolumeClaimRetentionPolicy;
  spec.persistentVolumeClaimRetentionPolicy = {
    whenDeleted: retention?.whenDeleted || 'Retain',
    whenScaled: retention?.whenScaled || 'Retain',
  };
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  for (const claim of spec.volumeClaimTemplates ?? []) {
    claim.kind = 'PersistentVolumeClaim';
    claim.apiVersion = 'v1';
    setVolumeClaimDefaults(claim);
  }
}

/** A client that names the type and no parameters gets none. */
function defaultedStrategy(given: StatefulSetUpdateStrategy | undefined): StatefulSetUpdateStrategy {
  if (!given?.type)
    return { ...given, type: 'RollingUpdate', rollingUpdate: { partition: 0, ...given?.rollingUpdate } };
  if (given.type !== 'RollingUpdate' || given.rollingUpdate === undefined) return given;
  return { ...given, rollingUpdate: { partition: 0, ...given.rollingUpdate } };
}

/** The feature gate MaxUnavailableStatefulSet is off. Source: dropStatefulSetDisabledFields. */
function dropDisabledFields({ spec }: StatefulSet): void {
  delete spec?.updateStrategy?.rollingUpdate?.maxUnavailable;
}

function validateFixed(at: Field, spec: ReadonlySpec): void {
  at.child('volumeClaimTemplates').each(spec.volumeClaimTemplates, (claim, place) =>
    validateClaimSpec(place.child('spec'), claim.spec ?? {}),
  );
  if (spec.serviceName) at.child('serviceName').invalidAll(spec.serviceName, dnsLabelErrors(spec.serviceName));
}

/** The pods have a volume for each claim. */
function withClaims(spec: ReadonlySpec): ReadonlySpec {
  const { template, volumeClaimTemplates: claims = [] } = spec;
  if (template?.spec === undefined) return spec;
  const { subdomain: _subdomain, hostname: _hostname, volumes, ...pod } = template.spec;
  const made = new Map(claims.map(({ metadata }) => [metadata?.name ?? '', metadata?.name ?? '']));
  const all = [
    ...[...made.keys()].map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
    ...(volumes ?? []).filter(({ name }) => !made.has(name)),
  ];
  return { ...spec, template: { ...template, spec: { ...pod, ...(all.length === 0 ? {} : { volumes: all }) } } };
}

type ReadonlySpec = DeepReadonly<Partial<StatefulSetSpec>>;

function validatePolicies(at: Field, spec: ReadonlySpec): void {
  const policy = spec.podManagementPolicy ?? '';
  if (policy === '') at.child('podManagementPolicy').required();
  else if (!['OrderedReady', 'Parallel'].includes(policy)) {
    at.child('podManagementPolicy').invalid(policy, "must be 'OrderedReady' or 'Parallel'");
  }
  validateUpdateStrategy(at.child('updateStrategy'), spec.updateStrategy ?? {});
  const retention = at.child('persistentVolumeClaimRetentionPolicy');
  for (const name of ['whenDeleted', 'whenScaled'] as const) {
    retention.child(name).oneOf(spec.persistentVolumeClaimRetentionPolicy?.[name], ['Retain', 'Delete']);
  }
}

function validateUpdateStrategy(at: Field, strategy: DeepReadonly<StatefulSetUpdateStrategy>): void {
  const { type, rollingUpdate } = strategy;
  const rolling = at.child('rollingUpdate');
  switch (type) {
    case 'OnDelete':
      if (rollingUpdate !== undefined)
        rolling.invalid(
          internalForm('apps.RollingUpdateStatefulSetStrategy', rollingUpdate),
          "only allowed for updateStrategy 'RollingUpdate'",
        );
      return;
    case 'RollingUpdate':
      rolling.child('partition').nonNegative(rollingUpdate?.partition);
      if (rollingUpdate?.maxUnavailable === undefined) return;
      validateIntOrPercent(rolling.child('maxUnavailable'), rollingUpdate.maxUnavailable);
      validateAtMost100Percent(rolling.child('maxUnavailable'), rollingUpdate.maxUnavailable);
      return;
    default:
      if (!type) at.required();
      else
        at.invalid(internalForm('apps.StatefulSetUpdateStrategy', strategy), "must be 'RollingUpdate' or 'OnDelete'");
  }
}

const changeable: ReadonlySet<string> = new Set([
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
]);

function fixedPart(spec: DeepReadonly<StatefulSetSpec> | undefined): unknown {
  return Object.fromEntries(Object.entries(spec ?? {}).filter(([key]) => !changeable.has(key)));
}
