// Replica sets. Source: pkg/registry/apps/replicaset, pkg/apis/apps/validation ValidateReplicaSetSpec.
import type { ReplicaSet } from '@kapstan/kinds/apps/v1';
import { scaleSubresource } from '../../autoscaling/scale.ts';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { setPodTemplateDefaults } from '../../core/pods/pod-spec-defaults.ts';
import { hostNameWarnings, templateWarnings } from '../../core/pods/pod-warnings.ts';
import { selectorText } from '../../validation/selector-text.ts';
import {
  validateReplicaCounts,
  validateSelectorAndTemplate,
  validateSelectorUnchanged,
} from '../workload-validation.ts';

export const replicaSets: BuiltinKind<ReplicaSet> = {
  id: 'apps/v1/replicasets',
  warnings: (next, old) => [
    ...(old === undefined ? hostNameWarnings(next, 'Pod names and hostnames') : []),
    ...templateWarnings('spec.template', next.spec?.template, { next, old }),
  ],
  setDefaults: ({ spec }) => {
    if (spec === undefined) return;
    setPodTemplateDefaults(spec.template);
    spec.replicas ??= 1;
  },
  validate: (root, { spec }) => {
    const at = root.child('spec');
    at.child('replicas').nonNegative(spec?.replicas);
    at.child('minReadySeconds').nonNegative(spec?.minReadySeconds);
    validateSelectorAndTemplate(at, spec ?? {}, 'replicaset');
  },
  validateChange: (root, next, old) =>
    validateSelectorUnchanged(root.child('spec'), next.spec?.selector, old.spec?.selector),
  status: { validate: (root, next) => validateReplicaCounts(root.child('status'), 'replicaset', next.status) },
  subresources: [
    scaleSubresource<ReplicaSet>({
      resource: { group: 'apps', resource: 'replicasets' },
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
