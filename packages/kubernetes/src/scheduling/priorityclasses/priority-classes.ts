// Priority classes. Source: pkg/apis/scheduling/validation ValidatePriorityClass, pkg/apis/scheduling/v1/helpers.go.

import type { Field } from '@kapstan/apiserver/internal';
import type { PriorityClass } from '@kapstan/kinds/scheduling.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';

const maxUserPriority = 1_000_000_000;
/** Classes that every cluster has. */
const systemClasses: ReadonlyMap<string, number> = new Map([
  ['system-node-critical', 2_000_001_000],
  ['system-cluster-critical', 2_000_000_000],
]);

export const priorityClasses: BuiltinKind<PriorityClass> = {
  id: 'scheduling.k8s.io/v1/priorityclasses',
  setDefaults: (object) => {
    object.preemptionPolicy ??= 'PreemptLowerPriority';
  },
  keepsGeneration: true,
  validateCreate: (root, object) => {
    const { globalDefault = false, preemptionPolicy, value = 0 } = object;
    const name = object.metadata?.name ?? '';
    if (name.startsWith('system-')) validateSystemClass(root.child('metadata', 'name'), { name, value, globalDefault });
    else if (value > maxUserPriority)
      root.child('value').forbidden(`maximum allowed value of a user defined priority is ${maxUserPriority}`);
    if (preemptionPolicy === undefined) return;
    const at = root.child('preemptionPolicy');
    if (at.present(preemptionPolicy)) at.oneOf(preemptionPolicy, ['PreemptLowerPriority', 'Never']);
  },
  validateChange: (root, next, old) => {
    if ((next.value ?? 0) !== (old.value ?? 0)) root.child('value').forbidden('may not be changed in an update.');
    root.child('preemptionPolicy').immutable(next.preemptionPolicy, next.preemptionPolicy === old.preemptionPolicy);
  },
};

interface NamedClass {
  readonly name: string;
  readonly value: number;
  readonly globalDefault: boolean;
}

/** Source: IsKnownSystemPriorityClass. */
function validateSystemClass(at: Field, { name, value, globalDefault }: NamedClass): void {
  const known = systemClasses.get(name);
  const say = (why: string): void =>
    at.forbidden(`priority class names with 'system-' prefix are reserved for system use only. error: ${why}`);
  if (known === undefined) say(`${name} is not a known system priority class`);
  else if (known !== value) say(`value of ${name} PriorityClass must be ${known}`);
  else if (globalDefault) say(`globalDefault of ${name} PriorityClass must be false`);
}
