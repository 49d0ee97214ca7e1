// Rules for the metrics of an autoscaler. Source: pkg/apis/autoscaling/validation validateMetricSpec.
import type { DeepReadonly } from '@kapstan/api';
import type { MetricSpec, MetricTarget } from '@kapstan/kinds/autoscaling/v2';
import type { Field } from '../../validation/field.ts';
import { amount } from '../../validation/resource-rules.ts';

type Metric = DeepReadonly<MetricSpec>;

const memberOf: ReadonlyMap<string, keyof MetricSpec> = new Map([
  ['ContainerResource', 'containerResource'],
  ['External', 'external'],
  ['Object', 'object'],
  ['Pods', 'pods'],
  ['Resource', 'resource'],
]);
const types = [...memberOf.keys()];

export function validateMetrics(at: Field, metrics: readonly Metric[] | undefined): void {
  at.each(metrics, (metric, place) => validateMetric(place, metric));
}

function validateMetric(at: Field, metric: Metric): void {
  const type = metric.type ?? '';
  const member = memberOf.get(type);
  if (type === '') at.child('type').required('must specify a metric source type');
  if (member === undefined) {
    // Kubernetes tells an unknown type twice: where it is read and where its source is looked for.
    at.child('type').notSupported(type, types);
    return at.child('type').notSupported(type, types);
  }
  if (metric[member] === undefined)
    return at.child(member).required('must populate information for the given metric source');
  for (const other of memberOf.values()) {
    if (other !== member && metric[other] !== undefined)
      at.child(other).forbidden('must populate the given metric source only');
  }
  validateSource(at.child(member), metric, member);
}

function validateSource(at: Field, metric: Metric, member: keyof MetricSpec): void {
  const source = metric[member] as DeepReadonly<{
    name?: string;
    container?: string;
    metric?: { name?: string };
    target: MetricTarget;
  }>;
  if (member === 'resource' || member === 'containerResource') at.child('name').present(source.name);
  else at.child('metric', 'name').present(source.metric?.name);
  if (member === 'containerResource') at.child('container').present(source.container);
  validateTarget(at.child('target'), source.target, member);
}

function validateTarget(at: Field, target: DeepReadonly<MetricTarget>, member: keyof MetricSpec): void {
  if (!target.type) at.child('type').required('must specify a metric target type');
  else at.child('type').oneOf(target.type, ['AverageValue', 'Utilization', 'Value']);
  for (const name of ['value', 'averageValue'] as const) {
    const value = target[name];
    if (value !== undefined && amount(value).sign !== 1) at.child(name).invalid(String(value), 'must be positive');
  }
  const utilization = target.averageUtilization;
  if (utilization !== undefined && utilization < 1)
    at.child('averageUtilization').invalid(utilization, 'must be greater than 0');
  validateChoice(at, target, member);
}

function validateChoice(at: Field, target: DeepReadonly<MetricTarget>, member: keyof MetricSpec): void {
  const has = (name: 'value' | 'averageValue' | 'averageUtilization'): boolean => target[name] !== undefined;
  if (member === 'resource' || member === 'containerResource') {
    if (!has('averageUtilization') && !has('averageValue')) {
      at.child('averageUtilization').required('must set either a target raw value or a target utilization');
    }
    if (has('averageUtilization') && has('averageValue')) {
      at.child('averageValue').forbidden('may not set both a target raw value and a target utilization');
    }
    return;
  }
  if (member === 'pods') {
    if (!has('averageValue')) at.child('averageValue').required('must specify a positive target averageValue');
    return;
  }
  if (!has('value') && !has('averageValue'))
    at.child('averageValue').required('must set either a target value or averageValue');
  if (member === 'external' && has('value') && has('averageValue')) {
    at.child('value').forbidden('may not set both a target value for metric and a per-pod target');
  }
}
