// Rules for a slice: its pool, where the pool can be reached, its devices or shared counters. Rules for a device:
// device-rules.ts. Source: pkg/apis/resource/validation validateResourceSliceSpec.
import type { DeepReadonly } from '@kapstan/api';
import { dnsSubdomainErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { CounterSet, Device, ResourcePool, ResourceSliceSpec } from '@kapstan/kinds/resource.k8s.io/v1';
import { validateNodeSelector } from '../../core/pods/scheduling-validation.ts';
import { validateDriverName } from '../../validation/driver-name.ts';
import { validatePoolName } from '../../validation/pool-name.ts';
import { validateSet } from '../device-validation.ts';
import { validateCounterName, validateCounters, validateDevice } from './device-rules.ts';
import { hasLists } from './gated-fields.ts';

type Spec = DeepReadonly<ResourceSliceSpec>;

const maxDevices = 128;
/** Maximum number of devices if one has taints, counters or lists of values. */
const maxDemandingDevices = 64;
const maxCounterSets = 8;

export function validateSlice(at: Field, spec: Spec, old: Spec | undefined): void {
  validateDriverName(at.child('driver'), spec.driver);
  validatePool(at.child('pool'), spec.pool);
  if (old !== undefined) {
    at.child('pool', 'name').immutable(spec.pool?.name, spec.pool?.name === old.pool?.name);
    at.child('driver').immutable(spec.driver, spec.driver === old.driver);
    at.child('nodeName').immutable(spec.nodeName, spec.nodeName === old.nodeName);
  }
  validatePlace(at, spec);
  const { devices, sharedCounters } = spec;
  if (devices !== undefined && sharedCounters !== undefined)
    at.invalid('', 'only one of `sharedCounters` or `devices` is allowed');
  const isPerDevice = spec.perDeviceNodeSelection === true;
  const before = new Map((old?.devices ?? []).map((device) => [device.name, device]));
  validateSet(at.child('devices'), devices, {
    maxItems: devices?.some(isDemanding) === true ? maxDemandingDevices : maxDevices,
    validate: (device, place) => validateDevice(place, device, { before: before.get(device.name), isPerDevice }),
    keyOf: ({ name }) => name,
  });
  validateSet(at.child('sharedCounters'), sharedCounters, {
    maxItems: maxCounterSets,
    validate: (set, place) => validateCounterSet(place, set),
    keyOf: ({ name }) => name,
  });
}

function validatePool(at: Field, pool: DeepReadonly<ResourcePool> | undefined): void {
  const { name = '', resourceSliceCount = 0, generation = 0 } = pool ?? {};
  validatePoolName(at.child('name'), name);
  if (resourceSliceCount <= 0) at.child('resourceSliceCount').invalid(resourceSliceCount, 'must be greater than zero');
  if (generation < 0) at.child('generation').invalid(generation, 'must be greater than or equal to zero');
}

const onePlace = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';

function validatePlace(at: Field, spec: Spec): void {
  const { nodeName, nodeSelector } = spec;
  const given: string[] = [];
  if (nodeName === '') at.child('nodeName').invalid('', 'must be either unset or set to a non-empty string');
  else if (nodeName !== undefined) {
    given.push('`nodeName`');
    at.child('nodeName').invalidAll(nodeName, dnsSubdomainErrors(nodeName));
  }
  if (nodeSelector !== undefined) {
    given.push('`nodeSelector`');
    const terms = nodeSelector.nodeSelectorTerms ?? null;
    validateNodeSelector(at.child('nodeSelector'), nodeSelector);
    if (terms?.length !== 1)
      at.child('nodeSelector', 'nodeSelectorTerms').invalid(terms, 'must have exactly one node selector term');
  }
  for (const name of ['allNodes', 'perDeviceNodeSelection'] as const) {
    if (spec[name] === true) given.push(`\`${name}\``);
    else if (spec[name] === false) at.child(name).invalid(false, 'must be either unset or set to true');
  }
  if (given.length === 0) at.required(onePlace);
  if (given.length > 1) at.invalid(`{${given.join(', ')}}`, `${onePlace}, but multiple fields are set`);
}

function isDemanding(device: DeepReadonly<Device>): boolean {
  const { taints = [], consumesCounters = [] } = device;
  return taints.length > 0 || consumesCounters.length > 0 || hasLists(device);
}

function validateCounterSet(at: Field, { name, counters }: DeepReadonly<CounterSet>): void {
  validateCounterName(at.child('name'), name);
  validateCounters(at.child('counters'), counters);
}
