// GrowthCase describes a request that grows, as data. cases/ lists them, growth.test.ts measures them.

export interface GrowthRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path with its query. */
  readonly path: string;
  /** Default: application/json. */
  readonly contentType?: string;
  /** Default: application/json. */
  readonly accept?: string;
  /** Further headers. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Texts and bytes are sent unchanged; anything else as JSON. */
  readonly body?: unknown;
  /**
   * Sends the request again while the answer is 404 or 409, for resources that are served some time after their creation, and names
   * that are free some time after a deletion. Default false.
   */
  readonly isAwaited?: boolean;
}

export interface GrowthWatches {
  readonly count: number;
  readonly path: string;
}

export interface GrowthCase {
  /** Part of a sentence, unique. `--grep` searches it. */
  readonly name: string;
  /** The largest n. Its request is almost as large as allowed (3 MiB), unless another limit is lower. */
  readonly full: number;
  /** Returns requests that are sent before each measurement, in order, and not measured. Each has to succeed. */
  readonly prepare?: (n: number) => readonly GrowthRequest[];
  /** Returns the measured request. */
  readonly request: (n: number) => GrowthRequest;
  /** Returns watches that are open meanwhile; the measurement ends when each has received something. */
  readonly watches?: (n: number) => GrowthWatches;
  /** Codes that the answer may have. Absent: {@link usualCodes}. */
  readonly codes?: readonly number[];
  /**
   * 'schema' marks one of hundreds of cases made from schemas. The short run takes them at one size, with its own
   * limit.
   */
  readonly tags?: readonly 'schema'[];
  /**
   * Paths of objects that the request or its preparation created. They are deleted afterwards; a missing one is not an
   * error.
   */
  readonly made?: readonly string[];
}

/** What an answer says that the request was decoded, found what it needs, and came as far as admission or validation. */
export const usualCodes: readonly number[] = [200, 201, 202, 403, 413, 422];

/** All cases use the same path, because each one's objects are deleted before the next. */
export const namespacePath = '/api/v1/namespaces/default';
export const configMaps: string = `${namespacePath}/configmaps`;
export const pods: string = `${namespacePath}/pods`;

/** A little less than a body may hold in one object: the case may have members of its own beside them. */
export const mostMembers = 99_000;

let patterns = 0;

/** Returns another pattern of about n characters at each call, because servers keep the patterns that they have compiled. */
export const newPattern = (n: number): string => `${'[a-c]'.repeat(n / 5)}${patterns++}`;

/** Returns `count` values: `times(3, (i) => i)` is [0, 1, 2]. */
export function times<T>(count: number, of: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => of(index));
}

/** Returns an object of `count` members. */
export function members<T>(count: number, of: (index: number) => T, name = 'k'): Record<string, T> {
  return Object.fromEntries(times(count, (index) => [`${name}${index}`, of(index)]));
}

/** Returns a ConfigMap of the case's name with more members. */
export function configMap(more: object, metadata: object = {}): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'growth', ...metadata }, ...more };
}

/** Returns a valid pod of the case's name with more members in its spec. */
export function pod(spec: object, metadata: object = {}): object {
  const containers = [{ name: 'c', image: 'i' }];
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'growth', ...metadata }, spec: { containers, ...spec } };
}

/** Returns `count` variables of a container. */
export const environment = (count: number): { name: string; value: string }[] =>
  times(count, (i) => ({ name: `E${i}`, value: 'x' }));

/** Returns a pod whose container has `count` variables. */
export const podOfEnv = (count: number): object =>
  pod({ containers: [{ name: 'c', image: 'i', env: environment(count) }] });

/** Returns a case that creates an object in a collection and deletes it again. */
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
