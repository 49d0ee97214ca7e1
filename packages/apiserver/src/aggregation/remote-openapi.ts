// Reads the schemas that another API server publishes. Kept by api-registrations.ts. Source: kube-openapi handler3
// (OpenAPIV3Discovery).
import { isJsonObject } from '@kapstan/api/internal';

type Document = Readonly<Record<string, unknown>>;

/** OpenAPI documents of other API servers. */
export interface RemoteOpenApi {
  /** Entries of the OpenAPI v3 index, by their path in it, for example "apis/example.com/v1". */
  readonly paths: ReadonlyMap<string, Document>;
}

/** Reads the index of OpenAPI v3. Throws TypeError. */
export function readOpenApiIndex(index: unknown): RemoteOpenApi {
  const paths = isJsonObject(index) ? index.paths : undefined;
  if (!isJsonObject(paths)) throw new TypeError('the index of schemas has no paths');
  const entries = Object.entries(paths).map(([path, entry]): [string, Document] => {
    const url = isJsonObject(entry) ? entry.serverRelativeURL : undefined;
    if (typeof url !== 'string') throw new TypeError(`the entry of ${JSON.stringify(path)} has no URL`);
    return [path, { serverRelativeURL: url }];
  });
  return { paths: new Map(entries) };
}
