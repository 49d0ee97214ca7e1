// How much one body may hold, whatever its format. A body of 3 MiB has room for 1,500,000 values of two bytes, and each stage of a write
// would visit all of them. Decision 0045.
import { requestEntityTooLarge } from '@kapstan/api/errors';
import { JsonLimitError, type JsonLimits, type JsonNumbers, knownSize, type SlicedWork } from '@kapstan/api/internal';
import { type JsonDocument, readJsonText } from './json-reader.ts';

export const bodyLimits: JsonLimits = { maxValues: 500_000, maxMembers: 100_000 };

/** Reads the JSON of a body. Throws JsonSyntaxError, and StatusError 413 for a body beyond the limits. */
export function* readBodyText(text: string, numbers?: JsonNumbers): SlicedWork<JsonDocument> {
  try {
    return yield* readJsonText(text, bodyLimits, numbers);
  } catch (error) {
    throw bodyError(error);
  }
}

/** Returns 413 where a body holds more than the limits allow; any other error is returned as it is. */
export function bodyError(error: unknown): unknown {
  return error instanceof JsonLimitError ? requestEntityTooLarge(`the body holds ${error.message}`) : error;
}

/** Counts the members of a map while a patch changes it, as far as its size is known. */
export class MemberCount {
  readonly #before: number;
  #count: number;

  constructor(map: object) {
    this.#before = knownSize(map);
    this.#count = this.#before;
  }

  /** Counts one change of a member: whether it was there before, and whether it is there now. */
  changed(was: boolean, is: boolean): void {
    this.#count += Number(is) - Number(was);
  }

  /** Throws 413 for a map that has grown beyond what a body may have. One that was wider may become smaller. */
  check(): void {
    if (this.#count > Math.max(bodyLimits.maxMembers, this.#before))
      throw requestEntityTooLarge(`the result holds an object with more than ${bodyLimits.maxMembers} members`);
  }
}
