// The refusals of a strategic merge, with the texts of apimachinery's util/mergepatch. apply-patch.ts turns them into a
// Status.
import { formatGoText, goInterfaceType } from '../schema/go/go-types.ts';
import { cutShort, shortGoValue } from '../schema/go/short-go-text.ts';

/** Maximum number of characters of a value in the text of an error. */
export const maxShown: number = 64 * 1024;

/**
 * 'badRequest' = 400; 'unprocessable' = 422 with a general text; 'internal' = 500, for cases that Kubernetes does not
 * handle.
 */
export type StrategicMergeErrorType = 'badRequest' | 'unprocessable' | 'internal';

export class StrategicMergeError extends Error {
  readonly type: StrategicMergeErrorType;

  constructor(type: StrategicMergeErrorType, message: string) {
    super(message);
    this.name = 'StrategicMergeError';
    this.type = type;
  }
}

export function unknownPatchType(word: unknown, map: unknown): StrategicMergeError {
  return new StrategicMergeError(
    'internal',
    `unknown patch type: ${cutShort(formatGoText(word), maxShown)} in map: ${shortGoValue(map, maxShown)}`,
  );
}

export function noMergeKey(map: unknown, mergeKey: string): StrategicMergeError {
  return new StrategicMergeError(
    'internal',
    `map: ${shortGoValue(map, maxShown)} does not contain declared merge key: ${mergeKey}`,
  );
}

export function badArgument(expected: unknown, actual: unknown): StrategicMergeError {
  return new StrategicMergeError(
    'internal',
    `expected a ${goInterfaceType(expected)}, but received a ${goInterfaceType(actual)}`,
  );
}

export function noMap(place: number): StrategicMergeError {
  return new StrategicMergeError('internal', `value for key ${place} is not a map`);
}

export const listOfLists = (): StrategicMergeError =>
  new StrategicMergeError('unprocessable', 'lists of lists are not supported');
