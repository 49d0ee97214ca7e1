// Priority classes. Source: pkg/apis/scheduling/validation ValidatePriorityClass, pkg/apis/scheduling/v1/helpers.go.
import type { PriorityClass } from '@kapstan/kinds/scheduling.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';

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
  validate: (root, object) => {
    const name = object.metadata?.name ?? '';
    if (name.startsWith('system-')) {
      if (systemClasses.get(name) !== object.value) {
        const why = systemClasses.has(name)
          ? `value of ${name} PriorityClass must be ${systemClasses.get(name)}`
          : `${name} is not a known system priority class`;
        root
          .child('metadata', 'name')
          .forbidden(`priority class names with 'system-' prefix are reserved for system use only. error: ${why}`);
      }
    } else if ((object.value ?? 0) > maxUserPriority) {
      root.child('value').forbidden(`maximum allowed value of a user defined priority is ${maxUserPriority}`);
    }
    if (object.preemptionPolicy !== undefined)
      root.child('preemptionPolicy').oneOf(object.preemptionPolicy, ['PreemptLowerPriority', 'Never']);
  },
  validateChange: (root, next, old) => {
    if (next.value !== old.value) root.child('value').forbidden('may not be changed in an update.');
    root.child('preemptionPolicy').immutable(next.preemptionPolicy, next.preemptionPolicy === old.preemptionPolicy);
  },
};
