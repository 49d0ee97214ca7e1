// CSI nodes. Source: pkg/apis/storage/validation ValidateCSINode.
import type { DeepReadonly } from '@kapstan/api';
import { qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { CSINode, CSINodeDriver } from '@kapstan/kinds/storage.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { validateDriverName } from '../../validation/driver-name.ts';

const maxNodeIdBytes = 256;

export const csiNodes: BuiltinKind<CSINode> = {
  id: 'storage.k8s.io/v1/csinodes',
  returnsDeletedObject: true,
  strategy: { updateMetadata: 'whole' },
  validate: (root, { spec }, old) => {
    const at = root.child('spec', 'drivers');
    const names = new Set<string>();
    at.each(spec.drivers, (driver, place) => {
      validateDriver(place, driver);
      if (names.has(driver.name)) place.child('name').duplicate(driver.name);
      names.add(driver.name);
    });
    for (const before of old?.spec.drivers ?? [])
      for (const after of spec.drivers ?? []) if (before.name === after.name) validateKept(at, after, before);
  },
};

function validateDriver(at: Field, driver: DeepReadonly<CSINodeDriver>): void {
  validateDriverName(at.child('name'), driver.name);
  if (driver.nodeID === '') at.child('nodeID').required();
  if (Buffer.byteLength(driver.nodeID) > maxNodeIdBytes)
    at.child('nodeID').invalid(driver.nodeID, `must be ${maxNodeIdBytes} characters or less`);
  at.child('allocatable', 'count').nonNegative(driver.allocatable?.count);
  const keys = new Set<string>();
  // Errors of keys are reported at the driver.
  for (const key of driver.topologyKeys ?? []) {
    if (key === '') at.required();
    if (keys.has(key)) at.duplicate(key);
    keys.add(key);
    at.invalidAll(key, qualifiedNameErrors(key));
  }
}

/** Checks that nothing of a driver changes except its capacity. */
function validateKept(at: Field, after: DeepReadonly<CSINodeDriver>, before: DeepReadonly<CSINodeDriver>): void {
  const { allocatable: _after, ...next } = after;
  const { allocatable: _before, ...old } = before;
  const { name, nodeID, topologyKeys = null } = after;
  const shown = { Name: name, NodeID: nodeID, TopologyKeys: topologyKeys, Allocatable: null };
  at.immutable(shown, jsonEqual(next, old));
}
