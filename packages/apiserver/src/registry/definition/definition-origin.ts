// DefinitionOrigin: what a ResourceDefinition is made from, so that a thread can make the same. Read by large-validation.ts.

/** As data: another thread can make the same definition. The same object for the same definition. */
export interface DefinitionOrigin {
  /** Which maker of the thread makes it: see validation-thread.ts. */
  readonly maker: string;
  /** What the maker is given, as JSON. */
  readonly parts: unknown;
}
