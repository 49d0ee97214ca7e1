// Converts metrics and behaviour, for which autoscaling/v1 has no fields, to the forms that its annotations hold:
// metrics as v1 spells them, behaviour with the names of Go's fields. conversion.ts writes the annotations. Source:
// pkg/apis/autoscaling/v1/conversion.go.
import { isJsonObject } from '@kapstan/api/internal';

type Fields = Record<string, unknown>;
/** 'target' = of a spec, 'current' = of a status. */
type Side = 'target' | 'current';

const kinds = ['object', 'pods', 'resource', 'containerResource', 'external'] as const;
type Kind = (typeof kinds)[number];

/** Returns a metric of v2, or its status, as v1 spells it. */
export function toAnnotatedMetric(side: Side, metric: Fields): Fields {
  return withSources(metric, (kind, source) => annotated(side, kind, source));
}

/** Does the inverse of {@link toAnnotatedMetric}. */
export function fromAnnotatedMetric(side: Side, metric: Fields): Fields {
  return withSources(metric, (kind, source) => unannotated(side, kind, source));
}

function withSources(metric: Fields, convert: (kind: Kind, source: Fields) => Fields): Fields {
  const converted: Fields = { type: metric.type };
  for (const kind of kinds) {
    const source = metric[kind];
    if (isJsonObject(source)) converted[kind] = convert(kind, source);
  }
  return converted;
}

/** Members that are undefined are left out when it is written. */
function annotated(side: Side, kind: Kind, source: Fields): Fields {
  const { value, averageValue, averageUtilization } = fieldsOf(source[side]);
  const { name, selector } = fieldsOf(source.metric);
  // These are not pointers in Go, so they always have a value.
  const always = (quantity: unknown): unknown => quantity ?? '0';
  switch (kind) {
    case 'object': {
      const { kind: ofKind, name: ofName, apiVersion } = fieldsOf(source.describedObject);
      const target = { kind: ofKind, name: ofName, apiVersion };
      return { target, metricName: name, [`${side}Value`]: always(value), selector, averageValue };
    }
    case 'pods':
      return { metricName: name, [`${side}AverageValue`]: always(averageValue), selector };
    case 'resource':
    case 'containerResource':
      return {
        name: source.name,
        [`${side}AverageUtilization`]: averageUtilization,
        [`${side}AverageValue`]: side === 'current' ? always(averageValue) : averageValue,
        container: source.container,
      };
    case 'external':
      return {
        metricName: name,
        metricSelector: selector,
        [`${side}Value`]: side === 'current' ? always(value) : value,
        [`${side}AverageValue`]: averageValue,
      };
  }
}

function unannotated(side: Side, kind: Kind, source: Fields): Fields {
  const value = source[`${side}Value`];
  const averageValue = kind === 'object' ? source.averageValue : source[`${side}AverageValue`];
  const averageUtilization = source[`${side}AverageUtilization`];
  const amounts = amountsOf(side, kind, { value, averageValue, averageUtilization });
  if (kind === 'resource' || kind === 'containerResource')
    return { name: source.name, [side]: amounts, container: source.container };
  const metric = { name: source.metricName, selector: kind === 'external' ? source.metricSelector : source.selector };
  return kind === 'object' ? { describedObject: source.target, metric, [side]: amounts } : { metric, [side]: amounts };
}

interface Amounts {
  readonly value: unknown;
  readonly averageValue: unknown;
  readonly averageUtilization: unknown;
}

function amountsOf(side: Side, kind: Kind, amounts: Amounts): Fields {
  const { value, averageValue, averageUtilization } = amounts;
  if (side === 'current') return { ...amounts };
  if (averageUtilization !== undefined) return { type: 'Utilization', ...amounts };
  // v1 cannot omit the value of an object's metric, so zero together with an average means none.
  if (kind === 'object' && averageValue !== undefined)
    return { type: 'AverageValue', value: value === '0' ? undefined : value, averageValue };
  return { type: value === undefined ? 'AverageValue' : 'Value', value, averageValue };
}

/** Absent members become null, as Go writes pointers without tags. */
export function toAnnotatedBehavior(behavior: Fields): Fields {
  return { ScaleUp: annotatedRules(behavior.scaleUp), ScaleDown: annotatedRules(behavior.scaleDown) };
}

function annotatedRules(rules: unknown): Fields | null {
  if (!isJsonObject(rules)) return null;
  const { stabilizationWindowSeconds, selectPolicy, policies, tolerance } = rules;
  return {
    StabilizationWindowSeconds: stabilizationWindowSeconds ?? null,
    SelectPolicy: selectPolicy ?? null,
    Policies: Array.isArray(policies) ? policies.map(annotatedPolicy) : null,
    Tolerance: tolerance ?? null,
  };
}

function annotatedPolicy(policy: unknown): Fields {
  const { type, value, periodSeconds } = fieldsOf(policy);
  return { Type: type, Value: value, PeriodSeconds: periodSeconds };
}

/** Go reads names in any case, so values of older servers are understood too. Nulls are dropped. */
export function fromAnnotatedBehavior(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromAnnotatedBehavior);
  if (!isJsonObject(value)) return value;
  const present = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(
    present.map(([name, member]) => [`${name.charAt(0).toLowerCase()}${name.slice(1)}`, fromAnnotatedBehavior(member)]),
  );
}

function fieldsOf(value: unknown): Fields {
  return isJsonObject(value) ? value : {};
}
