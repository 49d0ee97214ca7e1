// CelFailure: an error as a value. Errors are values because &&, || and the macros built on them may absorb one.
import { CelBox } from './cel-box.ts';

/** A value that represents an error, which an expression may absorb (`||`, `&&`). */
export class CelFailure extends CelBox {
  readonly kind = 'failure';
  readonly message: string;

  constructor(message: string) {
    super();
    this.message = message;
  }
}

export const noSuchOverload: CelFailure = new CelFailure('no such overload');

export function isFailure(value: unknown): value is CelFailure {
  return value instanceof CelFailure;
}

/** Returns the value itself if it is an error, otherwise the error that no function accepts it. */
export function overloadFailure(value: unknown): CelFailure {
  return value instanceof CelFailure ? value : noSuchOverload;
}

/** Ends an evaluation at once; nothing can absorb it. */
export class EvaluationStop extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'EvaluationStop';
  }
}
