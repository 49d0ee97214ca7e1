// Preconditions of updates and deletes, with the error texts of the Go library. Source: apiserver storage/interfaces.go
// (Check).
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import type { Preconditions } from '@kapstan/api/internal';
import { StorageError } from './errors/storage-error.ts';

/**
 * Throws `InvalidObject` when a precondition fails. Absent preconditions hold; an absent object satisfies all of them.
 */
export function checkPreconditions(
  key: string,
  preconditions: Preconditions | undefined,
  object: DeepReadonly<KubernetesObject> | undefined,
): void {
  if (preconditions === undefined || object === undefined) return;
  const meta = object.metadata;
  requireEqual(key, 'UID', { want: preconditions.uid, have: meta?.uid });
  requireEqual(key, 'ResourceVersion', { want: preconditions.resourceVersion, have: meta?.resourceVersion });
}

function requireEqual(
  key: string,
  what: string,
  values: { readonly want: string | undefined; readonly have: string | undefined },
): void {
  const { want, have = '' } = values;
  if (want === undefined || want === have) return;
  const message = `Precondition failed: ${what} in precondition: ${want}, ${what} in object meta: ${have}`;
  throw new StorageError({ code: 'InvalidObject', key, message });
}
