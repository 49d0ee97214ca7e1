// ValuePending ends an evaluation that needs a value which is not there yet: the answer of an authorizer, or a variable
// that takes long. Thrown by sources of values; program.ts and other runners wait and evaluate once more.

/** Thrown where a value is still being fetched; the evaluation is repeated when it is there. */
export class ValuePending extends Error {
  /** Settles when the value is there. Its rejection ends the evaluation. */
  readonly settled: Promise<unknown>;

  constructor(settled: Promise<unknown>) {
    super('a value comes later: evaluate the expression asynchronously');
    this.settled = settled;
  }
}
