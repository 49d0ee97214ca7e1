// ObjectConversion: the port behind which objects change from one version of their kind into another, where that takes code
// from outside. Implemented in apiextensions by webhooks and functions; called by registry/conversion and fieldmanager.
import type { DeepReadonly, UnstructuredObject } from '@kapstan/api';
import type { CallSignal } from '@kapstan/api/internal';

export interface ObjectConversion {
  /**
   * Resolves to the objects in the version, in the order given. Those that are of the version already are answered as they are;
   * all others are asked for at once. Never changes what it is given. Rejects with StatusError when one cannot be converted, and
   * with the signal's reason.
   */
  convert(
    objects: readonly DeepReadonly<UnstructuredObject>[],
    apiVersion: string,
    signal?: CallSignal,
  ): Promise<readonly UnstructuredObject[]>;
}
