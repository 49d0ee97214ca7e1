// Rules for the metrics of an autoscaler. Source: pkg/apis/autoscaling/validation validateMetricSpec.
import type { DeepReadonly } from '@kapstan/api';
import { dnsLabelErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { pathSegmentErrors } from '@kapstan/apiserver/internal';
import type { MetricSpec, MetricTarget } from '@kapstan/kinds/autoscaling/v2';
import { amount, validateContainerResourceName } from '../../validation/resource-rules.ts';
import { type AllowedVersions, validateTarget as validateObjectReference, versionError } from './target-validation.ts';

type Metric = DeepReadonly<MetricSpec>;

/** The member with the source of each type, in the order in which Kubernetes checks them. */
const memberOf: ReadonlyMap<string, Exclude<keyof MetricSpec, 'type'>> = new Map([
  ['Object', 'object'],
  ['External', 'external'],
  ['Pods', 'pods'],
  ['Resource', 'resource'],
  ['ContainerResource', 'containerResource'],
]);
const types = [...memberOf.keys()].sort();

export function validateMetrics(
  at: Field,
  metrics: readonly Metric[] | undefined,
  old: readonly Metric[] | undefined,
): void {
  const wasInvalid = old?.some(
    ({ type, object }) =>
      type === 'Object' &&
      object !== undefined &&
      versionError(object.describedObject.apiVersion ?? '', 'valid') !== undefined,
  );
  const versions = wasInvalid === true ? 'any' : 'valid';
  at.each(metrics, (metric, place) => validateMetric(place, metric, versions));
}

function validateMetric(at: Field, metric: Metric, versions: AllowedVersions): void {
  const type = metric.type ?? '';
  const expected = memberOf.get(type);
  if (type === '') at.child('type').required('must specify a metric source type');
  // Kubernetes reports an unknown type twice: where it is read and where its source is looked up.
  if (expected === undefined) for (const _ of ['read', 'looked for']) at.child('type').notSupported(type, types);
  const present = [...memberOf.values()].filter((member) => metric[member] !== undefined);
  const [first] = present;
  if (first !== undefined) validateSource(at.child(first), metric, { member: first, versions });
  if (expected !== undefined && metric[expected] === undefined)
    at.child(expected).required('must populate information for the given metric source');
  if (present.length === 1) return;
  for (const member of present)
    if (member !== expected) at.child(member).forbidden('must populate the given metric source only');
}

type Member = Exclude<keyof MetricSpec, 'type'>;

type AnySource = DeepReadonly<{
  name?: string;
  container?: string;
  metric?: { name?: string };
  describedObject?: { kind: string; name: string; apiVersion?: string };
  target: MetricTarget;
}>;

interface SourceRules {
  readonly member: Member;
  readonly versions: AllowedVersions;
}

function validateSource(at: Field, metric: Metric, { member, versions }: SourceRules): void {
  const source = metric[member] as AnySource;
  if (member === 'object') validateObjectReference(at.child('describedObject'), source.describedObject ?? {}, versions);
  if (member === 'resource' || member === 'containerResource') validateResource(at, source, member);
  else validateIdentifier(at.child('metric', 'name'), source.metric?.name ?? '');
  validateTarget(at.child('target'), source.target, member);
}

function validateResource(at: Field, { name = '', container = '' }: AnySource, member: Member): void {
  if (name === '') at.child('name').required('must specify a resource name');
  if (member === 'resource') return;
  if (name !== '') validateContainerResourceName(at.child('name'), name);
  if (container === '') at.child('container').required('must specify a container');
  else at.child('container').invalidAll(container, dnsLabelErrors(container));
}

function validateIdentifier(at: Field, name: string): void {
  if (name === '') at.required('must specify a metric name');
  else at.invalidAll(name, pathSegmentErrors(name));
}

const targetTypes: readonly (string | undefined)[] = ['Utilization', 'Value', 'AverageValue'];

function validateTarget(at: Field, target: DeepReadonly<MetricTarget>, member: Member): void {
  if (!target.type) at.child('type').required('must specify a metric target type');
  if (!targetTypes.includes(target.type))
    at.child('type').invalid(target.type ?? '', 'must be either Utilization, Value, or AverageValue');
  for (const name of ['value', 'averageValue'] as const) {
    const value = target[name];
    if (value !== undefined && amount(value).sign !== 1) at.child(name).invalid(String(value), 'must be positive');
  }
  const utilization = target.averageUtilization;
  if (utilization !== undefined && utilization < 1)
    at.child('averageUtilization').invalid(utilization, 'must be greater than 0');
  validateChoice(at, target, member);
}

type Amount = 'value' | 'averageValue' | 'averageUtilization';

/** Checks the forms that a source's target may have: one of two, or both if they do not mean the same. */
function validateChoice(at: Field, target: DeepReadonly<MetricTarget>, member: Member): void {
  const has = (name: Amount): boolean => target[name] !== undefined;
  const either = (name: Amount, what: string): void => at.child(name).required(`must set either ${what}`);
  const both = (name: Amount, what: string): void => at.child(name).forbidden(`may not set both ${what}`);
  const isUnset = target.value === undefined && target.averageValue === undefined;
  switch (member) {
    case 'pods':
      if (!has('averageValue')) at.child('averageValue').required('must specify a positive target averageValue');
      return;
    case 'object':
      if (isUnset) either('averageValue', 'a target value or averageValue');
      return;
    case 'external':
      if (isUnset) either('averageValue', 'a target value for metric or a per-pod target');
      else if (has('value') === has('averageValue')) both('value', 'a target value for metric and a per-pod target');
      return;
    default:
      if (!has('averageUtilization') && !has('averageValue'))
        either('averageUtilization', 'a target raw value or a target utilization');
      else if (has('averageUtilization') === has('averageValue'))
        both('averageValue', 'a target raw value and a target utilization');
  }
}
