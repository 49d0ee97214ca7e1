// Compares values as they will be stored, for rules that compare a changed copy. A copy loses the marks of
// apiserver/src/schema/node/kept-empties.ts, by which jsonEqual takes empty lists and maps of the original as absent.
import { deepCopy } from '@kapstan/api';
import { jsonEqual } from '@kapstan/apiserver/internal';
import { kubernetesTypes } from '../builtin/kubernetes-types.ts';

/** True when both are equal, or become so without empty lists and maps. `old` has its stored form. */
export function isEqualWhenStored(definition: string, next: object, old: object): boolean {
  if (jsonEqual(next, old)) return true;
  const stored = deepCopy(next) as Record<string, unknown>;
  kubernetesTypes.normalize(definition, stored);
  return jsonEqual(stored, old);
}
