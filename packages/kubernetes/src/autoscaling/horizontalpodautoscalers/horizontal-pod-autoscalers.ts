// Horizontal pod autoscalers, in autoscaling/v2 (the stored form) and v1. Source: pkg/registry/autoscaling/horizontalpodautoscaler,
// pkg/apis/autoscaling/v2/defaults.go, pkg/apis/autoscaling/validation.
import { type DeepReadonly, deepCopy } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { HorizontalPodAutoscaler as HorizontalPodAutoscalerV1 } from '@kapstan/kinds/autoscaling/v1';
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
  HPAScalingPolicy,
  HPAScalingRules,
} from '@kapstan/kinds/autoscaling/v2';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { autoscalerCells } from '../../table/workload-cells.ts';
import { amount } from '../../validation/resource-rules.ts';
import { fromAutoscalerV2, toAutoscalerV2, versionAnnotations } from './conversion.ts';
import { validateMetrics } from './metric-validation.ts';
import { type AllowedVersions, validateTarget } from './target-validation.ts';

/** Kubernetes stored v1 before 1.23. */
const upgrades = new Map([['autoscaling/v1', toAutoscalerV2]]);

export const autoscalers: BuiltinKind<HorizontalPodAutoscaler> = {
  id: 'autoscaling/v2/horizontalpodautoscalers',
  upgrades,
  setDefaults: ({ metadata, spec }) => {
    // In v2 they have no meaning, and Go's conversion drops them.
    for (const name of versionAnnotations) delete metadata?.annotations?.[name];
    if (spec === undefined) return;
    spec.minReplicas ??= 1;
    if ((spec.metrics?.length ?? 0) === 0) {
      spec.metrics = [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } },
      ];
    }
    if (spec.behavior === undefined) return;
    const { scaleUp, scaleDown } = spec.behavior;
    spec.behavior = {
      scaleUp: { ...deepCopy(upRules), ...scaleUp },
      scaleDown: { ...deepCopy(downRules), ...scaleDown },
    };
  },
  validate: (root, { spec }, old) => validateSpec(root.child('spec'), spec, old?.spec),
  status: { validate: validateStatus },
};

export const autoscalersV1: BuiltinKind<HorizontalPodAutoscalerV1> = {
  id: 'autoscaling/v1/horizontalpodautoscalers',
  upgrades,
  convert: { fromStored: fromAutoscalerV2, toStored: toAutoscalerV2 },
  versionAnnotations,
  cells: (object) => autoscalerCells(inStoredForm(object)),
  setDefaults: (object) => {
    if (object.spec === undefined) return;
    object.spec.minReplicas ??= 1;
    // The annotation may hold other metrics, beside which there is no default.
    const hasMetrics = (inStoredForm(object).spec?.metrics?.length ?? 0) > 0;
    if (!hasMetrics) object.spec.targetCPUUtilizationPercentage = 80;
    // Malformed annotations, which the stored form cannot hold, are dropped before anyone sees them.
    Object.assign(object, fromAutoscalerV2(toAutoscalerV2(object as never)));
  },
  validate: (root, object, old) => {
    const before = old === undefined ? undefined : inStoredForm(old);
    validateSpec(root.child('spec'), inStoredForm(object).spec, before?.spec);
  },
  status: { validate: validateStatus },
};

const inStoredForm = (object: DeepReadonly<HorizontalPodAutoscalerV1>): HorizontalPodAutoscaler =>
  toAutoscalerV2(object as never) as unknown as HorizontalPodAutoscaler;

function validateStatus(
  root: Field,
  { status }: DeepReadonly<{ status?: { currentReplicas?: number; desiredReplicas: number } }>,
): void {
  for (const name of ['currentReplicas', 'desiredReplicas'] as const)
    root.child('status', name).nonNegative(status?.[name]);
}

const upRules: HPAScalingRules = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
};
const downRules: HPAScalingRules = {
  selectPolicy: 'Max',
  policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
};

type ReadonlySpec = DeepReadonly<HorizontalPodAutoscalerSpec>;

function validateSpec(at: Field, spec: ReadonlySpec | undefined, old: ReadonlySpec | undefined): void {
  const min = spec?.minReplicas;
  const max = spec?.maxReplicas ?? 0;
  const leastMin = old?.minReplicas === 0 ? 0 : 1;
  if (min !== undefined && min < leastMin)
    at.child('minReplicas').invalid(min, `must be greater than or equal to ${leastMin}`);
  if (max === 0) at.child('maxReplicas').required('must be set and greater than 0');
  else if (max < 0) at.child('maxReplicas').invalid(max, 'must be greater than or equal to 1');
  if (min !== undefined && max < min)
    at.child('maxReplicas').invalid(max, 'must be greater than or equal to `minReplicas`');
  validateTarget(at.child('scaleTargetRef'), spec?.scaleTargetRef ?? {}, targetVersions(spec, old));
  validateMetrics(at.child('metrics'), spec?.metrics, old?.metrics);
  if (min === 0 && !spec?.metrics?.some((metric) => metric.type === 'Object' || metric.type === 'External')) {
    at.child('metrics').forbidden(
      'must specify at least one Object or External metric to support scaling to zero replicas',
    );
  }
  for (const name of ['scaleUp', 'scaleDown'] as const) {
    const rules = spec?.behavior?.[name];
    if (rules !== undefined) validateRules(at.child('behavior', name), rules);
  }
}

/** A version accepted earlier stays valid. In the core group only replication controllers can be scaled. */
function targetVersions(spec: ReadonlySpec | undefined, old: ReadonlySpec | undefined): AllowedVersions {
  const [next, before] = [spec?.scaleTargetRef, old?.scaleTargetRef];
  if (old !== undefined && before?.apiVersion === next?.apiVersion && before?.kind === next?.kind) return 'any';
  return next?.kind === 'ReplicationController' ? 'valid' : 'ofGroup';
}

const maxWindowSeconds = 3600;
const maxPeriodSeconds = 1800;

function validateRules(at: Field, rules: DeepReadonly<HPAScalingRules>): void {
  const window = rules.stabilizationWindowSeconds;
  const place = at.child('stabilizationWindowSeconds');
  if (window !== undefined && window < 0) place.invalid(window, 'must be greater than or equal to zero');
  if (window !== undefined && window > maxWindowSeconds)
    place.invalid(window, `must be less than or equal to ${maxWindowSeconds}`);
  if (rules.selectPolicy !== undefined) at.child('selectPolicy').oneOf(rules.selectPolicy, ['Disabled', 'Max', 'Min']);
  if ((rules.policies?.length ?? 0) === 0) at.child('policies').required('must specify at least one Policy');
  at.child('policies').each(rules.policies, (policy, policyPlace) => validatePolicy(policyPlace, policy));
  const { tolerance } = rules;
  if (tolerance !== undefined && amount(tolerance).sign < 0)
    at.child('tolerance').invalid(amount(tolerance).toString(), 'must be greater than or equal to 0');
}

function validatePolicy(at: Field, policy: DeepReadonly<HPAScalingPolicy>): void {
  at.child('type').oneOf(policy.type, ['Percent', 'Pods']);
  if (policy.value <= 0) at.child('value').invalid(policy.value, 'must be greater than zero');
  if (policy.periodSeconds <= 0) at.child('periodSeconds').invalid(policy.periodSeconds, 'must be greater than zero');
  if (policy.periodSeconds > maxPeriodSeconds) {
    at.child('periodSeconds').invalid(policy.periodSeconds, `must be less than or equal to ${maxPeriodSeconds}`);
  }
}
