// ValueValidator: the compiled form of a schema. Made by value-validation.ts and the files of its checks.
import type { FieldError } from '@kapstan/api/errors';

/**
 * Returns all errors of a value; empty = valid. `path` is the path of the value: "spec.ports[0]". `old` is the value
 * before an update, if it can be found; undefined = there was none. Unchanged values are accepted.
 */
export type ValueValidator = (value: unknown, path: string, old?: unknown) => readonly FieldError[];
