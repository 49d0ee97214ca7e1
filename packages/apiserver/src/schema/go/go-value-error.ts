// GoValueError: the complaint of a Go type about a value that it cannot read. Used by typed-decoder.ts and the parts that read for it.

/** The error for a value that a type cannot read. The message comes from the type's UnmarshalJSON. */
export class GoValueError extends Error {
  /** True = Go finds the fault after it has decoded the document, so that its text names no field. */
  readonly isFoundLater: boolean;

  constructor(message: string, { isFoundLater = false }: { readonly isFoundLater?: boolean } = {}) {
    super(message);
    this.isFoundLater = isFoundLater;
  }
}
