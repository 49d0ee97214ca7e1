// Limit ranges. Source: pkg/apis/core/v1/defaults.go SetDefaults_LimitRangeItem, pkg/apis/core/validation ValidateLimitRange.
import { type DeepReadonly, qualifiedNameErrors } from '@kapstan/api';
import type { LimitRange, LimitRangeItem } from '@kapstan/kinds/core/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import type { Field } from '../../validation/field.ts';
import { amount, type ResourceList } from '../../validation/resource-rules.ts';

export const limitRanges: BuiltinKind<LimitRange> = {
  id: 'v1/limitranges',
  strategy: { updateMetadata: 'whole' },
  setDefaults: ({ spec }) => {
    for (const item of spec?.limits ?? []) if (item.type === 'Container') setItemDefaults(item);
  },
  prepareForCreate: (object) => {
    // Kubernetes names it itself, with a uuid; the uid serves as one.
    if (!object.metadata?.name && object.metadata?.uid)
      object.metadata = { ...object.metadata, name: object.metadata.uid };
  },
  validate: (root, { spec }) => {
    const types = new Set<string>();
    root.child('spec', 'limits').each(spec?.limits, (item, place) => {
      place.child('type').invalidAll(item.type, qualifiedNameErrors(item.type));
      if (types.has(item.type)) place.child('type').duplicate(item.type);
      types.add(item.type);
      validateItem(place, item);
    });
  },
};

/** Limits from maxima; requests from limits, else from minima. */
function setItemDefaults(item: LimitRangeItem): void {
  const limits = { ...item.max, ...item.default };
  const requests = { ...item.min, ...limits, ...item.defaultRequest };
  if (Object.keys(limits).length > 0) item.default = limits;
  if (Object.keys(requests).length > 0) item.defaultRequest = requests;
}

const bounds = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const;

function validateItem(at: Field, item: DeepReadonly<LimitRangeItem>): void {
  if (item.type === 'Pod') {
    for (const name of ['default', 'defaultRequest'] as const) {
      if (Object.keys(item[name] ?? {}).length > 0)
        at.child(name).forbidden("may not be specified when `type` is 'Pod'");
    }
  }
  if (item.type === 'PersistentVolumeClaim' && item.min?.storage === undefined && item.max?.storage === undefined) {
    at.child('limits').required('either minimum or maximum storage value is required, but neither was provided');
  }
  const resources = new Set(bounds.flatMap((name) => Object.keys(item[name] ?? {})));
  for (const resource of resources) validateBounds(at, item, resource);
}

/** Pairs of bounds that must be in order, as Kubernetes words and places the complaint. */
const orders = [
  { low: 'min', high: 'max', at: 'min', shown: 'low', text: 'min value {low} is greater than max value {high}' },
  {
    low: 'min',
    high: 'defaultRequest',
    at: 'defaultRequest',
    shown: 'high',
    text: 'min value {low} is greater than default request value {high}',
  },
  {
    low: 'defaultRequest',
    high: 'max',
    at: 'defaultRequest',
    shown: 'low',
    text: 'default request value {low} is greater than max value {high}',
  },
  {
    low: 'defaultRequest',
    high: 'default',
    at: 'defaultRequest',
    shown: 'low',
    text: 'default request value {low} is greater than default limit value {high}',
  },
  {
    low: 'min',
    high: 'default',
    at: 'default',
    shown: 'low',
    text: 'min value {low} is greater than default value {high}',
  },
  {
    low: 'default',
    high: 'max',
    at: 'default',
    shown: 'high',
    text: 'default value {low} is greater than max value {high}',
  },
] as const;

function validateBounds(at: Field, item: DeepReadonly<LimitRangeItem>, resource: string): void {
  const textOf = (list: ResourceList | undefined): string | undefined =>
    list !== undefined && Object.hasOwn(list, resource) ? String(list[resource]) : undefined;
  for (const order of orders) {
    const low = textOf(item[order.low]);
    const high = textOf(item[order.high]);
    if (low === undefined || high === undefined || amount(low).compare(amount(high)) <= 0) continue;
    const text = order.text.replace('{low}', low).replace('{high}', high);
    at.child(order.at)
      .key(resource)
      .invalid(order.shown === 'low' ? low : high, text);
  }
  const ratio = textOf(item.maxLimitRequestRatio);
  if (ratio !== undefined && amount(ratio).compare(amount('1')) < 0) {
    at.child('maxLimitRequestRatio').key(resource).invalid(ratio, `ratio ${ratio} is less than 1`);
  }
}
