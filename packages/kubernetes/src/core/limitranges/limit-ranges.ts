// Limit ranges. Source: pkg/apis/core/v1/defaults.go SetDefaults_LimitRangeItem, pkg/apis/core/validation ValidateLimitRange.
import type { DeepReadonly } from '@kapstan/api';
import { qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { LimitRange, LimitRangeItem } from '@kapstan/kinds/core/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import {
  amount,
  mayOvercommit,
  type ResourceList,
  validateContainerResourceName,
  validateResourceName,
} from '../../validation/resource-rules.ts';

export const limitRanges: BuiltinKind<LimitRange> = {
  id: 'v1/limitranges',
  strategy: { updateMetadata: 'whole' },
  setDefaults: ({ spec }) => {
    for (const item of spec?.limits ?? []) if (item.type === 'Container') setItemDefaults(item);
  },
  prepareForCreate: (object) => {
    // Kubernetes generates a uuid as the name; our uid is one already.
    if (!object.metadata?.name && object.metadata?.uid)
      object.metadata = { ...object.metadata, name: object.metadata.uid };
  },
  validate: (root, { spec }) => {
    const types = new Set<string>();
    root.child('spec', 'limits').each(spec?.limits, (item, place) => {
      validateType(place.child('type'), item.type);
      if (types.has(item.type)) place.child('type').duplicate(item.type);
      types.add(item.type);
      validateItem(place, item);
    });
  },
};

/** Defaults limits from maxima, and requests from limits or else minima. */
function setItemDefaults(item: LimitRangeItem): void {
  const limits = { ...item.max, ...item.default };
  const requests = { ...item.min, ...limits, ...item.defaultRequest };
  if (Object.keys(limits).length > 0) item.default = limits;
  if (Object.keys(requests).length > 0) item.defaultRequest = requests;
}

const standardTypes = ['Pod', 'Container', 'PersistentVolumeClaim'];

/** Source: validateLimitRangeTypeName. */
function validateType(at: Field, type: string): void {
  const errors = qualifiedNameErrors(type);
  at.invalidAll(type, errors);
  if (errors.length === 0 && !type.includes('/') && !standardTypes.includes(type))
    at.invalid(type, 'must be a standard limit type or fully qualified');
}

const bounds = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const;

function validateNames(at: Field, item: DeepReadonly<LimitRangeItem>): void {
  const validateName =
    item.type === 'Pod' || item.type === 'Container' ? validateContainerResourceName : validateResourceName;
  for (const name of bounds) {
    // Defaults are refused as a whole for pods, so they are not checked.
    if (item.type === 'Pod' && name.startsWith('default')) continue;
    at.child(name).eachKey(item[name], (resource, _value, place) => validateName(place, resource));
  }
}

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
  validateNames(at, item);
  const resources = new Set(bounds.flatMap((name) => Object.keys(item[name] ?? {})));
  for (const resource of resources) validateBounds(at, item, resource);
}

/** Pairs of bounds that must be in order, with Kubernetes' text and place of the error. */
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
  validateRatio(at.child('maxLimitRequestRatio').key(resource), {
    ratio: textOf(item.maxLimitRequestRatio),
    min: textOf(item.min),
    max: textOf(item.max),
  });
  const limit = textOf(item.default);
  const request = textOf(item.defaultRequest);
  if (mayOvercommit(resource) || limit === undefined || request === undefined) return;
  if (amount(limit).compare(amount(request)) !== 0)
    at.child('defaultRequest')
      .key(resource)
      .invalid(request, `default value ${limit} must equal to defaultRequest value ${request} in ${resource}`);
}

/** Beyond this Kubernetes divides whole units instead of thousandths. Source: resource.MaxMilliValue. */
const maxMilli = (1n << 63n) / 1000n;

interface Ratio {
  readonly ratio: string | undefined;
  readonly min: string | undefined;
  readonly max: string | undefined;
}

function validateRatio(at: Field, { ratio, min, max }: Ratio): void {
  if (ratio === undefined) return;
  if (amount(ratio).compare(amount('1')) < 0) at.invalid(ratio, `ratio ${ratio} is less than 1`);
  if (min === undefined || max === undefined) return;
  const all = [ratio, min, max].map(amount);
  const isSmall = all.every((value) => value.scaledValue(0) < maxMilli);
  const [wanted = 0, low = 0, high = 0] = all.map((value) => Number(value.scaledValue(isSmall ? -3 : 0)));
  const possible = high / low;
  if ((isSmall ? wanted / 1000 : wanted) > possible)
    at.invalid(ratio, `ratio ${ratio} is greater than max/min = ${possible.toFixed(6)}`);
}
