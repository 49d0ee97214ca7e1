// GrowthCase: a request that grows, as data. Listed in cases/, measured by growth.test.ts.

export interface GrowthRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query. */
  readonly path: string;
  /** Default: application/json. */
  readonly contentType?: string;
  /** Default: application/json. */
  readonly accept?: string;
  /** A text or bytes as they are; anything else is written as JSON. */
  readonly body?: unknown;
}

export interface GrowthCase {
  /** A sentence part, unique: what `--grep` finds. */
  readonly name: string;
  /** The largest n: its request has almost what one may have (3 MiB), unless something else bounds it before. */
  readonly full: number;
  /** Requests that are made before each measurement, in order, and not measured. Each has to succeed. */
  readonly prepare?: (n: number) => readonly GrowthRequest[];
  /** What is measured. Any answer will do, but 5xx. */
  readonly request: (n: number) => GrowthRequest;
  /** Codes that the answer may have. Absent: any below 500. */
  readonly codes?: readonly number[];
  /** 'schema': one of hundreds that are made from schemas; the short run takes them at one size, with a bound of its own. */
  readonly tags?: readonly 'schema'[];
  /** Paths of what the request or its preparation made, deleted afterwards; what is not there is no fault. */
  readonly made?: readonly string[];
}

/** The same path for all: what a case makes is deleted before the next. */
const namespacePath = '/api/v1/namespaces/default';
export const configMaps: string = `${namespacePath}/configmaps`;
export const pods: string = `${namespacePath}/pods`;

/** So many values: `times(3, (i) => i)` is [0, 1, 2]. */
export function times<T>(count: number, of: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => of(index));
}

/** An object of so many members. */
export function members<T>(count: number, of: (index: number) => T, name = 'k'): Record<string, T> {
  return Object.fromEntries(times(count, (index) => [`${name}${index}`, of(index)]));
}

/** A ConfigMap of that name with more members. */
export function configMap(more: object, metadata: object = {}): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'growth', ...metadata }, ...more };
}

/** A valid pod of that name with more members in its spec. */
export function pod(spec: object, metadata: object = {}): object {
  const containers = [{ name: 'c', image: 'i' }];
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'growth', ...metadata }, spec: { containers, ...spec } };
}

/** A case that creates an object in a collection, and deletes it again. */
export function creates(
  name: string,
  { path, full, body, codes }: { path: string; full: number; body: (n: number) => object; codes?: readonly number[] },
): GrowthCase {
  return {
    name,
    full,
    request: (n) => ({ method: 'POST', path, body: body(n) }),
    made: [`${path}/growth`],
    ...(codes === undefined ? {} : { codes }),
  };
}
