// FunctionConverter converts objects by a function of the embedding program, without a webhook or certificate. The
// other implementation of the port Converter is webhook-converter.ts.
import type { UnstructuredObject } from '@kapstan/api';
import { copyInSlices, messageOf, TurnSlice } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import { type ConversionCall, ConversionFailure, type Converter } from './converter.ts';

/** One object to convert, and the version that it must have afterwards. */
export interface ConversionRequest {
  /** The object's version, for example "example.com/v1". */
  readonly fromApiVersion: string;
  /** The version that the result must have, for example "example.com/v2". */
  readonly toApiVersion: string;
}

/**
 * Returns the object in the requested version. It gets a copy, which it may change and return. Metadata other than
 * labels and annotations keeps its old value in any case. An error that it throws refuses the request with 500.
 */
export type ConvertObject = (
  object: UnstructuredObject,
  request: ConversionRequest,
) => UnstructuredObject | Promise<UnstructuredObject>;

export class FunctionConverter implements Converter {
  readonly title = 'conversion function for';
  readonly #convert: ConvertObject;

  constructor(convert: ConvertObject) {
    this.#convert = convert;
  }

  async convert({ objects, desiredApiVersion: toApiVersion, signal }: ConversionCall): Promise<readonly unknown[]> {
    const results: unknown[] = [];
    const slice = new TurnSlice();
    for (const object of objects) {
      signal?.throwIfAborted();
      const fromApiVersion = object.apiVersion ?? '';
      const copying = runInTurns(copyInSlices(object), signal);
      const copy = (isPromise(copying) ? await copying : copying) as UnstructuredObject;
      try {
        const result = this.#convert(copy, { fromApiVersion, toApiVersion });
        // The server keeps its own copy of the result.
        const kept = runInTurns(copyInSlices(isPromise(result) ? await result : result), signal);
        results.push(isPromise(kept) ? await kept : kept);
      } catch (error) {
        const why = messageOf(error);
        throw new ConversionFailure(`failed: ${why}`, { type: 'conversion_webhook_call_failure', cause: error });
      }
      if (slice.endsHere()) await slice.nextTurn();
    }
    return results;
  }
}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return value instanceof Promise;
}
