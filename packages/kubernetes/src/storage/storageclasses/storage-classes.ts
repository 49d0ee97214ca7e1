// Storage classes. Source: pkg/apis/storage/v1/defaults.go, pkg/apis/storage/validation ValidateStorageClass.
import type { DeepReadonly } from '@kapstan/api';
import { qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { TopologySelectorTerm } from '@kapstan/kinds/core/v1';
import type { StorageClass } from '@kapstan/kinds/storage.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { goStringMap } from '../../validation/label-rules.ts';
import { deprecatedNodeLabels } from '../../validation/node-label-warnings.ts';
import { repetitions } from '../../validation/repetition.ts';
import { validateParameters, validateProvisioner } from '../class-parameters.ts';

export const storageClasses: BuiltinKind<StorageClass> = {
  id: 'storage.k8s.io/v1/storageclasses',
  returnsDeletedObject: true,
  strategy: { updateMetadata: 'both' },
  warnings: ({ allowedTopologies = [] }) =>
    allowedTopologies.flatMap(({ matchLabelExpressions = [] }, index) =>
      matchLabelExpressions.flatMap(({ key }, expression) => {
        const why = deprecatedNodeLabels.get(key);
        return why === undefined
          ? []
          : [`allowedTopologies[${index}].matchLabelExpressions[${expression}].key: ${why}`];
      }),
    ),
  setDefaults: (object) => {
    object.reclaimPolicy ??= 'Delete';
    object.volumeBindingMode ??= 'Immediate';
  },
  validate: (root, object, old) => {
    validateProvisioner(root.child('provisioner'), object.provisioner);
    validateParameters(root.child('parameters'), object.parameters);
    if (object.reclaimPolicy) root.child('reclaimPolicy').oneOf(object.reclaimPolicy, ['Delete', 'Retain']);
    if (object.volumeBindingMode === undefined) root.child('volumeBindingMode').required();
    else root.child('volumeBindingMode').oneOf(object.volumeBindingMode, ['Immediate', 'WaitForFirstConsumer']);
    validateTopologies(root.child('allowedTopologies'), object.allowedTopologies);
    if (old !== undefined) validateChange(root, object, old);
  },
};

function validateChange(root: Field, next: DeepReadonly<StorageClass>, old: DeepReadonly<StorageClass>): void {
  root
    .child('parameters')
    .immutable(goStringMap(next.parameters), jsonEqual(next.parameters ?? {}, old.parameters ?? {}));
  for (const name of ['provisioner', 'reclaimPolicy', 'volumeBindingMode'] as const)
    root.child(name).immutable(next[name], next[name] === old[name]);
}

type Topologies = DeepReadonly<StorageClass>['allowedTopologies'];

/** Equal terms are reported as duplicates, and an empty term once per term. */
function validateTopologies(at: Field, terms: Topologies): void {
  const counts = new Map<string, number>([[identityOf(new Map()), terms?.length ?? 0]]);
  at.each(terms, (term, place) => {
    const identity = identityOf(validateTopology(place, term));
    const count = counts.get(identity) ?? 0;
    place.child('matchLabelExpressions').times(count, (field) => field.duplicate(''));
    counts.set(identity, count + 1);
  });
}

/** Returns the values of each key. Source: ValidateTopologySelectorTerm. */
function validateTopology(at: Field, term: DeepReadonly<TopologySelectorTerm>): Map<string, readonly string[]> {
  const valuesOf = new Map<string, readonly string[]>();
  at.child('matchLabelExpressions').each(term.matchLabelExpressions, ({ key, values: given }, place) => {
    const values = given ?? [];
    if (values.length === 0) place.child('values').required();
    const isRepeated = repetitions<string>();
    place.child('values').each(values, (value, valuePlace) => {
      if (isRepeated(value)) valuePlace.duplicate(value);
    });
    place.child('key').invalidAll(key, qualifiedNameErrors(key));
    if (valuesOf.has(key)) place.child('key').duplicate(key);
    valuesOf.set(key, [...new Set(values)].sort());
  });
  return valuesOf;
}

/** Returns the same text for equal terms. */
function identityOf(valuesOf: ReadonlyMap<string, readonly string[]>): string {
  return JSON.stringify([...valuesOf].sort(([a], [b]) => (a < b ? -1 : 1)));
}
