// ObjectConversion: the port that converts objects between versions of their kind by external code. apiextensions
// implements it with webhooks and functions; registry/conversion and fieldmanager call it.
import type { DeepReadonly, UnstructuredObject } from '@kapstan/api';
import type { StorageCallOptions } from '@kapstan/storage';

/** The request for which objects are converted. */
export type ConversionContext = Pick<StorageCallOptions, 'signal' | 'span' | 'baggage'>;

export interface ObjectConversion {
  /**
   * Resolves to the objects in the version, in the order given. Objects that already have the version are returned
   * unchanged; all others are requested at once. Never changes its arguments. Rejects with StatusError when one cannot
   * be converted, and with the signal's reason.
   */
  convert(
    objects: readonly DeepReadonly<UnstructuredObject>[],
    apiVersion: string,
    context?: ConversionContext,
  ): Promise<readonly UnstructuredObject[]>;
}
