// Storage classes. Source: pkg/apis/storage/v1/defaults.go, pkg/apis/storage/validation ValidateStorageClass.
import { type DeepReadonly, labelValueErrors, qualifiedNameErrors } from '@kapstan/api';
import type { TopologySelectorTerm } from '@kapstan/kinds/core/v1';
import type { StorageClass } from '@kapstan/kinds/storage.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import { jsonEqual } from '../../json-equality.ts';
import type { Field } from '../../validation/field.ts';
import { goStringMap } from '../../validation/label-rules.ts';

const maxParameters = 512;
const maxParameterBytes = 256 * 1024;

export const storageClasses: BuiltinKind<StorageClass> = {
  id: 'storage.k8s.io/v1/storageclasses',
  strategy: { updateMetadata: 'both' },
  setDefaults: (object) => {
    object.reclaimPolicy ??= 'Delete';
    object.volumeBindingMode ??= 'Immediate';
  },
  validate: (root, object) => {
    if (object.provisioner === '') root.child('provisioner').required();
    else
      root
        .child('provisioner')
        .invalidAll(object.provisioner.toLowerCase(), qualifiedNameErrors(object.provisioner.toLowerCase()));
    validateParameters(root.child('parameters'), object.parameters);
    if (object.reclaimPolicy !== undefined)
      root.child('reclaimPolicy').oneOf(object.reclaimPolicy, ['Delete', 'Retain']);
    if (object.volumeBindingMode === undefined) root.child('volumeBindingMode').required();
    else root.child('volumeBindingMode').oneOf(object.volumeBindingMode, ['Immediate', 'WaitForFirstConsumer']);
    root.child('allowedTopologies').each(object.allowedTopologies, (term, place) => validateTopology(place, term));
  },
  validateChange: (root, next, old) => {
    root.child('parameters').immutable(goStringMap(next.parameters), jsonEqual(next.parameters, old.parameters));
    for (const name of ['provisioner', 'reclaimPolicy', 'volumeBindingMode'] as const)
      root.child(name).immutable(next[name], next[name] === old[name]);
  },
};

function validateParameters(at: Field, parameters: Readonly<Record<string, string>> | undefined): void {
  const entries = Object.entries(parameters ?? {});
  if (entries.length > maxParameters) return at.tooLong(maxParameters);
  for (const [key] of entries) if (key === '') at.invalid(key, 'field can not be empty.');
  const bytes = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  if (bytes > maxParameterBytes) at.tooLong(maxParameterBytes);
}

function validateTopology(at: Field, term: DeepReadonly<TopologySelectorTerm>): void {
  const keys = new Set<string>();
  at.child('matchLabelExpressions').each(term.matchLabelExpressions, ({ key, values }, place) => {
    if ((values?.length ?? 0) === 0) place.child('values').required();
    place.child('values').each(values, (value, valuePlace) => valuePlace.invalidAll(value, labelValueErrors(value)));
    place.child('key').invalidAll(key, qualifiedNameErrors(key));
    if (keys.has(key)) place.child('key').duplicate(key);
    keys.add(key);
  });
}
