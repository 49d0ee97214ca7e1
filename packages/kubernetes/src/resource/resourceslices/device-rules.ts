// Rules for one device of a slice: attributes, taints, counters and conditions. capacity-rules.ts has the rules for
// requests of its capacities. Source: pkg/apis/resource/validation validateDevice.
import { type DeepReadonly, parseQuantity } from '@kapstan/api';
import { dnsLabelErrors, dnsSubdomainErrors, labelValueErrors, qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { Counter, Device, DeviceAttribute, DeviceCapacity, DeviceTaint } from '@kapstan/kinds/resource.k8s.io/v1';
import { validateNodeSelector } from '../../core/pods/scheduling-validation.ts';
import { validateName, validateSet } from '../device-validation.ts';
import { validateRequestPolicy } from './capacity-rules.ts';

type ReadonlyDevice = DeepReadonly<Device>;

const maxAttributesAndCapacities = 32;
const maxAttributeValues = 48;
const maxValueBytes = 64;
const maxTaints = 16;
const maxCounterSets = 2;
const maxCounters = 32;
const maxConditions = 4;

export interface DeviceScope {
  /** The old device of that name. */
  readonly before: ReadonlyDevice | undefined;
  /** True when each device says on which nodes it is available. */
  readonly isPerDevice: boolean;
}

export function validateDevice(at: Field, device: ReadonlyDevice, { before, isPerDevice }: DeviceScope): void {
  at.child('name').invalidAll(device.name, dnsLabelErrors(device.name));
  validateAmounts(at, device);
  validateNamed(at.child('attributes'), device.attributes, validateAttribute);
  const isShared = device.allowMultipleAllocations === true;
  validateNamed(at.child('capacity'), device.capacity, (place, capacity) =>
    validateCapacity(place, capacity, isShared),
  );
  if (before === undefined || !jsonEqual(before.taints ?? [], device.taints ?? []))
    validateTaints(at.child('taints'), device.taints);
  validateSet(at.child('consumesCounters'), device.consumesCounters, {
    maxItems: maxCounterSets,
    validate: ({ counterSet, counters }, place) => {
      validateCounterName(place.child('counterSet'), counterSet);
      validateCounters(place.child('counters'), counters);
    },
    keyOf: ({ counterSet }) => counterSet,
  });
  if (isPerDevice) validatePlace(at, device);
  else if ((device.nodeName ?? device.nodeSelector ?? device.allNodes) !== undefined)
    at.invalid(
      null,
      '`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec',
    );
  validateDeviceConditions(at, device);
}

export function validateCounterName(at: Field, name: string | undefined): void {
  if (at.present(name) && name !== undefined) at.invalidAll(name, dnsLabelErrors(name));
}

export function validateCounters(at: Field, counters: Readonly<Record<string, DeepReadonly<Counter>>> = {}): void {
  const names = Object.keys(counters);
  if (names.length === 0) return at.required();
  if (names.length > maxCounters) return at.tooMany(names.length, maxCounters);
  for (const name of names) at.invalidAll(name, dnsLabelErrors(name));
}

function validateAmounts(at: Field, { attributes = {}, capacity = {} }: ReadonlyDevice): void {
  const count = Object.keys(attributes).length + Object.keys(capacity).length;
  if (count > maxAttributesAndCapacities)
    at.invalid(count, `the total number of attributes and capacities must not exceed ${maxAttributesAndCapacities}`);
  const values = Object.values(attributes).reduce((total, attribute) => total + valuesOf(attribute), 0);
  if (values > maxAttributeValues)
    at.invalid(values, `the total number of attribute values must not exceed ${maxAttributeValues}`);
}

function valuesOf({ bools = [], ints = [], strings = [], versions = [] }: DeepReadonly<DeviceAttribute>): number {
  return bools.length + ints.length + strings.length + versions.length || 1;
}

function validateNamed<T>(
  at: Field,
  named: Readonly<Record<string, T>> | undefined,
  validate: (place: Field, value: T) => void,
): void {
  at.eachKey(named, (name, value, place) => {
    validateName(at, name);
    validate(place, value);
  });
}

const numeric = '(?:0|[1-9][0-9]*)';
const preRelease = '(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)';
const semver = new RegExp(
  `^${numeric}\\.${numeric}\\.${numeric}(?:-${preRelease}(?:\\.${preRelease})*)?(?:\\+[0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*)?$`,
);

function validateAttribute(at: Field, attribute: DeepReadonly<DeviceAttribute>): void {
  const texts: readonly (readonly [Field, string])[] = [
    ...(attribute.string === undefined ? [] : ([[at.child('string'), attribute.string]] as const)),
    ...(attribute.strings ?? []).map((text, index) => [at.child('strings').index(index), text] as const),
  ];
  for (const [place, text] of texts) validateLength(place, text);
  if (attribute.version !== undefined) validateVersion(at.child('version'), attribute.version);
  at.child('versions').each(attribute.versions, (version, place) => validateVersion(place, version));
  const given = Object.values(attribute).filter((value) => value !== undefined).length;
  if (given !== 1) at.invalid(given === 0 ? '' : goAttribute(attribute), 'exactly one value must be specified');
}

/** Shows the struct as Go does. */
function goAttribute(attribute: DeepReadonly<DeviceAttribute>): object {
  const { int = null, bool = null, string = null, version = null } = attribute;
  const { ints = null, bools = null, strings = null, versions = null } = attribute;
  return {
    IntValue: int,
    BoolValue: bool,
    StringValue: string,
    VersionValue: version,
    IntValues: ints,
    BoolValues: bools,
    StringValues: strings,
    VersionValues: versions,
  };
}

function validateVersion(at: Field, version: string): void {
  // A version that is too long is not checked further, because it could have any length.
  if (Buffer.byteLength(version) > maxValueBytes || !semver.test(version))
    at.invalid(version, 'must be a string compatible with semver.org spec 2.0.0');
  validateLength(at, version);
}

function validateLength(at: Field, text: string): void {
  if (Buffer.byteLength(text) > maxValueBytes) at.tooLong(maxValueBytes);
}

function validateCapacity(at: Field, capacity: DeepReadonly<DeviceCapacity>, isShared: boolean): void {
  if (capacity.requestPolicy === undefined) return;
  const place = at.child('requestPolicy');
  if (isShared) validateRequestPolicy(place, capacity.requestPolicy, parseQuantity(String(capacity.value)));
  else place.forbidden('allowMultipleAllocations must be true');
}

function validateTaints(at: Field, taints: readonly DeepReadonly<DeviceTaint>[] = []): void {
  if (taints.length > maxTaints) return at.tooMany(taints.length, maxTaints);
  at.each(taints, ({ key, value = '', effect }, place) => {
    place.child('key').invalidAll(key, qualifiedNameErrors(key));
    place.child('value').invalidAll(value, labelValueErrors(value));
    if (place.child('effect').present(effect)) place.child('effect').oneOf(effect, ['NoExecute', 'NoSchedule', 'None']);
  });
}

function validatePlace(at: Field, { nodeName, nodeSelector, allNodes }: ReadonlyDevice): void {
  const given: string[] = [];
  if (nodeName === '') at.child('nodeName').invalid('', 'must not be empty');
  else if (nodeName !== undefined) {
    given.push('`nodeName`');
    at.child('nodeName').invalidAll(nodeName, dnsSubdomainErrors(nodeName));
  }
  if (nodeSelector !== undefined) {
    given.push('`nodeSelector`');
    validateNodeSelector(at.child('nodeSelector'), nodeSelector);
  }
  if (allNodes === true) given.push('`allNodes`');
  else if (allNodes === false) at.child('allNodes').invalid(false, 'must be either unset or set to true');
  const one =
    'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec';
  if (given.length === 0) at.required(one);
  if (given.length > 1) at.invalid(`{${given.join(', ')}}`, one);
}

/** Source: validateDeviceBindingParameters. */
function validateDeviceConditions(at: Field, device: ReadonlyDevice): void {
  const { bindingConditions = [], bindingFailureConditions = [] } = device;
  const [success, failure] = [at.child('bindingConditions'), at.child('bindingFailureConditions')];
  validateConditionNames(success, bindingConditions);
  validateConditionNames(failure, bindingFailureConditions);
  const seen = new Set<string>();
  success.each(bindingConditions, (name, place) => {
    if (seen.has(name)) place.duplicate(name);
    seen.add(name);
  });
  const failed = new Set<string>();
  failure.each(bindingFailureConditions, (name, place) => {
    if (failed.has(name)) place.duplicate(name);
    failed.add(name);
    if (seen.has(name)) place.invalid(name, 'bindingFailureConditions must not overlap with bindingConditions');
  });
  if (seen.size === 0 && failed.size > 0)
    success.invalid([], 'bindingConditions are required to use bindingFailureConditions');
  if (failed.size === 0 && seen.size > 0)
    failure.invalid([], 'bindingFailureConditions are required to use bindingConditions');
}

function validateConditionNames(at: Field, names: readonly string[]): void {
  if (names.length > maxConditions) return at.tooMany(names.length, maxConditions);
  at.each(names, (name, place) => place.invalidAll(name, qualifiedNameErrors(name)));
}
