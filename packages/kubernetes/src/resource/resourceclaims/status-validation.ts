// Rules for the status of a claim: allocated devices, consumers, and drivers' reports about the devices. Source:
// pkg/apis/resource/validation ValidateResourceClaimStatusUpdate, pkg/registry/resource/resourceclaim.
import type { DeepReadonly } from '@kapstan/api';
import { dnsLabelErrors, qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type {
  AllocatedDeviceStatus,
  AllocationResult,
  DeviceAllocationConfiguration,
  DeviceRequestAllocationResult,
  NetworkDeviceData,
  ResourceClaim,
  ResourceClaimConsumerReference,
} from '@kapstan/kinds/resource.k8s.io/v1';
import { validateNodeSelector } from '../../core/pods/scheduling-validation.ts';
import { validateConditions } from '../../validation/condition-validation.ts';
import { validateDriverName } from '../../validation/driver-name.ts';
import { internalForm } from '../../validation/internal-form.ts';
import { validatePoolName } from '../../validation/pool-name.ts';
import { uidErrors } from '../../validation/uid-errors.ts';
import { interfaceAddressErrors } from '../../validation/value-rules.ts';
import {
  maxListItems,
  validateConfiguration,
  validateItems,
  validateRawObject,
  validateUnique,
} from '../device-validation.ts';
import { requestNames, validateReference, validateReferences } from './claim-validation.ts';

const maxConsumers = 256;
const maxConditions = 8;
const maxBindingConditions = 4;
const maxAddresses = 16;
const maxInterfaceBytes = 256;
const maxHardwareBytes = 128;

type Claim = DeepReadonly<ResourceClaim>;
type Device = DeepReadonly<AllocatedDeviceStatus | DeviceRequestAllocationResult>;

/** Driver, pool and device name, as Kubernetes shows them. */
const idOf = ({ driver, pool, device, shareID }: Device): object => ({
  Driver: driver,
  Pool: pool,
  Device: device,
  ShareID: shareID ?? '',
});
const keyOf = (device: Device): string => JSON.stringify(idOf(device));
const allocatedKeys = ({ status }: Claim): ReadonlySet<string> =>
  new Set((status?.allocation?.devices?.results ?? []).map(keyOf));

/** Drops drivers' reports about devices that are no longer allocated. Source: dropDeallocatedStatusDevices. */
export function dropDeallocated(next: ResourceClaim, old: Claim): void {
  const { status } = next;
  if (status?.devices === undefined) return;
  const before = allocatedKeys(old);
  const now = allocatedKeys(next);
  status.devices = status.devices.filter((device) => now.has(keyOf(device)) || !before.has(keyOf(device)));
}

export function validateClaimStatus(root: Field, next: Claim, old: Claim): void {
  const at = root.child('status');
  const { reservedFor = [], devices, allocation } = next.status ?? {};
  validateConsumers(at.child('reservedFor'), next);
  const allocated = allocatedKeys(next);
  at.child('devices').each(devices, (device, place) => validateDevice(place, device, allocated));
  const seen = new Set<string>();
  at.child('devices').each(devices, (device, place) => {
    if (seen.has(keyOf(device))) place.duplicate(idOf(device));
    seen.add(keyOf(device));
  });
  if (reservedFor.length > 0) validateReservation(at.child('reservedFor'), next, old);
  const place = at.child('allocation');
  const before = old.status?.allocation;
  if (allocation === undefined) return;
  if (before !== undefined)
    place.immutable(internalForm('resource.AllocationResult', allocation), jsonEqual(allocation, before));
  else validateAllocation(place, allocation, requestNames(next.spec.devices ?? {}));
}

function validateConsumers(at: Field, { status }: Claim): void {
  const consumers = status?.reservedFor ?? [];
  if (consumers.length > maxConsumers) return at.tooMany(consumers.length, maxConsumers);
  at.each(consumers, ({ resource, name, uid }, place) => {
    place.child('resource').present(resource);
    place.child('name').present(name);
    place.child('uid').present(uid);
  });
  validateUnique(at, consumers, ({ uid }) => uid);
}

const consumerKey = (consumer: DeepReadonly<ResourceClaimConsumerReference>): string =>
  JSON.stringify([consumer.apiGroup ?? '', consumer.resource, consumer.name, consumer.uid]);

/** A claim that is being deleted can only lose consumers. */
function validateReservation(at: Field, next: Claim, old: Claim): void {
  if (next.status?.allocation === undefined) return at.forbidden('may not be specified when `allocated` is not set');
  if (next.metadata?.deletionTimestamp === undefined) return;
  const before = new Set(old.status?.reservedFor?.map(consumerKey));
  const isNew = next.status.reservedFor?.some((consumer) => !before.has(consumerKey(consumer)));
  if (isNew) at.forbidden('new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set');
}

function validateDevice(at: Field, device: DeepReadonly<AllocatedDeviceStatus>, allocated: ReadonlySet<string>): void {
  validateDeviceName(at, device);
  if (device.shareID !== undefined) at.child('shareID').invalidAll(device.shareID, uidErrors(device.shareID));
  if (!allocated.has(keyOf(device))) at.invalid(idOf(device), 'must be an allocated device in the claim');
  const count = device.conditions?.length ?? 0;
  if (count > maxConditions) at.child('conditions').tooMany(count, maxConditions);
  validateConditions(at.child('conditions'), device.conditions);
  if (device.data !== undefined) validateRawObject(at.child('data'), device.data);
  if (device.networkData !== undefined) validateNetwork(at.child('networkData'), device.networkData);
}

function validateDeviceName(at: Field, { driver, pool, device }: Device): void {
  validateDriverName(at.child('driver'), driver);
  validatePoolName(at.child('pool'), pool);
  at.child('device').invalidAll(device, dnsLabelErrors(device));
}

function validateNetwork(at: Field, data: DeepReadonly<NetworkDeviceData>): void {
  const { interfaceName = '', hardwareAddress = '', ips } = data;
  if (Buffer.byteLength(interfaceName) > maxInterfaceBytes) at.child('interfaceName').tooLong(maxInterfaceBytes);
  if (Buffer.byteLength(hardwareAddress) > maxHardwareBytes) at.child('hardwareAddress').tooLong(maxHardwareBytes);
  const place = at.child('ips');
  if ((ips?.length ?? 0) > maxAddresses) return place.tooMany(ips?.length ?? 0, maxAddresses);
  place.each(ips, (address, item) => item.invalidAll(address, interfaceAddressErrors(address)));
  validateUnique(place, ips, (address) => address);
}

function validateAllocation(
  at: Field,
  { devices, nodeSelector }: DeepReadonly<AllocationResult>,
  names: ReadonlySet<string>,
): void {
  const place = at.child('devices');
  validateItems(place.child('results'), devices?.results, (result, item) => validateResult(item, result, names));
  const configs = devices?.config ?? [];
  // Configurations of the class and of the claim together.
  if (configs.length > 2 * maxListItems) place.child('config').tooMany(configs.length, 2 * maxListItems);
  else place.child('config').each(configs, (config, item) => validateAllocatedConfiguration(item, config, names));
  if (nodeSelector !== undefined) validateNodeSelector(at.child('nodeSelector'), nodeSelector);
}

function validateResult(
  at: Field,
  result: DeepReadonly<DeviceRequestAllocationResult>,
  names: ReadonlySet<string>,
): void {
  validateReference(at.child('request'), result.request, names);
  validateDeviceName(at, result);
  validateDeviceBinding(at, result);
  if (result.shareID !== undefined) at.child('shareID').invalidAll(result.shareID, uidErrors(result.shareID));
}

/** Source: validateDeviceBindingParameters. */
function validateDeviceBinding(at: Field, result: DeepReadonly<DeviceRequestAllocationResult>): void {
  const { bindingConditions: wanted = [], bindingFailureConditions: failing = [] } = result;
  for (const name of ['bindingConditions', 'bindingFailureConditions'] as const) {
    const list = result[name] ?? [];
    const place = at.child(name);
    if (list.length > maxBindingConditions) place.tooMany(list.length, maxBindingConditions);
    else place.each(list, (condition, item) => item.invalidAll(condition, qualifiedNameErrors(condition)));
    validateUnique(place, list, (condition) => condition);
  }
  const needed = new Set(wanted);
  at.child('bindingFailureConditions').each(failing, (condition, place) => {
    if (needed.has(condition))
      place.invalid(condition, 'bindingFailureConditions must not overlap with bindingConditions');
  });
  if (wanted.length === 0 && failing.length > 0)
    at.child('bindingConditions').invalid(null, 'bindingConditions are required to use bindingFailureConditions');
  if (failing.length === 0 && wanted.length > 0)
    at.child('bindingFailureConditions').invalid(
      null,
      'bindingFailureConditions are required to use bindingConditions',
    );
}

function validateAllocatedConfiguration(
  at: Field,
  config: DeepReadonly<DeviceAllocationConfiguration>,
  names: ReadonlySet<string>,
): void {
  if (at.child('source').present(config.source)) at.child('source').oneOf(config.source, ['FromClaim', 'FromClass']);
  validateReferences(at.child('requests'), config.requests, names);
  validateConfiguration(at, config);
}
