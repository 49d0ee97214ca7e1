// FunctionConverter converts objects by a function of the program that the server runs in: no webhook, no certificate.
// The other way behind the port Converter is webhook-converter.ts.
import { deepCopy, type UnstructuredObject } from '@kapstan/api';
import { type ConversionCall, ConversionFailure, type Converter } from './converter.ts';

export interface ConversionRequest {
  /** "example.com/v1": the version of the object. */
  readonly fromApiVersion: string;
  /** "example.com/v2": the version that the result has to be of. */
  readonly toApiVersion: string;
}

/**
 * Returns the object in the version asked for. It is given a copy, which it may change and return. Labels and annotations may
 * change; all other metadata stays as it was, whatever the function returns. What it throws refuses the request with 500.
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
    for (const object of objects) {
      signal?.throwIfAborted();
      const fromApiVersion = object.apiVersion ?? '';
      const copy = deepCopy(object) as UnstructuredObject;
      try {
        const result = this.#convert(copy, { fromApiVersion, toApiVersion });
        // Of what the function returns, the server keeps its own copy.
        results.push(deepCopy(isPromise(result) ? await result : result));
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        throw new ConversionFailure(`failed: ${why}`, { type: 'conversion_webhook_call_failure', cause: error });
      }
    }
    return results;
  }
}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return value instanceof Promise;
}
