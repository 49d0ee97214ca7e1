// DefinitionOrigin describes the source of a ResourceDefinition, so that a thread can make the same one. Read by
// large-validation.ts.

/** Plain data from which another thread makes the same definition. A definition always has the same origin object. */
export interface DefinitionOrigin {
  /** Name of the maker in the thread; see validation-thread.ts. */
  readonly maker: string;
  /** Arguments of the maker, as JSON. */
  readonly parts: unknown;
}
