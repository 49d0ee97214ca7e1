// Checks a node's reports about itself: amounts, features, addresses. Source: pkg/apis/core/validation ValidateNode,
// ValidateNodeUpdate, pkg/registry/core/node nodeStatusStrategy.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { Node, NodeStatus } from '@kapstan/kinds/core/v1';
import { validateResourceAmount } from '../../validation/resource-rules.ts';

type Status = DeepReadonly<NodeStatus>;

/**
 * Drops the configuration source, because kubelets are no longer configured from here. Source: nodeStatusConfigInUse.
 */
export function dropStatusConfig({ status }: Node): void {
  if (status !== undefined) delete status.config;
}

/** Checks creates, and updates through any endpoint. `at` is the status. */
export function validateNodeStatus(at: Field, { status = {} }: DeepReadonly<Node>): void {
  for (const name of ['capacity', 'allocatable'] as const) {
    for (const [resource, value] of Object.entries(status[name] ?? {}))
      validateResourceAmount(at.child(name, resource), resource, value);
  }
  validateFeatures(at.child('declaredFeatures'), status);
}

/** Source: ValidateNodeUpdate. */
export function validateNodeStatusChange(root: Field, node: DeepReadonly<Node>): void {
  const at = root.child('status');
  validateNodeStatus(at, node);
  const seen = new Set<string>();
  at.child('addresses').each(node.status?.addresses, ({ type, address }, place) => {
    const key = JSON.stringify([type, address]);
    if (seen.has(key)) place.duplicate({ Type: type, Address: address });
    seen.add(key);
  });
}

const feature = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/;
const maxFeatureBytes = 253;

/** Features must be sorted and unique. */
function validateFeatures(at: Field, { declaredFeatures: names = [] }: Status): void {
  at.each(names, (name, place, index) => {
    const fault = featureFault(name);
    if (fault !== undefined) place.invalid(name, `invalid feature name ${JSON.stringify(name)}: ${fault}`);
    const before = names[index - 1];
    if (before === undefined) return;
    if (name === before) place.duplicate(name);
    else if (Buffer.compare(Buffer.from(before), Buffer.from(name)) > 0)
      place.invalid(name, 'list must be sorted alphabetically');
  });
}

function featureFault(name: string): string | undefined {
  if (Buffer.byteLength(name) > maxFeatureBytes) return `must be no more than ${maxFeatureBytes} characters`;
  if (feature.test(name)) return undefined;
  return "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes";
}
