// ValueValidator: what a schema is compiled into. Made by value-validation.ts and the files of its checks.
import type { FieldError } from '@kapstan/api/errors';

/**
 * All errors of a value; `path` is that of the value: "spec.ports[0]". Empty = valid. `old` is what stood there before
 * an update, where that can be told: what did not change is not held against it (undefined = nothing stood there).
 */
export type ValueValidator = (value: unknown, path: string, old?: unknown) => readonly FieldError[];
