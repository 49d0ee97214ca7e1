// Daemon sets. Source: pkg/registry/apps/daemonset, pkg/apis/apps/validation ValidateDaemonSetSpec.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { DaemonSet, DaemonSetUpdateStrategy } from '@kapstan/kinds/apps/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { setPodTemplateDefaults } from '../../core/pods/pod-spec-defaults.ts';
import { templateWarnings } from '../../core/pods/pod-warnings.ts';
import { isZero, validateAtMost100Percent, validateIntOrPercent } from '../../validation/int-or-percent.ts';
import { internalForm } from '../../validation/internal-form.ts';
import { goLabelSelector, selectsLabels, validateLabelSelector } from '../../validation/label-rules.ts';
import {
  isEmptySelector,
  validateCollisions,
  validateSelectorUnchanged,
  validateTemplate,
} from '../workload-validation.ts';

/** The removed field spec.templateGeneration is kept as an annotation. */
const templateGeneration = 'deprecated.daemonset.template.generation';

export const daemonSets: BuiltinKind<DaemonSet> = {
  id: 'apps/v1/daemonsets',
  versionAnnotations: new Set([templateGeneration]),
  warnings: (next, old) => templateWarnings('spec.template', next.spec?.template, { next, old }),
  setDefaults: (object) => {
    const { spec } = object;
    // Go's conversion leaves it there, so even a client that sends a daemon set without it owns it.
    if (object.metadata?.annotations?.[templateGeneration] === undefined) setTemplateGeneration(object, '0');
    if (spec === undefined) return;
    setPodTemplateDefaults(spec.template);
    const strategy: DaemonSetUpdateStrategy = {
      ...spec.updateStrategy,
      type: spec.updateStrategy?.type || 'RollingUpdate',
    };
    if (strategy.type === 'RollingUpdate')
      strategy.rollingUpdate = { maxUnavailable: 1, maxSurge: 0, ...strategy.rollingUpdate };
    spec.updateStrategy = strategy;
    spec.revisionHistoryLimit ??= 10;
  },
  prepareForCreate: (object) => setTemplateGeneration(object, '1'),
  prepareForUpdate: (next, old) => {
    const before = generationOf(old);
    const isSame = jsonEqual(next.spec?.template, old.spec?.template);
    setTemplateGeneration(next, isSame ? before : String(Number(before) + 1));
  },
  validate: (root, { spec }) => {
    const at = root.child('spec');
    const selector = spec?.selector;
    validateLabelSelector(at.child('selector'), selector);
    const isMatch = selectsLabels(selector, spec?.template?.metadata?.labels) !== false;
    if (selector && isEmptySelector(selector))
      at.child('selector').invalid(goLabelSelector(selector), 'empty selector is invalid for daemonset');
    validateTemplate(at.child('template'), spec?.template, { isMatch, owner: 'DaemonSet' });
    at.child('minReadySeconds').nonNegative(spec?.minReadySeconds);
    validateUpdateStrategy(at.child('updateStrategy'), spec?.updateStrategy ?? {});
    at.child('revisionHistoryLimit').nonNegative(spec?.revisionHistoryLimit);
  },
  validateChange: (root, next, old) =>
    validateSelectorUnchanged(root.child('spec'), next.spec?.selector, old.spec?.selector),
  status: {
    prepare: (next, old) => setTemplateGeneration(next, generationOf(old)),
    validate: (root, { status }, old) => {
      for (const [name, count] of Object.entries(status ?? {})) {
        if (typeof count === 'number') root.child('status', name).nonNegative(count);
      }
      validateCollisions(root.child('status'), status, old.status);
    },
  },
};

function generationOf({ metadata }: DeepReadonly<DaemonSet>): string {
  return metadata?.annotations?.[templateGeneration] ?? '1';
}

function setTemplateGeneration(object: DaemonSet, value: string): void {
  object.metadata = {
    ...object.metadata,
    annotations: { ...object.metadata?.annotations, [templateGeneration]: value },
  };
}

function validateUpdateStrategy(at: Field, strategy: DeepReadonly<DaemonSetUpdateStrategy>): void {
  const { type, rollingUpdate } = strategy;
  if (type === 'OnDelete') return;
  if (type !== 'RollingUpdate') {
    return at.notSupported(internalForm('apps.DaemonSetUpdateStrategy', strategy), ['RollingUpdate', 'OnDelete']);
  }
  const rolling = at.child('rollingUpdate');
  if (rollingUpdate === undefined) return rolling.required();
  for (const name of ['maxUnavailable', 'maxSurge'] as const) {
    validateIntOrPercent(rolling.child(name), rollingUpdate[name]);
    validateAtMost100Percent(rolling.child(name), rollingUpdate[name]);
  }
  const hasSurge = !isZero(rollingUpdate.maxSurge);
  const hasUnavailable = !isZero(rollingUpdate.maxUnavailable);
  if (hasSurge && hasUnavailable)
    rolling.child('maxSurge').invalid(rollingUpdate.maxSurge, 'may not be set when maxUnavailable is non-zero');
  if (!hasSurge && !hasUnavailable) rolling.child('maxUnavailable').required('cannot be 0 when maxSurge is 0');
}
