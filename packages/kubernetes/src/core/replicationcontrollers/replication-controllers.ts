// Replication controllers. Source: pkg/registry/core/replicationcontroller, pkg/apis/core/validation.
import type { ReplicationController } from '@kapstan/kinds/core/v1';
import { validateReplicaCounts, validateTemplate } from '../../apps/workload-validation.ts';
import { scaleSubresource } from '../../autoscaling/scale.ts';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { nameIsLongName } from '../../validation/long-name.ts';
import { labelMapText } from '../../validation/selector-text.ts';
import { setPodTemplateDefaults } from '../pods/pod-spec-defaults.ts';
import { hostNameWarnings, templateWarnings } from '../pods/pod-warnings.ts';

export const replicationControllers: BuiltinKind<ReplicationController> = {
  id: 'v1/replicationcontrollers',
  warnings: (next, old) => [
    ...(old === undefined ? hostNameWarnings(next, 'Pod names and hostnames') : []),
    ...templateWarnings('spec.template', next.spec?.template, { next, old }),
  ],
  validateName: nameIsLongName,
  strategy: { defaultGarbageCollection: 'Orphan' },
  setDefaults: (object) => {
    const spec = object.spec;
    if (spec === undefined) return;
    setPodTemplateDefaults(spec.template);
    const labels = spec.template?.metadata?.labels;
    if (labels !== undefined) {
      if (Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels };
      if (Object.keys(object.metadata?.labels ?? {}).length === 0)
        object.metadata = { ...object.metadata, labels: { ...labels } };
    }
    spec.replicas ??= 1;
  },
  validate: (root, { spec }) => {
    const at = root.child('spec');
    at.child('minReadySeconds').nonNegative(spec?.minReadySeconds);
    const selector = spec?.selector ?? {};
    const isEmpty = Object.keys(selector).length === 0;
    if (isEmpty) at.child('selector').required();
    at.child('replicas').nonNegative(spec?.replicas);
    if (spec?.template === undefined) return at.child('template').required();
    const labels = spec.template.metadata?.labels ?? {};
    const isMatch = Object.entries(selector).every(
      ([key, value]) => Object.hasOwn(labels, key) && labels[key] === value,
    );
    validateTemplate(at.child('template'), spec.template, { isMatch, owner: 'ReplicationController' });
  },
  fields: ({ status }) => ({ 'status.replicas': String(status?.replicas ?? 0) }),
  status: { validate: (root, next) => validateReplicaCounts(root.child('status'), 'replicaset', next.status) },
  subresources: [
    scaleSubresource<ReplicationController>({
      resource: { group: '', resource: 'replicationcontrollers' },
      read: ({ spec, status }) => ({
        replicas: spec?.replicas ?? 0,
        current: status?.replicas ?? 0,
        selector: labelMapText(spec?.selector),
      }),
      write: (object, replicas) => {
        if (object.spec !== undefined) object.spec.replicas = replicas;
      },
    }),
  ],
};
