// What another API server said about its schemas. Kept by api-registrations.ts.
type Document = Readonly<Record<string, unknown>>;

export interface RemoteOpenApi {
  /** Entries of the index of OpenAPI v3, by their path in it, for example "apis/example.com/v1". */
  readonly paths: ReadonlyMap<string, Document>;
}
