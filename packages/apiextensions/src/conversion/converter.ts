// Converter: the port that converts objects of a definition, implemented by webhook-converter.ts and
// function-converter.ts. Called by definition-conversion.ts, which checks the results.
import type { DeepReadonly, UnstructuredObject } from '@kapstan/api';
import { formatApiVersion, type GroupVersionKind } from '@kapstan/api/internal';
import type { ConversionContext } from '@kapstan/apiserver/internal';

/** Objects of one kind, all in another version than the wanted one. */
export interface ConversionCall extends ConversionContext {
  readonly objects: readonly DeepReadonly<UnstructuredObject>[];
  readonly desiredApiVersion: string;
}

export interface Converter {
  /** Resolves to one value per object, in their order, unchecked. Rejects with ConversionFailure. */
  convert(call: ConversionCall): Promise<readonly unknown[]>;
  /** First words of each error: "conversion webhook for". */
  readonly title: string;
}

/** Kinds of failures, as kube-apiserver counts them. */
export type ConversionFailureType =
  | 'conversion_webhook_call_failure'
  | 'conversion_webhook_malformed_response_failure'
  | 'conversion_webhook_partial_response_failure'
  | 'conversion_webhook_invalid_converted_object_failure';

/** The objects could not be converted. It becomes a Status of code 500. */
export class ConversionFailure extends Error {
  override readonly name = 'ConversionFailure';
  readonly type: ConversionFailureType;

  constructor(message: string, options: { readonly type: ConversionFailureType; readonly cause?: unknown }) {
    super(message, options);
    this.type = options.type;
  }
}

/** Returns, for example, "example.com/v1, Kind=Widget". */
export function formatGroupVersionKind(kind: GroupVersionKind): string {
  return `${formatApiVersion(kind)}, Kind=${kind.kind}`;
}
