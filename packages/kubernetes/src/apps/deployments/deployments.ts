// Deployments. Source: pkg/registry/apps/deployment, pkg/apis/apps/v1/defaults.go, pkg/apis/apps/validation.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { Deployment, DeploymentStrategy } from '@kapstan/kinds/apps/v1';
import { scaleSubresource } from '../../autoscaling/scale.ts';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { setPodTemplateDefaults } from '../../core/pods/pod-spec-defaults.ts';
import { hostNameWarnings, templateWarnings } from '../../core/pods/pod-warnings.ts';
import { isZero, validateAtMost100Percent, validateIntOrPercent } from '../../validation/int-or-percent.ts';
import { internalForm } from '../../validation/internal-form.ts';
import { selectorText } from '../../validation/selector-text.ts';
import {
  validateCollisions,
  validateReplicaCounts,
  validateSelectorAndTemplate,
  validateSelectorUnchanged,
} from '../workload-validation.ts';

export const deployments: BuiltinKind<Deployment> = {
  id: 'apps/v1/deployments',
  warnings: (next, old) => [
    ...(old === undefined ? hostNameWarnings(next, 'Pod names and hostnames') : []),
    ...templateWarnings('spec.template', next.spec?.template, { next, old }),
  ],
  annotationsRaiseGeneration: true,
  setDefaults: (object) => {
    const spec = object.spec;
    if (spec === undefined) return;
    setPodTemplateDefaults(spec.template);
    spec.replicas ??= 1;
    spec.strategy = withStrategyDefaults(spec.strategy ?? {});
    spec.revisionHistoryLimit ??= 10;
    spec.progressDeadlineSeconds ??= 600;
  },
  validate: (root, { spec }) => {
    const at = root.child('spec');
    at.child('replicas').nonNegative(spec?.replicas);
    validateSelectorAndTemplate(at, spec ?? {}, 'deployment');
    validateStrategy(at.child('strategy'), spec?.strategy ?? {});
    at.child('minReadySeconds').nonNegative(spec?.minReadySeconds);
    at.child('revisionHistoryLimit').nonNegative(spec?.revisionHistoryLimit);
    const deadline = spec?.progressDeadlineSeconds;
    if (deadline === undefined) return;
    at.child('progressDeadlineSeconds').nonNegative(deadline);
    if (deadline <= (spec?.minReadySeconds ?? 0))
      at.child('progressDeadlineSeconds').invalid(deadline, 'must be greater than minReadySeconds');
  },
  validateChange: (root, next, old) =>
    validateSelectorUnchanged(root.child('spec'), next.spec?.selector, old.spec?.selector),
  status: {
    prepare: (next, old) => {
      const { labels, ...metadata } = next.metadata ?? {};
      next.metadata =
        old.metadata?.labels === undefined ? metadata : { ...metadata, labels: { ...old.metadata.labels } };
    },
    validate: (root, next, old) => {
      const at = root.child('status');
      validateReplicaCounts(at, 'deployment', next.status);
      validateCollisions(at, next.status, old.status);
    },
    resetFields: [['metadata', 'labels']],
  },
  subresources: [
    scaleSubresource<Deployment>({
      resource: { group: 'apps', resource: 'deployments' },
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

function withStrategyDefaults(strategy: DeploymentStrategy): DeploymentStrategy {
  const type = strategy.type || 'RollingUpdate';
  if (type !== 'RollingUpdate') return { ...strategy, type };
  return { type, rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%', ...strategy.rollingUpdate } };
}

function validateStrategy(at: Field, strategy: DeepReadonly<DeploymentStrategy>): void {
  const rolling = at.child('rollingUpdate');
  const { type, rollingUpdate } = strategy;
  if (type === 'Recreate') {
    if (rollingUpdate !== undefined) rolling.forbidden("may not be specified when strategy `type` is 'Recreate'");
    return;
  }
  if (type !== 'RollingUpdate')
    return at.notSupported(internalForm('apps.DeploymentStrategy', strategy), ['Recreate', 'RollingUpdate']);
  const unavailable = rolling.child('maxUnavailable');
  validateIntOrPercent(unavailable, rollingUpdate?.maxUnavailable);
  validateIntOrPercent(rolling.child('maxSurge'), rollingUpdate?.maxSurge);
  if (isZero(rollingUpdate?.maxUnavailable) && isZero(rollingUpdate?.maxSurge)) {
    unavailable.invalid(rollingUpdate?.maxUnavailable ?? 0, 'may not be 0 when `maxSurge` is 0');
  }
  validateAtMost100Percent(unavailable, rollingUpdate?.maxUnavailable);
}
